// SPDX-License-Identifier: Apache-2.0
//
// Functions that reductions share.
#pragma once

#include "compiler/Conversion/KernelToGpu/GpuContext.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace penstock::conversion {

mlir::Value combined(const GpuSite &site, pipe::ReduceKind kind, mlir::Value a, mlir::Value c);
/// Returns the result of `kind` of no elements.
mlir::Value startOf(const GpuSite &site, pipe::ReduceKind kind, mlir::Type type);
mlir::Value startOf(const GpuSite &site, pipe::ReduceKind kind, mlir::Type type, mlir::Value count);
/// 32 interleaved partial sums by one thread.
mlir::Value laneSum(const GpuSite &site, mlir::Type type, mlir::Value count,
                    llvm::function_ref<mlir::Value(mlir::Value)> at);
/// The best element's number from `first` on, or -1, and the element.
std::pair<mlir::Value, mlir::Value> bestOf(const GpuSite &site, pipe::ReduceKind kind,
                                           mlir::Type type, mlir::Value first, mlir::Value count,
                                           int64_t step,
                                           llvm::function_ref<mlir::Value(mlir::Value)> at);

// Running.cpp
/// Visits every place with the sum of the numbers before it and its own number,
/// then the sum of all.
void running(const GpuSite &site, mlir::Value count, const GpuBuffer &sums,
             llvm::function_ref<mlir::Value(mlir::Value)> number,
             llvm::function_ref<void(mlir::Value, mlir::Value, mlir::Value)> visit,
             llvm::function_ref<void(mlir::Value)> whole);

} // namespace penstock::conversion
