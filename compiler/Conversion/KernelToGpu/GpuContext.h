// SPDX-License-Identifier: Apache-2.0
//
// The state of a kernel while it becomes code for threads.
#pragma once

#include "compiler/Conversion/KernelContract.h"
#include "compiler/Conversion/KernelToGpu/IndexMath.h"
#include "compiler/Conversion/KernelToGpu/ScalarMath.h"
#include "compiler/Conversion/TensorType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace penstock::conversion {

/// Elements in memory, in a memref of one dimension.
struct GpuBuffer {
  mlir::Value memory;
  llvm::SmallVector<mlir::Value> strides;     ///< in elements, one per axis
  llvm::SmallVector<mlir::Value> origin = {}; ///< indices of the first element; empty or null: 0
  int64_t alignment = 0;                      ///< bytes, of the first element; 0: that of its type
  bool hasSlack = false;                      ///< bytes around it may be read (PST_DEVICE_SLACK)
  bool isStoredOver = false;                  ///< other threads store over what is not this one's
  bool inRegisters = false;                   ///< of the thread: elements have no addresses
  int64_t before = 0;                         ///< elements before the first
};
using GpuBuffers = llvm::DenseMap<mlir::Value, GpuBuffer>; ///< by tensor

class GpuWholeOps;
struct GpuRowTaps;

/// The function of a kernel so far: values by those of the kernel that they stand for, buffers,
/// scratch memory, checks.
struct GpuContext {
  /// Checks get the ids from `nextCheck` on.
  GpuContext(pipe::KernelOp kernel, mlir::func::FuncOp function, int64_t &nextCheck);

  pipe::KernelOp kernel;
  mlir::func::FuncOp function;
  int64_t &nextCheck;
  mlir::OpBuilder b;
  KnownIndices known;
  const GpuWholeOps *whole = nullptr;
  DeviceLaunch launch = {}; ///< as far as it is known

  mlir::IRMapping scalars; ///< of the kernel to emitted ones
  GpuBuffers buffers;      ///< tensors in memory
  llvm::SmallVector<KernelArgument> arguments;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> argumentExtents;
  llvm::SmallVector<GpuBuffer> outputs;
  llvm::DenseMap<mlir::Value, size_t> outputOf;
  llvm::DenseMap<mlir::Value, int64_t> multiples;  ///< numbers that divide indices
  llvm::DenseMap<mlir::Operation *, int64_t> arms; ///< of choices and stacks that are decided here
  int64_t runs = 0;                                ///< of neighbours that are loaded together
  mlir::Value scratch;
  mlir::Value part; ///< the one place along the output's first axis that is made; null: all are
  ScratchNeed scratchNeed;
  bool failedInside = false; ///< an op inside a region was refused
};

/// Where code is emitted, and what holds there. A value: what holds in a part of the code only
/// is said to that part, and to nothing else.
struct GpuSite {
  /// Temporaries go behind `*scratchUsed` bytes of scratch memory, which moves on.
  GpuSite(GpuContext &ctx, mlir::Location loc, mlir::Value *scratchUsed);
  /// The same at another location.
  GpuSite(const GpuSite &around, mlir::Location loc);

  GpuContext &ctx;
  mlir::Location loc;
  IndexMath x;       ///< arithmetic on indices
  ScalarMath s;      ///< and on scalars
  mlir::Value taken; ///< whether the arm around is taken; null outside of arms
  mlir::Value *scratchUsed;
  const GpuBuffers *tile = nullptr; ///< of tensors of which a block has some rows
  const llvm::DenseMap<mlir::Operation *, GpuRowTaps> *rowTaps = nullptr; ///< of rows of those

  GpuSite at(mlir::Location there) const { return {*this, there}; }
  /// Where a tensor is made.
  GpuSite of(mlir::Value tensor) const;
  /// Where a tensor lies; null where it is computed when it is read.
  const GpuBuffer *bufferOf(mlir::Value tensor) const;

  /// The kernel, the builder, arithmetic.
  std::tuple<GpuContext &, mlir::OpBuilder &, const IndexMath &, const ScalarMath &> parts() const {
    return {ctx, ctx.b, x, s};
  }
};

using GpuIndices = llvm::ArrayRef<mlir::Value>; ///< of index type, one per axis

inline bool holdsGpuTensor(mlir::Value value) {
  return llvm::isa<pipe::NamedTensorType>(value.getType());
}

/// Adds the arguments that the function gets from its caller.
void addArguments(const GpuSite &site);
/// Drops those that nothing reads.
void dropUnusedArguments(GpuContext &ctx);

struct GpuAxis {
  mlir::Value tensor;
  int64_t axis;
};
/// Scratch memory for `each` elements at every place of some axes, side by side.
mlir::FailureOr<GpuBuffer> scratchArray(const GpuSite &site, mlir::Type element,
                                        llvm::ArrayRef<GpuAxis> axes, int64_t each = 1);
mlir::FailureOr<GpuBuffer> temporary(const GpuSite &site, mlir::Value tensor);
/// Where what is computed whole goes: straight to an output if it is one.
mlir::FailureOr<GpuBuffer> bufferFor(const GpuSite &site, mlir::Value tensor);

/// The 32 lanes of a warp, and of a float sum.
inline constexpr int64_t warpLanes = 32;

} // namespace penstock::conversion
