// SPDX-License-Identifier: Apache-2.0
//
// What only the column decides, once per sample.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Takes arithmetic out of the maps of a kernel that depends on one coordinate alone,
/// that of the innermost long axis: maps over this axis make it, and are returned, to
/// be stored; the maps that had it read them. Lanes lie along this axis, so every row
/// would repeat it, while terms of other coordinates leave the loop over lanes anyway.
llvm::SmallVector<pipe::MapOp> splitColumnTerms(pipe::KernelOp kernel);

} // namespace penstock::schedules
