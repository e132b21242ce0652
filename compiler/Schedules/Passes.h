//===- Passes.h - schedules ------------------------------------------------===//
#ifndef PENSTOCK_COMPILER_SCHEDULES_PASSES_H
#define PENSTOCK_COMPILER_SCHEDULES_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace penstock::schedules {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Schedules/Passes.h.inc"

} // namespace penstock::schedules

#endif
