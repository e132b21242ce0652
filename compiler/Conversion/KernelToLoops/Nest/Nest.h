// SPDX-License-Identifier: Apache-2.0
//
// Loops over a tensor that is stored.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"
#include "compiler/Conversion/KernelToLoops/Seen.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace penstock::conversion {

/// Which loops compute a tensor: the axis along which lanes lie, and the
/// innermost axis that is unrolled, by position; -1: none. `#schedule.loops` says what the rest
/// is.
struct LoopShape {
  int64_t laneAxis = -1;
  int64_t unrollAxis = -1;
  int64_t lanes = 1;
  int64_t arms = 4;
  bool bounded = true, strides = true, rows = true;
  pipe::Tail tail = pipe::Tail::overlap;
  int64_t acrossAxis = -1; ///< of squares
};

/// Axes that are small and unrolled, such as channels.
constexpr int64_t unrollBound = analysis::mostChannels;

/// The loops that the schedule gives what is computed, or what an op stores of others; element by
/// element where it gives none.
LoopShape shapeFrom(pipe::LoopsAttr loops, pipe::NamedTensorType type);
LoopShape shapeOf(mlir::Value computed);
LoopShape shapeOf(const Site &site, mlir::OpOperand &stored);

/// A tensor, and where it is stored.
struct Stored {
  mlir::Value tensor;
  Buffer to;

  pipe::NamedTensorType axes() const { return typeOf(tensor); }
};
void storeTensor(const Site &site, mlir::Value tensor, const Buffer &to, LoopShape shape,
                 mlir::Value low, mlir::Value high);
/// The same of several, by the same loops: they have the same axes, of known extents, and share
/// what they read.
void storeTogether(const Site &site, llvm::ArrayRef<Stored> all, LoopShape shape, mlir::Value low,
                   mlir::Value high);
/// Stores a concat, a stack or a merge by the loops of what it is made of (Parts.cpp); false where
/// it has loops of its own.
bool storeInParts(const Site &site, const Stored &stored, mlir::Value low, mlir::Value high);
void storeRow(const Site &site, llvm::ArrayRef<Stored> all, const LoopShape &shape,
              llvm::ArrayRef<Index> at, mlir::Value low, mlir::Value high);
void storeLanes(const Site &site, llvm::ArrayRef<Stored> all, const LoopShape &shape,
                llvm::ArrayRef<Index> at);
/// Stores squares of `shape.acrossAxis`, which are transposed in registers. False where rows and
/// columns are known to be too short for that; where only the sample tells, `otherwise` emits the
/// loops for those that are.
bool storeSquares(const Site &site, mlir::Value tensor, const Buffer &to, const LoopShape &shape,
                  mlir::Value low, mlir::Value high, llvm::function_ref<void()> otherwise);
/// Gives `to` the range of what was stored there (Site::written).
void noteWritten(const std::optional<Interval> &written, Buffer &to);

//===--- loops ----------------------------------------------------------------===//

mlir::Value forLoop(const Site &site, mlir::Value low, mlir::Value high, int64_t step,
                    llvm::function_ref<void(mlir::Value)> body);
/// Carries values from one iteration to the next, and returns the last ones.
llvm::SmallVector<mlir::Value>
carryLoop(const Site &site, mlir::Value low, mlir::Value high, mlir::ValueRange inits,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
/// Runs `body` where there are lanes, with an index for as many lanes as there are, up to `lanes`;
/// the last ones overlap those before them, or go one by one.
void overLanes(const Site &site, mlir::Value from, mlir::Value size, int64_t lanes,
               llvm::function_ref<void(const Site &, Index)> body,
               pipe::Tail tail = pipe::Tail::overlap);

//===--- what is decided once per nest, or per row (Cases.cpp) ----------===//

/// Returns the value that the specialized arm of a choice yields; null for anything else.
mlir::Value specializedArm(const Site &site, mlir::Value tensor);
/// The choices below `tensor` whose branch is not resolved yet, outermost first.
void unresolvedBranches(const Site &site, mlir::Value tensor,
                        llvm::SetVector<mlir::Operation *> &found, Seen &seen);
/// The numbers of the sample of which nothing is known and that make `value`, or the
/// elements of a tensor; false where elements from memory are as unknown.
bool unboundedScalars(const Site &site, mlir::Value value, llvm::SetVector<mlir::Value> &found,
                      Seen &seen);
/// The scalars that are distances between lanes in views below `tensor`.
void laneStrides(const Site &site, mlir::Value tensor, llvm::ArrayRef<bool> withLanes,
                 llvm::SetVector<mlir::Value> &found, Seen &seen);
/// Whether a row of a pad exists, as far as `axes` of it tell: those whose
/// index is the same in the whole row.
struct PadRow {
  mlir::Value exists;
  llvm::SmallVector<int64_t> axes;
};
/// The pads below `tensor`, and whether this row of them exists.
void rowConditions(const Site &site, mlir::Value tensor, llvm::ArrayRef<Index> at,
                   llvm::MapVector<mlir::Operation *, PadRow> &found);

} // namespace penstock::conversion
