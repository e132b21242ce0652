// SPDX-License-Identifier: Apache-2.0
//
// Values that are read in another order than that of their rows.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

struct MovedValue {
  mlir::Operation *made;
  llvm::StringRef reason; ///< a remark, behind "is computed once and stored in scratch memory: "
};

/// Returns what is to be stored because lanes do not lie along its rows where it is read, so that
/// each of them would compute its elements by itself: what is costly and turned, reversed or
/// padded, and the pixels that a resampling reads many times.
llvm::SmallVector<MovedValue> movedValues(pipe::KernelOp kernel);

} // namespace penstock::schedules
