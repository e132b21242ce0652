// SPDX-License-Identifier: Apache-2.0
//
// Text to tree. The only folder that sees ANTLR, and no word of ANTLR's
// reaches a user.
#pragma once

#include "dsl/AST/AST.h"
#include "dsl/Diagnostics/Diagnostics.h"

namespace penstock::dsl {

/// Parses one file. All syntax errors of it are reported, one per statement;
/// the tree is then without the statements that could not be read.
std::unique_ptr<File> parseFile(FileId file, const SourceManager &sources,
                                Diagnostics &diagnostics);

} // namespace penstock::dsl
