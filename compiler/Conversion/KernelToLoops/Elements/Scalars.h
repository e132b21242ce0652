// SPDX-License-Identifier: Apache-2.0
//
// Scalar ops, keys, draws and checks.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"

namespace penstock::conversion {

/// Returns the value emitted for a scalar of the kernel, if it was computed.
std::optional<LaneValue> boundScalar(const Site &site, mlir::Value value);
/// The same; coordinates become numbers when somebody asks.
LaneValue scalarOf(const Site &site, mlir::Value value);
/// Emits all ops of a body; its arguments have their values.
void emitBlock(const Site &site, mlir::Block &block);
mlir::LogicalResult emitScalarOp(const Site &site, mlir::Operation &op);

} // namespace penstock::conversion
