// SPDX-License-Identifier: Apache-2.0
//
// Nests, loops, branches and memory.
#pragma once

#include "compiler/Conversion/KernelToGpu/GpuContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace penstock::conversion {

//===--- memory ------------------------------------------------------------===//

mlir::Value extent(const GpuSite &site, mlir::Value tensor, int64_t axis);
mlir::Value elementOffset(const GpuSite &site, const GpuBuffer &buffer, GpuIndices at);
mlir::Value load(const GpuSite &site, const GpuBuffer &buffer, GpuIndices at);
void save(const GpuSite &site, mlir::Value value, const GpuBuffer &buffer, GpuIndices at);

//===--- nests -------------------------------------------------------------===//

/// Some of a tensor: along each axis `count` places from `low` on; null: all.
struct GpuPart {
  llvm::SmallVector<mlir::Value> low, count;
  bool isSingle; ///< each element by itself
};

/// A nest over a tensor's domain whose elements are distributed over `workers`:
/// "threads", or "warps", 32 threads that go through the body together.
void nest(const GpuSite &site, llvm::ArrayRef<std::string> axes,
          llvm::ArrayRef<mlir::Value> extents, llvm::StringRef workers,
          llvm::function_ref<void(GpuIndices)> body);
/// The nest over a tensor's own domain, one element for each thread.
void over(const GpuSite &site, mlir::Value tensor, llvm::function_ref<void(GpuIndices)> body);
/// Without a part, by all threads of the sample; else by those of the block.
void fill(const GpuSite &around, mlir::Value tensor, const GpuBuffer &to, const GpuPart &part = {});
void barrier(const GpuSite &site);

//===--- control -----------------------------------------------------------===//

llvm::SmallVector<mlir::Value>
loop(const GpuSite &site, mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange inits,
     llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
void when(const GpuSite &site, mlir::Value condition, llvm::function_ref<void()> body);
mlir::Value branch(const GpuSite &site, mlir::Value condition, mlir::Type type,
                   llvm::function_ref<mlir::Value()> yes, llvm::function_ref<mlir::Value()> no);
/// The values of arm `index`, clamped to 0 ..< count.
llvm::SmallVector<mlir::Value>
oneOf(const GpuSite &site, mlir::Value index, int64_t count, mlir::TypeRange types,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t)> arm);
/// Calls a function that whoever prints the kernel supplies.
mlir::Value call(const GpuSite &site, llvm::StringRef name, mlir::Type result,
                 mlir::ValueRange operands);
/// One that is pure, of an index and a size.
mlir::Value movedBy(const GpuSite &site, llvm::StringRef name, mlir::Value index, mlir::Value size);

} // namespace penstock::conversion
