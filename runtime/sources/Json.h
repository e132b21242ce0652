// SPDX-License-Identifier: Apache-2.0
//
// Texts in JSON: a line of a table, or an answer of a server.
#pragma once

#include "runtime/core/Status.h"

#include <array>
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

/// Reads the values of `keys` in one JSON object, texts decoded and others as they are written;
/// empty where there is none. Fails as readJsonObject().
Status readJsonTexts(std::string_view object, std::span<const std::string> keys,
                     std::span<std::string> values);
template <size_t N>
Result<std::array<std::string, N>> jsonTexts(std::string_view object,
                                             const std::array<std::string, N> &keys) {
  std::array<std::string, N> values;
  if (Status status = readJsonTexts(object, keys, values); !status)
    return status.error();
  return values;
}

} // namespace penstock::runtime
