// SPDX-License-Identifier: Apache-2.0
//
// Choices, loops and searches.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"

namespace penstock::conversion {

inline bool holdsTensor(mlir::Value value) {
  return llvm::isa<pipe::NamedTensorType>(value.getType());
}

void emitChoose(const Site &site, pipe::ChooseOp op);
void emitRepeat(const Site &site, pipe::RepeatOp op);
void emitSearch(const Site &site, pipe::SearchOp op);
mlir::LogicalResult openChoose(const Site &site, pipe::ChooseOp op);
mlir::LogicalResult materialiseRepeat(const Site &site, pipe::RepeatOp op);

/// A branch whose condition is the same in all lanes.
LaneValue branch(const Site &site, mlir::Value condition, mlir::Type element, bool vector,
                 llvm::function_ref<LaneValue()> onTrue, llvm::function_ref<LaneValue()> onFalse);

} // namespace penstock::conversion
