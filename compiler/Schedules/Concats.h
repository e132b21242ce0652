// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are joined along the axis of lanes.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Returns the concats that are read by vectors that hold elements of two parts, where each part
/// would be looked into for each lane. They are to be stored, part by part.
llvm::SmallVector<pipe::ConcatOp> concatsAlongLanes(pipe::KernelOp kernel);

} // namespace penstock::schedules
