// SPDX-License-Identifier: Apache-2.0
//
// The passes from pipe to kernels.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace penstock::transforms {

#define GEN_PASS_DECL
#include "compiler/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Passes.h.inc"

} // namespace penstock::transforms
