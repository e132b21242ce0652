// SPDX-License-Identifier: Apache-2.0
//
// The state of a kernel while it becomes loops.
#pragma once

#include "compiler/Analysis/Strides.h"
#include "compiler/Conversion/KernelContract.h"
#include "compiler/Conversion/KernelToLoops/Elements/TapLoops.h"
#include "compiler/Conversion/KernelToLoops/Rows/RowStream.h"
#include "compiler/Conversion/KernelToLoops/Vector/LanePixels.h"
#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"
#include "compiler/Conversion/KernelToLoops/Vector/Random.h"
#include "compiler/Conversion/KernelToLoops/Whole/JoinedLoops.h"
#include "compiler/Conversion/TensorType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <string>

namespace penstock::conversion {

using analysis::Margin;

/// A horizontal and a vertical pass, row by row.
struct RowStream {
  RowShape shape;
  mlir::Value descriptor;
  mlir::Value result; ///< the current row; null until the vertical pass is met
  /// Of pictures in a row (of a clip, planes): where the first one begins, and bytes from one to
  /// the next along each axis in front of the rows.
  mlir::Value source;
  llvm::SmallVector<mlir::Value, 1> apart;
  mlir::func::FuncOp function;
  /// The row that code in this block has just asked for.
  mlir::Value madeFor;
  mlir::Block *madeIn = nullptr;
};

/// Room for some rows of a reduction, so many bytes apart.
struct ReducedRows {
  pipe::ReduceOp op;
  mlir::Value room;
  int64_t bytes, together;
};

/// Where tensors are in a part of the code only: in another buffer than elsewhere, or in none.
/// Lives as long as that part is emitted.
struct LocalBuffers {
  llvm::SmallVector<std::pair<mlir::Value, std::optional<Buffer>>, 1> buffers;
  const LocalBuffers *around = nullptr;
};

/// Arm `number` of `count`, taken where the clamped `index` says so.
struct Arm {
  mlir::Value index;
  int64_t number, count;
};

class WholeOps;

/// The function of a kernel so far: values by those of the kernel that they stand for, buffers,
/// scratch memory, checks.
struct Context {
  Context(pipe::KernelOp kernel, mlir::func::FuncOp function, int64_t &nextCheck);

  pipe::KernelOp kernel;
  mlir::func::FuncOp function;
  int64_t &nextCheck;
  mlir::OpBuilder b;
  lane::Features has; ///< of the machine that code is made for
  const WholeOps *whole = nullptr;
  bool reciprocals = false; ///< quotients by one number for all lanes are products
  bool streaming = false;   ///< outputs bypass the caches where they are whole lines

  llvm::DenseMap<mlir::Value, LaneValue> scalars;
  llvm::DenseMap<mlir::Value, KeyValue> keys;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, LaneValue> single; ///< tensors without axes, computed once
  llvm::DenseMap<mlir::Value, Index> coordinates;
  llvm::DenseMap<mlir::Value, RowStream> rings;     ///< by result of the horizontal pass
  llvm::DenseMap<mlir::Value, RowStream> verticals; ///< by result of the vertical pass
  llvm::SmallVector<Buffer> outputs;                ///< of what the kernel returns
  llvm::SmallVector<std::pair<mlir::Value, Buffer>>
      tileOutputs;                             ///< of these, where the rows of a tile go
  std::map<std::string, ByteTable> byteTables; ///< by what they hold, and where
  /// Elements of maps that exist already, by op, lanes and indices; they can be used
  /// in their block and in those inside of it.
  using ElementKey = std::vector<uintptr_t>;
  struct Element {
    LaneValue value;
    mlir::Block *block;
  };
  std::map<ElementKey, Element> elements;
  llvm::SmallPtrSet<mlir::Operation *, 4> takesNan; ///< minima and maxima whose elements may be NaN
  llvm::DenseMap<mlir::Value, Margin> margins;      ///< of tensors in `buffers`
  std::map<mlir::Operation *, TapLoops> tapLoops;   ///< of wide windows
  llvm::DenseMap<mlir::Value, llvm::SmallVector<ReducedRows>>
      reducedRows; ///< by what is stored of them
  mlir::Value args, tensors, slots, scratch, band[2];
  mlir::Value scratchUsed;
  ScratchNeed scratchNeed;
  llvm::SmallVector<KeptCheck> checks;
  CodePlace lastReduction;     ///< where its code begins, and that of those that are joined with it
  mlir::Block *exit = nullptr; // takes the check's id
  mlir::Value failureState;    // id of the first failed check inside a branch
};

/// Facts about a pad's row, where a row is emitted: the axes that told that it exists, or nothing
/// where it does not.
using PadRows = llvm::DenseMap<mlir::Operation *, std::optional<llvm::SmallVector<int64_t>>>;

/// Where code is emitted, and what holds there. A value: what holds in a part of the code only
/// is said to that part, and to nothing else.
struct Site {
  Site(Context &ctx, mlir::Location loc);

  Context &ctx;
  Memory m;                       ///< with the lanes, and which of them are live
  mlir::Block *top = nullptr;     ///< where the operation at hand began
  llvm::SmallVector<Arm, 1> arms; ///< around the builder's place, within one block
  /// The arms of choices that the loops at hand are written for.
  llvm::SmallVector<std::pair<mlir::Operation *, int64_t>, 2> specialized;
  /// Facts about scalars in the case that the loops at hand are written for.
  llvm::SmallVector<std::pair<mlir::Value, LaneValue>, 2> facts;
  const PadRows *padRows = nullptr;
  const LocalBuffers *local = nullptr; ///< on top of the context's buffers
  int64_t forks = 0;                   ///< pads around that tell vectors inside from others
  std::optional<int64_t> channel;      ///< that storeLanes() makes
  mlir::Value partialSums;             ///< room for 32 vectors of the reduction at hand

  // Findings on the way, for whoever wants to know.
  bool *readsShared = nullptr;                ///< one channel reads what might be another's too
  std::optional<Interval> *written = nullptr; ///< of what storeLanes() stores

  int64_t lanes() const { return m.l.lanes; }
  Site withLanes(int64_t lanes) const;
  Site withLive(std::optional<LiveLanes> live) const;
  /// For code that hardly ever runs, see Memory::rare.
  Site whereRare() const;
  /// For an op of the kernel, element by element.
  Site withOp(mlir::Location loc, mlir::Block *top) const;
  std::optional<int64_t> specializedArm(mlir::Operation *choose) const;
  /// Where `tensor` is in memory, here; null where its elements are computed.
  const Buffer *buffer(mlir::Value tensor) const;

  /// The kernel, the builder, arithmetic and memory.
  std::tuple<Context &, mlir::OpBuilder &, const Lanes &, const Memory &> parts() const {
    return {ctx, ctx.b, m.l, m};
  }
};

//===--- arguments ------------------------------------------------------------===//

/// Sets up what the function gets from its caller.
void unpackArguments(const Site &site);
LaneValue scalarFromSlot(const Site &site, mlir::Value address, mlir::Type type);
mlir::Value slotAddress(const Site &site, int64_t number);

//===--- buffers --------------------------------------------------------------===//

/// A dense buffer in scratch; null on an extent that the plan cannot know.
mlir::FailureOr<Buffer> scratchBuffer(const Site &site, mlir::Value tensor);
/// Room for `bytes` times the extents of some axes.
struct TensorAxis {
  mlir::Value tensor;
  int64_t axis;
};
mlir::FailureOr<mlir::Value> scratchBytes(const Site &site, int64_t bytes,
                                          llvm::ArrayRef<TensorAxis> axes);
/// Where a value that is computed as a whole goes: straight into the output if
/// it is one, else into scratch. bufferFor() makes it the value's at once.
/// `aligned`: with rows at the beginnings of lines, in scratch.
mlir::FailureOr<Buffer> wholeBuffer(const Site &site, mlir::Value tensor, bool aligned = false);
mlir::FailureOr<Buffer> bufferFor(const Site &site, mlir::Value tensor);
/// One global per content.
mlir::Value readOnlyData(const Site &site, std::string bytes);

} // namespace penstock::conversion
