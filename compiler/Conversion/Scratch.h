// SPDX-License-Identifier: Apache-2.0
//
// How the plan finds the size of scratch memory.
#pragma once

#include "compiler/Conversion/KernelContract.h"

namespace penstock::conversion {

/// Every buffer in scratch starts at such a boundary, and has as much behind
/// it: vector loads may read past the last element.
inline constexpr int64_t scratchAlign = 64;

/// The extent of an axis for one who knows the arguments; nothing where the kernel itself computes
/// it.
std::optional<ArgumentExtent> argumentExtentOf(pipe::KernelOp kernel, mlir::Value tensor,
                                               int64_t axis);

/// Adds a buffer of `bytes` for each combination of indices below `extents` to what a kernel needs.
void addScratch(ScratchNeed &need, int64_t bytes, llvm::ArrayRef<ArgumentExtent> extents);

} // namespace penstock::conversion
