// SPDX-License-Identifier: Apache-2.0
//
// Parse tree to AST.
#pragma once

#include "dsl/AST/AST.h"
#include "dsl/Diagnostics/Diagnostics.h"
#include "dsl/Parser/Tokens.h"
#include "generated/PenstockParser.h"

namespace penstock::dsl {

/// Builds the tree of a file, statements that could not be read left out (see
/// File), and attaches doc comments. Reports literals that are out of range
/// and doc comments that describe nothing.
std::unique_ptr<File> buildFile(grammar::PenstockParser::FileContext *context, TokenList &tokens,
                                Diagnostics &diagnostics);

} // namespace penstock::dsl
