// SPDX-License-Identifier: Apache-2.0
//
// Reductions that are expressions.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::pipe {

/// How many elements each result of a reduction takes; null where no extent tells.
std::optional<int64_t> reducedElements(ReduceOp op);

/// Returns whether `op` is a reduction of no more elements than a float sum has partial sums:
/// an expression of neighbours, as a window is, that can share a kernel with what reads it.
bool isSmallReduction(mlir::Operation *op);

} // namespace penstock::pipe
