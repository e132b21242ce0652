// SPDX-License-Identifier: Apache-2.0
//
// Captions of samples: the random values that were drawn.
#pragma once

#include "api/c/penstock.h"
#include <string>
#include <vector>

namespace penstock::cli {

/// Returns the value as text: `true`, `12` or, with so many digits, `0.3172`.
std::string drawnValue(const pst_draw &draw, int digits);
/// Describes a sample in lines of at most `columns` characters: position and file, then
/// the random values, a line (or more) for each place that draws.
std::vector<std::string> captionOf(const pst_sample *sample, int64_t position, int columns);

} // namespace penstock::cli
