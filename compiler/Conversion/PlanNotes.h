// SPDX-License-Identifier: Apache-2.0
//
// What the plan asks of a function -----------*- C++.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::conversion {

/// Notes on `function` what the plan wants to know of a kernel and cannot see in its code: its
/// kind, the draws that it leaves in slots, and its checks in the order of their ids.
void keepForPlan(pipe::KernelOp kernel, mlir::func::FuncOp function);

/// How many checks a function has that was a kernel.
int64_t checkCount(mlir::Operation *function);

} // namespace penstock::conversion
