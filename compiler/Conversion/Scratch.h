// SPDX-License-Identifier: Apache-2.0
//
// How the plan finds the size of scratch memory -*- C++.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::conversion {

/// Every buffer in scratch starts at such a boundary, and has as much behind
/// it: vector loads may read past the last element.
inline constexpr int64_t scratchAlign = 64;

/// Where the extent of an axis stands for one who knows the arguments: {0,
/// scalar argument}, {1, tensor argument, axis}, or {2, number}. Null where the
/// kernel itself computes it.
mlir::DenseI64ArrayAttr scratchPlace(mlir::OpBuilder &b, pipe::KernelOp kernel, mlir::Value tensor,
                                     int64_t axis);

/// Adds `bytes` times the extents at `places` to what a kernel needs.
void addScratchTerm(mlir::OpBuilder &b, int64_t bytes, llvm::ArrayRef<mlir::Attribute> places,
                    int64_t &fixed, llvm::SmallVectorImpl<mlir::Attribute> &terms);

} // namespace penstock::conversion
