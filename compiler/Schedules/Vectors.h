// SPDX-License-Identifier: Apache-2.0
//
// Elements that a GPU's thread makes together.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Says of what a kernel stores or returns how many elements along each axis a thread makes at once
/// (`vector = {c = 3 : i64, w = 4 : i64}`): the channels of a pixel, and neighbours along a row,
/// where they share weights or loads. In kernels without passes, what is made of rows that no box
/// fits is made in strips (Strips.h; `inTurns`).
void chooseVectors(pipe::KernelOp kernel, bool inPasses, bool inTurns);

} // namespace penstock::schedules
