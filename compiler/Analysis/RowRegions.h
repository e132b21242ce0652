// SPDX-License-Identifier: Apache-2.0
//
// Which rows a tile of output rows reads.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace penstock::analysis {

/// `op` reads rows of `read` (along `readAxis`) for rows of its result (along `axis`). Which ones,
/// is the op's: the same, a view's, those of neighbours or of taps.
struct RowStep {
  mlir::Operation *op;
  int64_t axis;
  mlir::Value read;
  int64_t readAxis;
};

/// From a kernel's outputs backwards to what it stores, along one axis of theirs.
struct RowRegions {
  llvm::MapVector<mlir::Value, int64_t>
      outputs; ///< those that read what is stored, and the axis in them
  llvm::MapVector<mlir::Value, int64_t> stored; ///< in the kernel's order
  llvm::SmallVector<RowStep> steps;             ///< readers first
  llvm::DenseSet<mlir::Value> same;             ///< stored, of which row i reads rows i alone
  bool isSame = true;                           ///< all that is stored
  int64_t around = 0;  ///< rows beside its own that a row reads at most, as far as windows tell
  bool isKnown = true; ///< whether they do
};

/// Where all outputs that depend on what `isStored` have equally many rows along `axis`, and it can
/// be told which rows of it these read; else null. Stored values stand in the kernel's own block.
std::optional<RowRegions> rowRegions(pipe::KernelOp kernel, llvm::StringRef axis,
                                     llvm::function_ref<bool(mlir::Operation *)> isStored);

} // namespace penstock::analysis
