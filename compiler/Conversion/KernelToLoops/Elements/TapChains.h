// SPDX-License-Identifier: Apache-2.0
//
// Like terms of a window's neighbours, combined one after the other.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/SetVector.h"
#include <vector>

namespace penstock::conversion {

/// A term, told apart from others by `shape` but for its holes.
struct TapTerm {
  std::vector<uintptr_t> shape;
  std::vector<mlir::Value> holes; ///< neighbours and constants
  llvm::SetVector<mlir::Operation *> ops;
  std::vector<std::pair<mlir::Operation *, unsigned>> places; ///< of the holes
  llvm::SetVector<mlir::Value> reads;                         ///< that the body computes
};

/// op(op(op(terms[0], terms[1]), terms[2]) ... of one shape, whose neighbours follow each other at
/// the distance `step`, but for those that are the same in all; behind `start`, if there is one.
struct TapChain {
  pipe::BinaryOp root;
  mlir::Value start;
  std::vector<TapTerm> terms;
  int64_t first = 0, step = 0, end = 0;

  /// Returns whether all terms read the same neighbour, such as the one in the middle.
  bool staysThere(size_t hole) const;
};

/// Of the body of a window with `count` neighbours.
class TapChains {
public:
  TapChains(mlir::Block &body, unsigned count) : body(body), count(count) {}

  bool isHere(mlir::Operation *op) const { return op && op->getBlock() == &body; }
  bool isNeighbour(mlir::Value value) const {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    return argument && argument.getOwner() == &body && argument.getArgNumber() < count;
  }
  static int64_t numberOf(mlir::Value neighbour) {
    return llvm::cast<mlir::BlockArgument>(neighbour).getArgNumber();
  }
  /// The terms that `root` ends with: from the first one on, or many behind others; false where
  /// they are not alike.
  bool find(pipe::BinaryOp root, TapChain &chain);

private:
  size_t alike(pipe::BinaryOp root, llvm::ArrayRef<mlir::Value> values, TapChain &chain,
               bool shares) const;
  size_t othersBefore(llvm::ArrayRef<mlir::Value> values, bool shares) const;
  bool read(mlir::Value value, TapTerm &term, bool shares, unsigned depth = 0) const;
  bool readHole(mlir::Value value, mlir::Operation *user, unsigned operand, TapTerm &term) const;

  mlir::Block &body;
  const unsigned count;
  llvm::DenseSet<mlir::Operation *> tooLong; ///< their first terms alone are alike
};

} // namespace penstock::conversion
