// SPDX-License-Identifier: Apache-2.0
//
// Choices of several values, taken apart.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/SetVector.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace penstock::transforms {

/// Returns the ops of `body` that the values need.
llvm::SetVector<mlir::Operation *> neededIn(mlir::Block &body, llvm::ArrayRef<mlir::Value> values);

/// Replaces a choice by one for each group of its results. Each result is of one group, and no
/// group is empty. Arms keep what their group's results need; checks stay with the first group,
/// since they fail a sample once.
void splitChoice(pipe::ChooseOp choose, llvm::ArrayRef<llvm::SmallVector<unsigned>> groups,
                 mlir::RewriterBase &rewriter);

} // namespace penstock::transforms
