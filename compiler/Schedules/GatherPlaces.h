// SPDX-License-Identifier: Apache-2.0
//
// Places of a gather that many of its elements share.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Makes maps of gathers whose places along an axis depend on some axes of the result only: which
/// elements are read there, and how near they are, is computed once, by maps over these axes,
/// which are returned, to be stored. The map that stands for the gather reads them, and loads.
llvm::SmallVector<pipe::MapOp> splitGatherPlaces(pipe::KernelOp kernel);

} // namespace penstock::schedules
