// SPDX-License-Identifier: Apache-2.0
//
// The lane dialect on each architecture -----*- C++.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace penstock::conversion {

/// The instructions of x86-64 for the ops of the lane dialect, for vectors of 16, 32 and
/// 64 bytes. Which of them a level has, codegen/cpu checks.
void populateLaneToLLVMPatterns(mlir::RewritePatternSet &patterns);

} // namespace penstock::conversion
