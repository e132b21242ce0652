// SPDX-License-Identifier: Apache-2.0
//
// How names and code stand in messages.
#pragma once

#include <string>
#include <string_view>

namespace penstock::dsl {

inline std::string quote(std::string_view text) { return "`" + std::string(text) + "`"; }

} // namespace penstock::dsl
