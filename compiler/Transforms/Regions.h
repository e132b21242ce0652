// SPDX-License-Identifier: Apache-2.0
//
// Building the regions of pointwise ops.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include <optional>

namespace penstock::transforms {

/// Gives `map` its block, with the arguments its inputs and result ask for, and
/// sets the insertion point into it.
mlir::Block *startBody(mlir::OpBuilder &builder, pipe::MapOp map);

/// Copies the ops of `body` but the terminator to the insertion point, with
/// `arguments` for the block's arguments, and returns what it would yield. Of
/// several copies, `copy` is the number of this one (see numberDrawn).
llvm::SmallVector<mlir::Value> cloneBody(mlir::OpBuilder &builder, mlir::Block &body,
                                         llvm::ArrayRef<mlir::Value> arguments,
                                         std::optional<int64_t> copy = std::nullopt);

/// Returns whether `load` stands in the body of `map` and reads inside of its tensor, as far as is
/// plain to see.
bool readsInside(pipe::MapOp map, pipe::LoadOp load);

} // namespace penstock::transforms
