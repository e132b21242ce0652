// SPDX-License-Identifier: Apache-2.0
//
// Messages about a token that the grammar refuses.
#pragma once

#include "dsl/Diagnostics/Diagnostics.h"
#include "dsl/Parser/Tokens.h"

#include <optional>
#include <string>
#include <vector>

namespace penstock::dsl {

/// A token that the parser refused, with its state.
struct Refusal {
  const TokenList &tokens;
  size_t at;                      ///< the refused token
  std::vector<size_t> rules;      ///< the grammar rules it is in, innermost first
  std::optional<size_t> expected; ///< the one token type that could stand here
  std::string expectedText;       ///< as a user writes it; empty if that differs

  bool within(size_t rule) const;
};

/// Reports it: in a sentence of its own for what the mistake looks like, else
/// as "expected A, found B".
void reportRefusal(const Refusal &refusal, Diagnostics &diagnostics);

} // namespace penstock::dsl
