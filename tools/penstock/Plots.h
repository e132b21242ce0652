// SPDX-License-Identifier: Apache-2.0
//
// Sound as pictures.
#pragma once

#include "tools/penstock/Picture.h"

namespace penstock::cli {

/// Returns whether an output without `n` is a spectrum, of axes t and freq in either order, or a
/// wave, of axis t; of an axis c beside, the first channel is shown.
bool isPlot(const pst_output &output);

/// Of a wave, where it goes within each column, from its largest magnitude down to as far below 0.
/// Of a spectrum, frames from left to right and frequencies from the bottom up, from its least
/// value (black) to its largest (white). What is longer than a plot is wide is drawn in so many
/// parts: of a spectrum, the means of these.
Picture makePlot(const pst_output &output);

} // namespace penstock::cli
