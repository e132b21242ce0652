// SPDX-License-Identifier: Apache-2.0
//
// Documentation and examples as text, compiled in.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace penstock::stdlib {

/// `intrinsics`: docs/intrinsics.md. The text lives forever.
std::optional<std::string_view> pageText(std::string_view name);
std::vector<std::string_view> pageNames();

/// The files of examples/, by their names without `.pipe`.
std::optional<std::string_view> exampleText(std::string_view name);
std::vector<std::string_view> exampleNames();

} // namespace penstock::stdlib
