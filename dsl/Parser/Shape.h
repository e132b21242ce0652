// SPDX-License-Identifier: Apache-2.0
//
// Roles of tokens for the formatter: the item that each begins, and the neighbours it is glued to.
#pragma once

#include "dsl/Parser/Tokens.h"

namespace penstock::dsl {

/// The item that a token begins in the brackets around it.
enum class Begins {
  Nothing,
  Item,      ///< an argument, a parameter, an axis, an element, a stage
  Statement, ///< `let`, `return`, the one expression of a block, an arm
};

struct TokenShape {
  Begins begins = Begins::Nothing;
  bool gluedBefore = false; ///< no blank before it
  bool gluedAfter = false;
  /// Set for an opening brace that holds statements, each of which has a line of its own where the
  /// brackets span several.
  bool holdsStatements = false;
  /// The first token of the declaration that such a brace belongs to.
  std::optional<size_t> owner;
  /// The `if` or `search` that a `then` or `else` belongs to.
  std::optional<size_t> branchOf;
  std::optional<size_t> assign; ///< of `let`: its `=`
};

/// One shape per token of a text without syntax errors.
std::vector<TokenShape> shapeOf(const TokenList &tokens);

} // namespace penstock::dsl
