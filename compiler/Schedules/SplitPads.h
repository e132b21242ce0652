// SPDX-License-Identifier: Apache-2.0
//
// Borders that are stored by themselves.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Pads along lanes, of known extents, become what is joined of a border, the tensor and another
/// border: a vector that has elements of both would collect them one by one. Returns the joins.
llvm::SmallVector<pipe::ConcatOp> splitPads(pipe::KernelOp kernel);

} // namespace penstock::schedules
