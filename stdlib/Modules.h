// SPDX-License-Identifier: Apache-2.0
//
// The text of the library's modules, compiled in.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace penstock::stdlib {

/// Returns a module's text, which lives forever; nothing if there is none of this name.
std::optional<std::string_view> moduleText(std::string_view name);
/// All modules, `prelude` included.
std::vector<std::string_view> moduleNames();

} // namespace penstock::stdlib
