// SPDX-License-Identifier: Apache-2.0
//
// Which boxes of a kernel's inputs a value reads.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/MapVector.h"

namespace penstock::analysis {

/// `op` reads a box of `read` for a box of its result. By axis of `read`: the axis of the result
/// that tells which places along it, as the op says; -1: all of them.
struct BoxStep {
  mlir::Operation *op;
  mlir::Value read;
  llvm::SmallVector<int64_t> axes;
};

struct InputBox {
  /// By axis of the input and axis of the value: whether the places along the one depend on those
  /// along the other.
  llvm::SmallVector<llvm::SmallVector<bool>> movesWith;
  bool isReadOften = false; ///< several times for each element, or by many of them
  bool isTable = false;     ///< a body loads elements of it: all may be read
};

/// From a value backwards to the kernel's inputs, through what is computed where it is read.
struct InputBoxes {
  llvm::SmallVector<BoxStep> steps; ///< readers first
  llvm::MapVector<mlir::Value, InputBox> inputs;
};

/// The boxes that `value`, of the kernel's own block, reads; without inputs of which it cannot be
/// told, and none where it has no elements. What `isStored` ends the way.
InputBoxes inputBoxes(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> isStored);

} // namespace penstock::analysis
