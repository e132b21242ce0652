// SPDX-License-Identifier: Apache-2.0
//
// Conversions that windows repeat for every neighbour.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Makes what windows make of each of their neighbours first, such as floats of small integers or
/// integers in the order of floats, once for each element and not for each that reads it. Returns
/// the conversions, which are to be stored.
llvm::SmallVector<pipe::MapOp> convertInputs(pipe::KernelOp kernel);

} // namespace penstock::schedules
