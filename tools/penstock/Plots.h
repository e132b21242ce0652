// SPDX-License-Identifier: Apache-2.0
//
// Sound as pictures.
#pragma once

#include "tools/penstock/Picture.h"

namespace penstock::cli {

/// Returns whether an output without `n` is a spectrum, of axes t and freq in either order, or a
/// wave, of axis t; of an axis c beside, the first channel is shown.
bool isPlot(const pst_output &output);

/// Draws an output. A wave: each column from its largest magnitude down to as far below 0. A
/// spectrum: frames from left to right and frequencies from the bottom up, from its least value
/// (black) to its largest (white). Outputs longer than the plot is wide are drawn in so many parts:
/// of a spectrum, the means of these.
Picture makePlot(const pst_output &output);

} // namespace penstock::cli
