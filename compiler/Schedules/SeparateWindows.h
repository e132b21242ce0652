// SPDX-License-Identifier: Apache-2.0
//
// A window's rows first, then its columns.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Splits the windows of a kernel that reduce all their neighbours along two axes: a minimum, a
/// maximum, a sum of integers or of bits, of the neighbours or of what a body makes of each alone.
/// One window goes along the first axis, whose results are returned to say why they are there,
/// and one along the second: 7 x 7 neighbours take 7 + 7 steps. What else the body does, with the
/// element in the middle, becomes a map. Sums of floats have an order, and stay.
llvm::SmallVector<pipe::WindowOp> separateWindows(pipe::KernelOp kernel);

} // namespace penstock::schedules
