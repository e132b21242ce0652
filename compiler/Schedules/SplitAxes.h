// SPDX-License-Identifier: Apache-2.0
//
// Axes whose places are taken apart.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Outputs whose places are divided, such as patches whose pixels were merged to one axis, are made
/// with an axis for each digit of these places, in the same order in memory. Returns the maps.
llvm::SmallVector<pipe::MapOp> splitAxes(pipe::KernelOp kernel);

} // namespace penstock::schedules
