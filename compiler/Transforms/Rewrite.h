// SPDX-License-Identifier: Apache-2.0
//
// Patterns until none matches.
#pragma once

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

namespace penstock::transforms {

/// Applies `patterns` below `root` until none matches. Where they undo each other:
/// failure, with an error at the op that `pass` rewrites over and over.
///
/// A pattern that takes the last user from an op erases it: its operands have one
/// user less, and the driver tries their other users only in another round.
mlir::LogicalResult rewriteGreedily(mlir::Pass &pass, mlir::Operation *root,
                                    mlir::RewritePatternSet &&patterns);

} // namespace penstock::transforms
