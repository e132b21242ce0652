// SPDX-License-Identifier: Apache-2.0
//
// One kernel as loops over threads.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::conversion {

/// Emits the body of a kernel as what the threads of one sample do: nests of
/// `scf.parallel`, whose elements are distributed over the threads, and barriers
/// between them. Arithmetic stays in the scalar ops of the dialect: what they
/// mean is the business of whoever prints them.
///
/// As in KernelToLoops, a tensor is a function of its indices, and what a
/// schedule stores is computed once, where it stands. Checks get the ids from
/// `nextCheck` on.
mlir::LogicalResult emitGpuKernel(pipe::KernelOp kernel, mlir::func::FuncOp function,
                                  int64_t &nextCheck);

} // namespace penstock::conversion
