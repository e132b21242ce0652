// SPDX-License-Identifier: Apache-2.0
//
// Levels at which values cross from the host to a GPU.
#pragma once

#include <string_view>

namespace penstock {

/// The levels by their names: the further behind, the more the host does. docs/cuda.md says what
/// crosses at each.
inline constexpr std::string_view transferLevels[] = {"planes", "pixels", "resampled", "final"};

} // namespace penstock
