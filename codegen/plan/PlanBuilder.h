//===- PlanBuilder.h - the pipeline op after the split, as a plan
//----------===//
#ifndef PENSTOCK_CODEGEN_PLAN_PLANBUILDER_H
#define PENSTOCK_CODEGEN_PLAN_PLANBUILDER_H

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <cstdint>
#include <vector>

namespace penstock::codegen {

/// What the plan needs to know about one kernel of the image.
struct KernelEntry {
  uint64_t offset = 0;
};

/// Turns the `pipe.pipeline` of `module` into the bytes of a plan
/// (runtime/abi/plan.fbs). The module is at stage `kernels` or later, as long
/// as it still holds the pipeline op.
///
/// `entries` says where each kernel, by symbol name, lies in the image. Emits
/// an error at the offending op and fails where the form is not that of the
/// split (docs/rationale/ir.md).
mlir::FailureOr<std::vector<uint8_t>>
buildPlan(mlir::ModuleOp module, const llvm::StringMap<KernelEntry> &entries,
          llvm::StringRef compilerVersion);

} // namespace penstock::codegen

#endif
