// SPDX-License-Identifier: Apache-2.0
//
// Terms that a window's body computes alike for many neighbours.
//
// The body of a window has its neighbours as arguments, so a sum over 63 x 63 of them
// is thousands of ops that differ in the argument and a constant only. These are found
// again as loops.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/SetVector.h"
#include <vector>

namespace penstock::conversion {

/// Of each sum, results[j] = combine of its start and term(t) for t = first + j, first + j + step
/// ... below `end`, in this order. Sums over the same neighbours have what their terms share in
/// common.
struct TapLoop {
  struct Sum {
    pipe::BinaryKind kind;
    llvm::SmallVector<mlir::Value> results;
    mlir::Operation *term; ///< of `first`; null where a hole is the term
    mlir::Value start;     ///< what it begins with; null: what changes nothing
  };
  llvm::SmallVector<Sum> sums;
  int64_t first = 0, step = 1, end = 0;
  /// A place in the term that differs from term to term: neighbour `t + offset`, or
  /// where there are constants, constants[t - first].
  struct Hole {
    int64_t offset = 0;
    std::vector<mlir::TypedAttr> constants;
    mlir::Type type;
  };
  std::vector<Hole> holes;
  /// The terms of `first`: their ops, in order. An operand that is a hole is given by
  /// `places`: (op, operand) to a hole; (null, sum) where a hole is the term.
  llvm::SetVector<mlir::Operation *> term;
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, size_t> places;
  /// Values that all terms read and the body computes, such as the mean that each differs from.
  llvm::SetVector<mlir::Value> reads;
  size_t after = 0; ///< so many of TapLoops::rest, which make that
};

/// A body as loops, in order, and the ops that are left, in order.
struct TapLoops {
  std::vector<TapLoop> loops;
  std::vector<mlir::Operation *> rest;
  llvm::SetVector<unsigned> neighbours; ///< arguments that `rest` reads
};

/// Of the body of a window with `count` neighbours.
TapLoops findTapLoops(mlir::Block &body, unsigned count);

} // namespace penstock::conversion
