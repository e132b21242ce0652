// SPDX-License-Identifier: Apache-2.0
//
// Which loops compute what is stored.
#pragma once

#include "compiler/Lane/Features.h"
#include "compiler/Schedules/StoredValues.h"

namespace penstock::schedules {

/// Writes `loops` on all ops of a kernel whose results are stored element by element and that have
/// none, `copies` on what stores others' results again, and `reduction` on reductions.
void planLoops(pipe::KernelOp kernel, const lane::Features &has);

/// Writes `table` on what is looked up in tables of bytes, if the machine has these
/// (TablePlan.cpp).
void planTables(pipe::KernelOp kernel, const lane::Features &has);

/// How rows end: the loops' body is written twice where rows are so short that a last vector of all
/// lanes would be a quarter more work.
pipe::Tail tailOf(const pipe::Axis &axis, int64_t lanes);
/// Writes `loops` of one result on its op.
void stateLoops(mlir::OpResult result, pipe::LoopsAttr loops);

//===--- what is made side by side (OutputsTogether.cpp) ------------------------------===//

/// Returns whether elements of `tensor` are stacked along the axis `name`, of parts that share what
/// they read: made side by side they read it once.
bool stacksShared(mlir::Value tensor, llvm::StringRef name, const StoredValues &stored);
/// Returns whether both read elements of the same tensor, of at least as many axes as `made`: more
/// than what is repeated.
bool shareReads(mlir::Value one, mlir::Value other, mlir::Value made, const StoredValues &stored);
/// The fewest lanes for which what is made beside others gains, of those that it has `alone`: all
/// of them for what is computed in bytes, half for others. With fewer, reading again costs less.
int64_t enoughLanes(mlir::Value tensor, int64_t alone, bool hasChannels, pipe::KernelOp kernel,
                    const StoredValues &stored);
/// Gives outputs that share what they read the same loops, which go through it once, if those are
/// `planned`, and not stated by hand.
void planTogether(pipe::ReturnOp op, const StoredValues &stored, const lane::Features &has,
                  const llvm::DenseSet<mlir::Value> &planned);

/// Returns whether all elements of `tensor` along the small axis `name` are better made side by
/// side: memory has them so, or most of the work is the same for all (UnrolledAxis.cpp).
bool wantsAllOf(mlir::Value tensor, llvm::StringRef name, const StoredValues &stored);

//===--- what loops are written for (LoopVersions.cpp) --------------------------------===//

/// Combinations of arms of choices below `tensor` that loops are written for.
int64_t armsOf(mlir::Value tensor, const StoredValues &stored);
/// The versions that loops over `tensor` may have, whose lanes lie along an axis of it.
llvm::SmallVector<llvm::StringRef> versionsOf(mlir::Value tensor, int64_t along,
                                              const StoredValues &stored);

/// The axis of `made` along which all lies in memory that it is computed of, where lanes along the
/// axis `along` would be further apart than registers reach; -1 where there is none.
int64_t squareAxis(mlir::ValueRange made, int64_t along, const StoredValues &stored,
                   const lane::Features &has);

/// As many of `lanes`, which lie along the axis `along` of `made`, as have what lives at once in
/// registers, but no fewer than fill one (LoopLanes.cpp). `onlyDoubles`: all of them where nothing
/// on the way is an f64.
int64_t fewerLanes(int64_t lanes, mlir::ValueRange made, int64_t along, const StoredValues &stored,
                   const lane::Features &has, bool onlyDoubles);
/// The same of values that one loop makes, each of which lives until the last one is made.
int64_t lanesTogether(int64_t lanes, mlir::ValueRange values, int64_t along,
                      const StoredValues &stored, const lane::Features &has);
/// The same of a tensor whose parts, stacked along the axis `stacked`, one loop makes.
int64_t lanesOfStack(int64_t lanes, mlir::Value tensor, llvm::StringRef stacked, int64_t along,
                     const StoredValues &stored, const lane::Features &has);

/// Returns whether bytes become `tensor`, and nothing wider on the way; with channels beside the
/// lanes, where these are taken as they lie (LoopBytes.cpp).
bool staysInBytes(mlir::Value tensor, bool hasChannels, pipe::KernelOp kernel,
                  const StoredValues &stored);

/// Returns whether the conditions `tensor` are comparisons of four bytes, and what they make
/// together: one register has a lane of ones or zeros for each.
bool comparesWords(mlir::Value tensor, const StoredValues &stored);

} // namespace penstock::schedules
