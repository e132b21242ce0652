// SPDX-License-Identifier: Apache-2.0
//
// Inputs of a kernel whose outermost axis lanes go along.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/SetVector.h"

namespace penstock::analysis {

/// Elements of an input from one index of its outermost axis to the next, if it is dense; null for
/// a single axis and for extents that are not known.
std::optional<int64_t> denseOuterStep(pipe::NamedTensorType type);
/// The inputs whose outermost axis is gone along, one by one or backwards, where a tensor's axis
/// is, as far as what is in memory.
llvm::SetVector<mlir::Value> inputsAlongOuterAxis(mlir::Value tensor, int64_t axis,
                                                  llvm::function_ref<bool(mlir::Value)> isInMemory);

} // namespace penstock::analysis
