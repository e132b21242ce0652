//===- SomeRows.h - rows that go through a kernel together ------*- C++ -*-===//
#ifndef PENSTOCK_SCHEDULES_SOMEROWS_H
#define PENSTOCK_SCHEDULES_SOMEROWS_H

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Takes "scratch" from what is cheaper to compute again out of a kernel's inputs, where all of the kernel treats rows
/// alone.
void keepCheapMapsApart(pipe::KernelOp kernel);

/// How many rows go through all of a kernel before others, so that what it reads several times stays near; null
/// where all of it does, or rows need each other.
std::optional<int64_t> rowsAtATime(pipe::KernelOp kernel);

} // namespace penstock::schedules

#endif
