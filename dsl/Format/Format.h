// SPDX-License-Identifier: Apache-2.0
//
// The one layout of a `.pipe` file.
#pragma once

#include "dsl/Diagnostics/Diagnostics.h"

#include <optional>
#include <string>

namespace penstock::dsl {

/// The text of `file` in the layout of docs/format.md. Only blanks and line
/// breaks differ from the text: every token and every comment stays, in its
/// order, so the tree is the same. Formatting the result gives the result.
///
/// Nothing where the text has a syntax error, which `diagnostics` then has.
/// Names are not looked up.
std::optional<std::string> formatFile(FileId file, const SourceManager &sources,
                                      Diagnostics &diagnostics);

} // namespace penstock::dsl
