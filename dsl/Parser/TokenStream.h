// SPDX-License-Identifier: Apache-2.0
//
// A TokenList as the generated parser reads it.
#pragma once

#include "dsl/Parser/Tokens.h"

#include <antlr4-runtime.h>

namespace penstock::dsl {

/// Token i of `stream` is `tokens.items[i]`.
struct TokenStream {
  explicit TokenStream(const TokenList &tokens) : source(convert(tokens)), stream(&source) {}

  antlr4::ListTokenSource source;
  antlr4::CommonTokenStream stream;

private:
  static std::vector<std::unique_ptr<antlr4::Token>> convert(const TokenList &tokens) {
    std::vector<std::unique_ptr<antlr4::Token>> out;
    for (size_t i = 0; i < tokens.items.size(); ++i)
      out.push_back(
          std::make_unique<antlr4::CommonToken>(tokens.items[i].type, std::string(tokens.text(i))));
    return out;
  }
};

} // namespace penstock::dsl
