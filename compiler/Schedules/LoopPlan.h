// SPDX-License-Identifier: Apache-2.0
//
// Which loops compute what is stored.
#pragma once

#include "compiler/Dialect/ScheduleDialect.h"
#include "compiler/Lane/Features.h"
#include "llvm/ADT/DenseSet.h"

namespace penstock::schedules {

/// What is stored where an op of a kernel stands: whoever asks goes through the ops in their order.
struct StoredValues {
  llvm::DenseSet<mlir::Value> inMemory;
  /// Results of a resampling whose rows are made when they are read.
  llvm::DenseSet<mlir::Value> rows;
};

/// Writes `loops` on all ops of a kernel whose results are stored element by element and that have
/// none, and `copies` on what stores others' results again.
void planLoops(pipe::KernelOp kernel, const lane::Features &has);

//===--- what loops are written for (LoopVersions.cpp) --------------------------------===//

/// Combinations of arms of choices below `tensor` that loops are written for.
int64_t armsOf(mlir::Value tensor, const StoredValues &stored);
/// The versions that loops over `tensor` may have, whose lanes lie along an axis of it.
llvm::SmallVector<llvm::StringRef> versionsOf(mlir::Value tensor, int64_t along,
                                              const StoredValues &stored);

} // namespace penstock::schedules
