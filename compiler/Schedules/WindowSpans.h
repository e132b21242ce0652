// SPDX-License-Identifier: Apache-2.0
//
// Wide windows by spans of their rows.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// What wide windows reduce (WindowReductions.h) comes from spans of 4, 16, 64 ... neighbours along
/// each axis, reduced for every element of a row, borders included, out of four of the spans
/// before: a thousand neighbours take a dozen reads and five passes. Two spans of a minimum, a
/// maximum, or of bits may overlap; those of a sum follow each other. Of a place, keys are reduced
/// with their places below them. Returns what is to be stored.
llvm::SmallVector<mlir::Operation *> spanWindows(pipe::KernelOp kernel);

} // namespace penstock::schedules
