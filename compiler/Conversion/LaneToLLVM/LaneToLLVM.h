//===- LaneToLLVM.h - the lane dialect on each architecture -----*- C++ -*-===//
#ifndef PENSTOCK_COMPILER_CONVERSION_LANETOLLVM_LANETOLLVM_H
#define PENSTOCK_COMPILER_CONVERSION_LANETOLLVM_LANETOLLVM_H

#include "mlir/IR/PatternMatch.h"

namespace penstock::conversion {

/// The instructions of x86-64 for the ops of the lane dialect, for vectors of 16, 32 and
/// 64 bytes. Which of them a level has, codegen/cpu checks.
void populateLaneToLLVMPatterns(mlir::RewritePatternSet &patterns);

} // namespace penstock::conversion

#endif
