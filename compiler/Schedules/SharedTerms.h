// SPDX-License-Identifier: Apache-2.0
//
// Terms that rows or columns of elements share, once for all of them.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Takes arithmetic and draws out of the maps and gathers of a kernel that depend on some of their
/// axes only: maps over these axes make them, in front of what had them, or of the choice or loop
/// that this is a part of, and are returned, to be stored. What depends on the axis that lanes lie
/// along, or takes long, would be repeated otherwise; other terms leave the loop over lanes anyway.
llvm::SmallVector<pipe::MapOp> splitSharedTerms(pipe::KernelOp kernel);

} // namespace penstock::schedules
