// SPDX-License-Identifier: Apache-2.0
//
// From kernels to loops and to the LLVM dialect.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace penstock::conversion {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Conversion/Passes.h.inc"

} // namespace penstock::conversion
