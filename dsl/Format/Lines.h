// SPDX-License-Identifier: Apache-2.0
//
// The lines of a formatted file, before their text is put together.
#pragma once

#include "dsl/Parser/Shape.h"

namespace penstock::dsl {

struct FormatLine {
  bool blankBefore = false;
  size_t indent = 0;                  ///< levels
  size_t first = 0, last = 0;         ///< tokens; none where they are equal
  std::optional<SourceRange> comment; ///< after the tokens, or alone
};

/// Cuts the tokens into lines, with an indent each.
std::vector<FormatLine> linesOf(const TokenList &tokens, const std::vector<TokenShape> &shapes);

} // namespace penstock::dsl
