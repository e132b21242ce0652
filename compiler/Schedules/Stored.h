// SPDX-License-Identifier: Apache-2.0
//
// Which values are computed once and kept.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace penstock::schedules {

/// Visits the definitions of a kernel that any schedule stores: a value is
/// recomputed at every read unless that costs more than storing it. Things that
/// only move data, and arithmetic read once per element, stay inline; what a
/// window, a resampling or a gather reads several times is stored, unless it
/// only moves data.
/// \param pixelsTogether  the schedule makes the channels of a pixel at once, and
///                        each element of a map once.
void forEachStored(pipe::KernelOp kernel, bool pixelsTogether,
                   llvm::function_ref<void(mlir::Operation &)> visit);

/// Visits the small reductions that are computed where they are read: no more often than
/// storing them would.
void forEachInline(pipe::KernelOp kernel, bool pixelsTogether,
                   llvm::function_ref<void(mlir::Operation &)> visit);

} // namespace penstock::schedules
