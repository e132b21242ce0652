// SPDX-License-Identifier: Apache-2.0
//
// Moves scalars and what they depend on.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::analysis {

/// Moves a value that is used in `before`, and the scalar ops that it depends on, out of it, to
/// stand before it. Returns false, moving nothing, if it depends on a value in there that cannot
/// move.
bool hoistScalars(mlir::Value value, mlir::Operation *before);

} // namespace penstock::analysis
