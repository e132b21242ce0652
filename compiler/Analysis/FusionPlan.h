// SPDX-License-Identifier: Apache-2.0
//
// Which ops share a kernel.
#pragma once

#include "compiler/Analysis/OncePerBatch.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <vector>

namespace penstock::analysis {

/// A piece of a pipeline's DAG that becomes one kernel.
struct FusionGroup {
  /// In program order, all of one block.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Groups of a lower level run first; only those are read.
  int64_t level = 0;
  /// Made on the host: tap tables and small tables of setup.
  bool weights = false;
  /// One op for which the runtime stands in.
  bool codec = false;
  /// The condition under which its arm runs, or null.
  mlir::Value guard;
  /// The same for all samples of a batch: computed for the first of them.
  bool once = false;
  /// The host runs it, though a GPU could.
  bool host = false;
};

/// The rule of docs/rationale/fusion.md for the ops of `blocks` (a pipeline's
/// body, then its batch). `guards` gives the condition of ops that stood in an
/// arm, `once` what the samples of a batch share, `host` what does not run on a GPU: no kernel has
/// ops of both kinds. With `everyOp`, each op is a group of its own; with `device`, a picture that
/// is resized is complete before it is resized again, as a GPU's blocks make tiles of one resizing.
///
/// Deterministic: groups are ordered by level, then by their first op.
std::vector<FusionGroup> planFusion(llvm::ArrayRef<mlir::Block *> blocks,
                                    const llvm::DenseMap<mlir::Operation *, mlir::Value> &guards,
                                    const OncePerBatch &once,
                                    const llvm::DenseSet<mlir::Operation *> &host, bool everyOp,
                                    bool device = false);

/// Values that `op` reads, also inside its regions, but not at the element's
/// own place: captured tables, and the input of a gather. They are
/// materialised before `op` runs.
bool readsMaterialised(mlir::Operation *op, mlir::Value value);
/// Returns whether `op` joins more values than a kernel makes and joins: it reads them from
/// memory, so that equal ones are made by one kernel.
bool isWideJoin(mlir::Operation *op);

} // namespace penstock::analysis
