// SPDX-License-Identifier: Apache-2.0
//
// Values that views read several times.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Returns what takes long for each element and is read by views that have each several times, such
/// as overlapping frames, so that it is to be stored.
llvm::SmallVector<mlir::Operation *> rereadValues(pipe::KernelOp kernel);

} // namespace penstock::schedules
