//===- Passes.h - from kernels to loops and to the LLVM dialect -----------===//
#ifndef PENSTOCK_COMPILER_CONVERSION_PASSES_H
#define PENSTOCK_COMPILER_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace penstock::conversion {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Conversion/Passes.h.inc"

} // namespace penstock::conversion

#endif
