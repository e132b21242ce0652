// SPDX-License-Identifier: Apache-2.0
//
// The elements of a tensor at given indices.
#pragma once

#include "compiler/Conversion/KernelToGpu/GpuContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace penstock::conversion {

mlir::Value element(const GpuSite &site, mlir::Value tensor, GpuIndices at);
/// What a sum of products with weights of 22 bits starts from (`pst_pillow` ends it).
mlir::Value pillowSum(const GpuSite &site);

//===--- GpuVectors.cpp: a box of elements, `counts` along each axis from `at` on, row-major
//---===//

/// Returns whether every box that the schedule names divides what it is of, but for the axis of a
/// strip.
mlir::LogicalResult checkVectors(pipe::KernelOp kernel);
/// The box that a thread makes of a value that is stored.
llvm::SmallVector<int64_t> vectorOf(mlir::Value tensor);
llvm::SmallVector<mlir::Value> elements(const GpuSite &site, mlir::Value tensor, GpuIndices at,
                                        llvm::ArrayRef<int64_t> counts);
llvm::SmallVector<mlir::Value> load(const GpuSite &site, const GpuBuffer &buffer, GpuIndices at,
                                    llvm::ArrayRef<int64_t> counts);
void save(const GpuSite &site, llvm::ArrayRef<mlir::Value> values, const GpuBuffer &buffer,
          GpuIndices at, llvm::ArrayRef<int64_t> counts);

/// Bytes that are known to divide the address of an element.
int64_t alignmentOf(const GpuSite &site, const GpuBuffer &buffer, GpuIndices at);
/// How many neighbours of a box lie side by side, from its last axis on.
int64_t runLength(llvm::ArrayRef<mlir::Value> strides, llvm::ArrayRef<int64_t> counts);
/// Returns whether they are numbers that are stored as they are computed, or rounded.
bool mayRun(mlir::Type type);

//===--- GpuStrips.cpp: neighbours along a row, one after the other ---===//

/// The axis along which a thread makes the box of a value element after element; -1: all at once.
int64_t stripAxisOf(mlir::Value tensor);
/// Makes all of a value in strips, if the schedule says so and rows of `to` are dense.
bool fillStrips(const GpuSite &site, mlir::Value tensor, const GpuBuffer &to);

//===--- a function for each op ---===//

/// Which arm of a choice or stack is read: the one that is decided, or what `index` says.
mlir::Value armOf(const GpuSite &site, mlir::Operation *op,
                  llvm::function_ref<mlir::Value()> index);

mlir::Value reduced(const GpuSite &site, pipe::ReduceOp op, GpuIndices outer);
/// A table of the module; equal ones are the same.
mlir::Value tableOf(const GpuSite &site, mlir::DenseElementsAttr elements, mlir::Type element);

} // namespace penstock::conversion
