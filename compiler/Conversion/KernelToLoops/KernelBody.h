// SPDX-License-Identifier: Apache-2.0
//
// The ops of a kernel, one after the other.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"

namespace penstock::conversion {

/// Emits the body of a kernel into `function`. Tensors are functions of their indices: emit()
/// asks for the elements of a value at the indices of all lanes, and recursion
/// does the rest. Values that a schedule gives a buffer are computed once, where
/// they stand, and loaded after that.
mlir::LogicalResult emitKernel(pipe::KernelOp kernel, mlir::func::FuncOp function,
                               int64_t &nextCheck);

mlir::LogicalResult emitTopLevel(const Site &around, mlir::Operation &op);

// RowTiles.cpp
mlir::LogicalResult emitRowTiles(const Site &site, const pipe::Axis &rows, int64_t tile);

} // namespace penstock::conversion
