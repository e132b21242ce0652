// SPDX-License-Identifier: Apache-2.0
//
// Ops that are computed whole, by the threads of a block.
//
// Each has a file, which registers how it is computed. compiler/Conversion/CMakeLists.txt lists
// the names; what a file of that name defines is registerName().
#pragma once

#include "compiler/Conversion/KernelToGpu/GpuContext.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace penstock::conversion {

/// How ops are computed whole, by their names.
class GpuWholeOps {
public:
  using Buffers = llvm::ArrayRef<GpuBuffer>;
  struct Whole {
    /// Makes the buffers that an op keeps in scratch memory besides its results.
    std::function<mlir::LogicalResult(const GpuSite &, mlir::Operation *,
                                      llvm::SmallVector<GpuBuffer> &work)>
        makeWork;
    /// Emits what stores the results.
    std::function<void(const GpuSite &, mlir::Operation *, Buffers to, Buffers work)> compute;
  };

  /// All that there are.
  static GpuWholeOps all();

  template <typename Op> void add(void (*compute)(const GpuSite &, Op, const GpuBuffer &to)) {
    known[Op::getOperationName()] = {
        [](const GpuSite &, mlir::Operation *, auto &) { return mlir::success(); },
        [compute](const GpuSite &site, mlir::Operation *op, Buffers to, Buffers) {
          compute(site, llvm::cast<Op>(op), to[0]);
        }};
  }
  /// In passes, over arrays that it makes before.
  template <typename Op>
  void add(mlir::LogicalResult (*makeWork)(const GpuSite &, Op, llvm::SmallVector<GpuBuffer> &work),
           void (*compute)(const GpuSite &, Op, Buffers to, Buffers work)) {
    known[Op::getOperationName()] = {
        [makeWork](const GpuSite &site, mlir::Operation *op, auto &work) {
          return makeWork(site, llvm::cast<Op>(op), work);
        },
        [compute](const GpuSite &site, mlir::Operation *op, Buffers to, Buffers work) {
          compute(site, llvm::cast<Op>(op), to, work);
        }};
  }
  /// Null where there is no code for it.
  const Whole *find(mlir::Operation *op) const;

private:
  llvm::StringMap<Whole> known;
};

/// Scratch memory for an op, one array after the other.
class GpuWork {
public:
  GpuWork(const GpuSite &site, llvm::SmallVector<GpuBuffer> &arrays) : site(site), arrays(arrays) {}
  void add(mlir::Type element, llvm::ArrayRef<GpuAxis> axes, int64_t each = 1);
  mlir::LogicalResult done() const { return mlir::success(fits); }
  /// All axes of a tensor, or all but one.
  static llvm::SmallVector<GpuAxis> axesOf(mlir::Value tensor, llvm::StringRef without = "");

private:
  const GpuSite &site;
  llvm::SmallVector<GpuBuffer> &arrays;
  bool fits = true;
};

/// Returns whether a place, or a group, is that of a thread where each belongs to one.
mlir::Value isOwn(const GpuSite &site, mlir::Value place, mlir::Value thread);

} // namespace penstock::conversion
