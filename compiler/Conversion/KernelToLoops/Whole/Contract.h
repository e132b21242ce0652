// SPDX-License-Identifier: Apache-2.0
//
// Declarations that the files of matrix products share.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"

namespace penstock::conversion {

struct ContractShape {
  int64_t lane = -1, lanes = 1;   ///< axis of the result along which lanes lie
  int64_t block = -1, blocks = 1; ///< axis of the result of which so many are made at a time
};

/// Elements of the result, at places that share what they read.
llvm::SmallVector<LaneValue> contractAt(const Site &site, pipe::ContractOp op,
                                        const ContractShape &shape,
                                        llvm::ArrayRef<llvm::SmallVector<Index>> at);

/// A product with a matrix whose columns are 0 but for a run of rows each, such as bands of
/// frequencies. Lanes lie along an axis of the value that stays, `axis` of the result, and its
/// rows are transposed for that.
class Bands {
public:
  Bands(pipe::ContractOp op, const ContractShape &shape, int64_t lanes);

  /// Finds the runs, once for all places of the result.
  mlir::LogicalResult find(const Site &site);
  /// Rows of the result from `first` on that are made together.
  int64_t together() const { return lanes; }
  /// Transposes those rows of the value. Returns whether the matrix is of that kind, and they are
  /// finite: a product with 0 is 0 then.
  mlir::Value read(const Site &site, llvm::ArrayRef<Index> at, mlir::Value first) const;
  /// Makes those rows of the result, behind read().
  void write(const Site &site, const Buffer &to, llvm::ArrayRef<Index> at, mlir::Value first) const;

private:
  mlir::Value place(const Site &site, mlir::Value array, mlir::Value number, int64_t each) const;
  void findEnds(const Site &site) const;
  mlir::Value countRows(const Site &site) const;
  void copyRows(const Site &site) const;
  void forEachSquare(const Site &site, int64_t count,
                     llvm::function_ref<void(mlir::Value)> body) const;
  mlir::Value sum(const Site &site, mlir::Value band) const;
  mlir::Value shortSum(const Site &site, mlir::Value first, mlir::Value from, int64_t count) const;
  mlir::Value longSum(const Site &site, mlir::Value first, mlir::Value from,
                      mlir::Value count) const;

  mlir::Value value, matrix;
  mlir::Type element;
  int64_t lanes, size;
  int64_t axis, column; ///< of the result: where lanes lie, and columns of the matrix
  int64_t from;         ///< of the value: what is summed
  int64_t rows, columns;
  mlir::Value isBanded;
  mlir::Value ends;               ///< of each column: the first row, and the last
  mlir::Value starts, counts;     ///< of each column: the first row, and how many are gone through
  mlir::Value weights, weightsAt; ///< the rows of one column behind the other, and where they begin
  mlir::Value panel, made;        ///< rows of the value, transposed, and of the result
};

} // namespace penstock::conversion
