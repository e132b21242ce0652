// SPDX-License-Identifier: Apache-2.0
//
// Inputs that maps read again and again, laid out as they read them.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Gives maps transposed copies of inputs that they read once for each place of a further axis,
/// and whose elements lie apart along the axis of the lanes, the map's last one: the second matrix
/// of all pairs of rows. Returns the copies, which are to be stored, and the views that are there
/// already and are read so, also as the matrix of a product.
llvm::SmallVector<pipe::ViewOp> transposeInputs(pipe::KernelOp kernel);

} // namespace penstock::schedules
