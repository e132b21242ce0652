// SPDX-License-Identifier: Apache-2.0
//
// Reductions in the body of a window.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace penstock::schedules {

/// A body's operations on one neighbour, operands first, and how they look.
struct WindowTerm {
  mlir::BlockArgument neighbour;
  llvm::SetVector<mlir::Operation *> operations;
  std::vector<uintptr_t> shape;

  /// Of what they make of an element of `input`.
  mlir::Type type(pipe::NamedTensorType input) const {
    return operations.empty() ? input.getElementType() : operations.back()->getResult(0).getType();
  }
};

/// A reduction of terms that are alike, of neighbours that follow each other. Their order changes
/// nothing: a minimum, a maximum, a sum of integers or of bits, or the place of the first least or
/// greatest one.
struct WindowReduction {
  mlir::Operation *root = nullptr;
  pipe::BinaryKind kind{};
  llvm::SmallVector<WindowTerm> terms;
  bool isPlace = false; ///< counted from 0; `kind` is min or max

  mlir::Type type() const { return root->getResult(0).getType(); }

  int64_t first() const { return terms[0].neighbour.getArgNumber(); }
  int64_t count() const { return static_cast<int64_t>(terms.size()); }
};

/// A window whose body reads its neighbours for a few reductions, and else the one in the middle
/// alone.
struct ReducedWindow {
  pipe::WindowOp op;
  llvm::SmallVector<WindowReduction> reductions;
  llvm::SmallVector<mlir::Operation *> rest; ///< operations that use their results
  bool readsMiddle = false;

  int64_t along(size_t axis) { return op.getHigh()[axis] - op.getLow()[axis] + 1; }
  /// Replaces the window by a map of what else its body does, on `results` of its reductions, in
  /// their order, and on the element in the middle.
  void putTogether(llvm::ArrayRef<mlir::Value> results);
};

/// Nothing where the body is another one.
std::optional<ReducedWindow> reducedWindow(pipe::WindowOp op);

} // namespace penstock::schedules
