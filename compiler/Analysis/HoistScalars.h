// SPDX-License-Identifier: Apache-2.0
//
// Moves scalars and what they depend on.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::analysis {

/// Moves `op` and the scalar ops that it depends on before `before`, which
/// stands in the same block or a block around it. Returns false, moving
/// nothing, if it depends on a value defined after `before` that cannot move.
bool hoistScalars(mlir::Value value, mlir::Operation *before);

} // namespace penstock::analysis
