// SPDX-License-Identifier: Apache-2.0
//
// Views that put axes side by side together to one.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::analysis {

/// Returns where an element of `to` lies in `from`, whose axes are those of `to`, or several of one
/// that follow each other and whose product it is; null for others. Extents are static.
mlir::AffineMap mergeOf(pipe::NamedTensorType from, pipe::NamedTensorType to);
/// The axis that another one is a part of, and how far apart its places lie there.
struct Part {
  int64_t axis, step;
};
/// Returns for each axis of `from` the axis of `to` that it is a part of; empty for others.
llvm::SmallVector<Part> partsOf(pipe::NamedTensorType from, pipe::NamedTensorType to);
/// Returns whether the elements of a view lie in the order of its input.
bool isMerge(pipe::ViewOp op);

} // namespace penstock::analysis
