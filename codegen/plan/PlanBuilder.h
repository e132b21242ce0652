// SPDX-License-Identifier: Apache-2.0
//
// The pipeline op after the split, as a plan.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <vector>

namespace penstock::codegen {

/// Turns the `pipe.pipeline` of `module` into the bytes of a plan
/// (runtime/abi/plan.fbs). The module is at stage `loops`: kernels are
/// functions whose attributes tell their kind, scratch, draws and checks.
///
/// Kernels are known by name; the runtime finds them in the image. Emits an
/// error at the offending op and fails where the form is not that of the split
/// (docs/rationale/ir.md).
mlir::FailureOr<std::vector<uint8_t>> buildPlan(mlir::ModuleOp module,
                                                llvm::StringRef compilerVersion);

} // namespace penstock::codegen
