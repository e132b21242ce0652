// SPDX-License-Identifier: Apache-2.0
//
// Resampling along rows, then across them.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"

namespace penstock::conversion {

/// Sets up the horizontal half of a stream where the form of `op` allows: false
/// where it does not, and the value is then stored whole.
mlir::LogicalResult prepareRing(const Site &site, pipe::ResampleOp op);
/// The vertical half of a stream.
mlir::LogicalResult prepareVertical(const Site &site, pipe::ResampleOp op);
std::optional<LaneValue> emitVertical(const Site &site, pipe::ResampleOp op,
                                      llvm::ArrayRef<Index> at);

// RowTables.cpp
mlir::FailureOr<TapTable> packTaps(const Site &site, mlir::Value weights, mlir::Value start,
                                   const RowShape &shape, int64_t outputs);
mlir::Value expandTaps(const Site &site, const TapTable &taps, const RowForm &form,
                       mlir::Value offsets, mlir::Value tables);

} // namespace penstock::conversion
