// SPDX-License-Identifier: Apache-2.0
//
// Resampling along rows, for the pass across them.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::pipe {

/// Returns whether rows of a horizontal resampling can be made when the pass across them reads
/// them: at
/// most four channels of bytes that lie side by side in memory, in as many columns as are known.
bool canStreamRows(ResampleOp op);
/// Returns whether a vertical resampling can read such rows one by one.
bool canReadRows(ResampleOp op);

} // namespace penstock::pipe
