// SPDX-License-Identifier: Apache-2.0
//
// Kernels that go by tiles of rows.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Takes "scratch" from what is cheaper to compute again out of a kernel's inputs, where all of the
/// kernel treats rows alone.
void keepCheapMapsApart(pipe::KernelOp kernel);

/// The rows of a tile that goes through all of a kernel before the next one, so that what it reads
/// several times stays near; null where all of it does, or rows need each other.
std::optional<int64_t> rowTileOf(pipe::KernelOp kernel);

} // namespace penstock::schedules
