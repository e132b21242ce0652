//===- ConvertInputs.h - what windows convert for every neighbour --*- C++ -*-===//
#ifndef PENSTOCK_SCHEDULES_CONVERTINPUTS_H
#define PENSTOCK_SCHEDULES_CONVERTINPUTS_H

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Converts the inputs of windows that take many neighbours as floats and are small integers: once
/// for each element, not for each that reads it. Returns the conversions, which are to be stored.
llvm::SmallVector<pipe::MapOp> convertInputs(pipe::KernelOp kernel);

} // namespace penstock::schedules

#endif
