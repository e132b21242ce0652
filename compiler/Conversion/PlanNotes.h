// SPDX-License-Identifier: Apache-2.0
//
// Notes on a function for the plan.
#pragma once

#include "compiler/Conversion/KernelContract.h"

namespace penstock::conversion {

/// Leaves on `function` what the plan wants to know of a kernel and cannot see in its code: its
/// kind, the draws that it leaves in slots, and its checks in the order of their ids.
void keepForPlan(pipe::KernelOp kernel, mlir::func::FuncOp function);

/// A check as the plan wants it.
KeptCheck keptCheck(pipe::CheckOp op);

} // namespace penstock::conversion
