// SPDX-License-Identifier: Apache-2.0
//
// Texts in JSON: a line of a table, or an answer of a server.
#pragma once

#include "runtime/core/Status.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Finds the values of `keys` in one JSON object, as they are written there; empty
/// where there is none, and the last where a key stands twice, as Python's reader
/// has it. All of the object is read: Corrupt where it is none, or goes on.
/// `NaN`, `Infinity` and `-Infinity` are numbers, as Python writes them.
Status readJsonObject(std::string_view text, std::span<const std::string> keys,
                      std::span<std::string_view> values);

/// Returns the elements of a JSON array, as they are written. Corrupt where it is none.
Result<std::vector<std::string_view>> readJsonArray(std::string_view text);

/// Decodes a JSON string with its quotes to UTF-8. Corrupt for any other value.
Result<std::string> jsonText(std::string_view written);

} // namespace penstock::runtime
