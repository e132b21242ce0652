// SPDX-License-Identifier: Apache-2.0
//
// Terms that rows or columns of elements share, once for all of them.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Takes arithmetic out of the maps and gathers of a kernel that depends on some of their axes
/// only: maps over these axes make it, and are returned, to be stored; those that had it read
/// them. What depends on the axis that lanes lie along, or takes long and comes from memory, would
/// be repeated otherwise; other terms leave the loop over lanes anyway.
llvm::SmallVector<pipe::MapOp> splitSharedTerms(pipe::KernelOp kernel);

} // namespace penstock::schedules
