// SPDX-License-Identifier: Apache-2.0
//
// Ops that are computed again sooner than stored.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::pipe {

/// Returns whether an element of `op` takes a few simple operations: a cast, or a map of at most
/// four.
bool isCheap(mlir::Operation *op);

} // namespace penstock::pipe
