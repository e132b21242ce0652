// SPDX-License-Identifier: Apache-2.0
//
// Parts of a body that tables hold, over some axes of what the body makes.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace penstock::schedules {

/// The operations of `body` that make `value`, operands first.
llvm::SetVector<mlir::Operation *> operationsFor(mlir::Block &body, mlir::Value value);

/// Returns whether a table over some `axes` of `domain`, with so many bytes for each element, is
/// worth a store and loads: enough elements of the domain read each of the table's, and a near
/// cache holds it. Its extents are known when compiling.
bool isWorthATable(pipe::NamedTensorType domain, const llvm::SmallBitVector &axes, int64_t bytes);

} // namespace penstock::schedules
