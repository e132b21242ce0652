// SPDX-License-Identifier: Apache-2.0
//
// What numbers a kernel's scalars and elements can be.
#pragma once

#include "compiler/Analysis/Interval.h"

namespace penstock::analysis {

/// Bounds that follow from types, constants and the operations between them. Each value is looked
/// at once.
class ValueRanges {
public:
  /// Of a scalar, or of all elements of a tensor.
  Interval of(mlir::Value value);

private:
  Interval find(mlir::Value value);
  Interval findArgument(mlir::BlockArgument argument);
  Interval padded(mlir::Operation *op);
  Interval findOperation(mlir::Operation *op, mlir::OpResult result);
  /// Of what a body gives; its operations are looked at in their order.
  Interval ofBody(mlir::Block &body, unsigned number);

  llvm::DenseMap<mlir::Value, Interval> known;
};

/// How large elements that `op` adds are at most, in magnitude, and no less than 1: of a sum of
/// integers, or a count.
double largestAdded(pipe::ReduceOp op);
/// How many of those 32 bits hold the sum of, whichever they are.
int64_t addedIn32Bits(pipe::ReduceOp op);

} // namespace penstock::analysis
