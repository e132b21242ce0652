// SPDX-License-Identifier: Apache-2.0
//
// Windows whose results are read across their rows.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Returns what is computed of windows and read by views that turn rows into columns. It is to be
/// stored: lanes across rows would collect each neighbour of each of their elements by itself.
llvm::SmallVector<mlir::Operation *> turnedWindows(pipe::KernelOp kernel);

} // namespace penstock::schedules
