// SPDX-License-Identifier: Apache-2.0
//
// Functions shared by ops that read whole axes.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/abi/scalar.h"

namespace penstock::conversion {

/// A loop whose body is empty, with the builder at its end; the caller yields.
mlir::scf::ForOp openLoop(mlir::OpBuilder &b, const Lanes &l, mlir::Value low, mlir::Value high,
                          int64_t step, mlir::ValueRange carried);

/// Runs `body` once per index of a domain, in row-major order, carrying values
/// from one to the next.
llvm::SmallVector<mlir::Value>
carriedNest(mlir::OpBuilder &b, const Lanes &l, llvm::ArrayRef<mlir::Value> extents,
            llvm::SmallVector<mlir::Value> state,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<mlir::Value>,
                                                              mlir::ValueRange)>
                body);

/// Returns the result of a reduction of no elements.
LaneValue neutral(const Lanes &l, pipe::ReduceKind kind, mlir::Type type);

/// One more element of an exact reduction (any but a sum of floats).
LaneValue combined(const Lanes &l, pipe::ReduceKind kind, LaneValue sofar, LaneValue value);

/// An integer that is the larger the better an element is for argmax or argmin. Of floats
/// -0 lies below +0, and a NaN is the worst of all.
LaneValue rankOf(const Lanes &l, pipe::ReduceKind kind, LaneValue value);
/// The rank that none is worse than, of elements of a type.
LaneValue worstRank(const Lanes &l, mlir::Type element);
/// Returns whether a rank takes the place of the best one so far, before it: of equal ones the
/// first stays.
mlir::Value isBetter(const Lanes &l, LaneValue rank, LaneValue best);

/// Sums that the elements of a sum of floats go to by turns (scalar.h).
constexpr int64_t partialSums = scalar::reductionLanes;

constexpr int64_t halfOfSums = partialSums / 2;

/// For runs of partial sums `from` .. `to` of the lower half: how many of `count` elements, at
/// least 32, each has, `low`, and the sum that it meets in the tree, half of them further on,
/// `high`. Where both are made together, half as many go through memory.
void overHalves(int64_t count,
                llvm::function_ref<void(int64_t from, int64_t to, int64_t low, int64_t high)> body);

/// Elements `first`, `first + 32` and so on of each lane make a partial sum; those
/// meet in a tree. Sums that have no element are left out: what adding 0 does besides,
/// to the sign of a zero, one addition does for all. `sums` is less where what `partial` gives has
/// met that far.
LaneValue treeOfPartials(const Lanes &l, mlir::Type element, int64_t count,
                         llvm::function_ref<LaneValue(int64_t)> partial,
                         int64_t sums = partialSums);

/// The same of elements that are made in their order, `one` by one: each sum is taken as soon as
/// both of its parts are there.
LaneValue treeInOrder(const Lanes &l, mlir::Type element, int64_t count,
                      llvm::function_ref<LaneValue(int64_t)> one);

/// Returns the type to compute with: f16 and bf16 are for storage.
mlir::Type computeType(mlir::Type element);

} // namespace penstock::conversion
