// SPDX-License-Identifier: Apache-2.0
//
// The lane dialect on each architecture.
#pragma once

#include "mlir/IR/PatternMatch.h"
#include "runtime/abi/level.h"

namespace penstock::conversion {

/// The instructions of x86-64 for the ops of the lane dialect, for vectors of 16, 32 and
/// 64 bytes. Which of them a level has, codegen/cpu checks.
void populateX86Patterns(mlir::RewritePatternSet &patterns);
/// Those of Neon, for vectors of 16 bytes.
void populateNeonPatterns(mlir::RewritePatternSet &patterns);

/// Those of the architecture that a level is of.
inline void populateLaneToLLVMPatterns(mlir::RewritePatternSet &patterns, int64_t number) {
  switch (level::architectureOf(number)) {
  case level::Architecture::x86:
    return populateX86Patterns(patterns);
  case level::Architecture::arm64:
    return populateNeonPatterns(patterns);
  }
}

} // namespace penstock::conversion
