// SPDX-License-Identifier: Apache-2.0
//
// Quoting of names and code in messages.
#pragma once

#include <string>
#include <string_view>

namespace penstock::dsl {

inline std::string quote(std::string_view text) { return "`" + std::string(text) + "`"; }

} // namespace penstock::dsl
