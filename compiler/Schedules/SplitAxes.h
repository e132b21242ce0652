// SPDX-License-Identifier: Apache-2.0
//
// Axes whose places are taken apart.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Outputs whose places are divided, such as patches whose pixels were merged to one axis, are made
/// with an axis for each digit of these places, in the same order in memory. Returns the maps.
llvm::SmallVector<pipe::MapOp> splitAxes(pipe::KernelOp kernel);

/// Does so with maps that are to be stored, as a whole op reads them, and returns the views that
/// put the axes together again: these are to be stored, which lie in the same order.
llvm::SmallVector<pipe::ViewOp> splitStoredAxes(pipe::KernelOp kernel);

} // namespace penstock::schedules
