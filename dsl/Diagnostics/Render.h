// SPDX-License-Identifier: Apache-2.0
//
// The text of messages: for people, and as JSON for programs.
#pragma once

#include "dsl/Diagnostics/Diagnostics.h"

namespace penstock::dsl {

/// Everything in `diagnostics` as text, sorted, an empty line between messages:
///
///     train.pipe:8:13: error: `flip` over axis `ww`, which its input lacks
///       8 |     |> flip(ww) if chance(0.5)
///         |             ^~
///     train.pipe:7:8: note: the input is u8[h=224, w=224, c: rgb]
///     hint: `w`
///
/// Ends with a line break unless there is nothing to say.
std::string renderText(const Diagnostics &diagnostics, const SourceManager &sources);

/// Renders messages as a JSON array of objects with `severity`, `file`, `line`, `column`,
/// `end_line`, `end_column`, `message`, `notes` and `hint` (or null). A message without a place has
/// `file` null and no line or column.
std::string renderJson(const Diagnostics &diagnostics, const SourceManager &sources);

} // namespace penstock::dsl
