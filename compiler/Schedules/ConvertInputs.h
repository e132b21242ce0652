// SPDX-License-Identifier: Apache-2.0
//
// What windows convert for every neighbour.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Converts the inputs of windows that take many neighbours as floats and are small integers: once
/// for each element, not for each that reads it. Returns the conversions, which are to be stored.
llvm::SmallVector<pipe::MapOp> convertInputs(pipe::KernelOp kernel);

} // namespace penstock::schedules
