// SPDX-License-Identifier: Apache-2.0
//
// Repairs of the tokens of a file before it is parsed.
//
// Both functions report mistakes and change the token list to what was
// meant, so that the parser can go on and find the other ones.
#pragma once

#include "dsl/Diagnostics/Diagnostics.h"
#include "dsl/Parser/Tokens.h"

namespace penstock::dsl {

/// Replaces habits from other languages: `#`, `;`, `&&`, 'text',
/// `25 ms`, `True` ...
void repairHabits(TokenList &tokens, StatementLog &log, Diagnostics &diagnostics);

/// Reports `(` and `[` that are never closed. A word that opens a statement is the proof; `{` is
/// left to the parser, which finds a better place.
void repairBrackets(TokenList &tokens, StatementLog &log, Diagnostics &diagnostics);

/// Warns of `size // 2`, which is `size` and a comment.
void warnOfDivisions(const TokenList &tokens, Diagnostics &diagnostics);

/// Reports nesting that is deeper than the parser's stack allows. Returns
/// false if the file must not be parsed.
bool checkNesting(const TokenList &tokens, Diagnostics &diagnostics);

} // namespace penstock::dsl
