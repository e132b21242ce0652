// SPDX-License-Identifier: Apache-2.0
//
// Schedules.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace penstock::schedules {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Schedules/Passes.h.inc"

} // namespace penstock::schedules
