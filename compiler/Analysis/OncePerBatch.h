// SPDX-License-Identifier: Apache-2.0
//
// Values that are the same for all samples of a batch.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace penstock::analysis {

/// The values of a pipeline without branches that do not differ between the samples of
/// a batch: they follow from parameters, draws of the batch, and the values of all
/// samples together (`pipe.peers`).
class OncePerBatch {
public:
  /// \param guards  the conditions of ops that stood in an arm. An op of the batch that
  ///                is computed once loses one that differs between samples: it is total,
  ///                and any sample may read it.
  OncePerBatch(mlir::ArrayRef<mlir::Block *> blocks,
               llvm::DenseMap<mlir::Operation *, mlir::Value> &guards);

  /// Returns whether a value is the same for all samples.
  bool isSame(mlir::Value value) const { return same.contains(value.getDefiningOp()); }
  /// Returns whether `op`, of the batch block, makes such a value.
  bool isOfBatch(mlir::Operation *op) const {
    return same.contains(op) && llvm::isa<pipe::BatchOp>(op->getParentOp());
  }
  /// Returns whether it then runs for one sample only: an output has a value for each.
  bool isOnce(mlir::Operation *op) const {
    return isOfBatch(op) && llvm::none_of(op->getUsers(), [](mlir::Operation *user) {
             return llvm::isa<pipe::OutputOp>(user);
           });
  }

private:
  llvm::DenseSet<mlir::Operation *> same;
};

} // namespace penstock::analysis
