// SPDX-License-Identifier: Apache-2.0
//
// Ops that treat each row alone.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::pipe {

/// The axis of known extent that is outermost in all that `ops` make and at whose places each of
/// them reads what it makes there: rows, which need nothing of each other. Null for none.
std::optional<Axis> rowsOf(llvm::ArrayRef<mlir::Operation *> ops);

/// The same of all that a kernel computes, if all extents are known and nothing depends on which
/// row it is: then some rows can go through all of it before others.
std::optional<Axis> rowsOf(KernelOp kernel);

} // namespace penstock::pipe
