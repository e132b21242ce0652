// SPDX-License-Identifier: Apache-2.0
//
// One axis of a window after the other.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Splits the reductions of a kernel over pieces of an image, `[i, j]` of `x[s h + i, t w + j]`,
/// into one over `i` for every column of `x`, which is returned to say why it is there, and
/// one over `j`. The first reads rows as they lie, and neighbouring pieces share its results.
/// Of pixels `x[s h + i, t w + j, c]`, the second one has all columns too, and is returned as well:
/// its lanes go through pixels and channels, and pieces take every t-th column.
/// All but sums of floats, which have an order, and tiles whose columns pair up in a vector.
llvm::SmallVector<pipe::ReduceOp> separateReductions(pipe::KernelOp kernel);

} // namespace penstock::schedules
