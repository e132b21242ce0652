//===- CheapOps.h - what is computed again sooner than stored ---*- C++ -*-===//
#ifndef PENSTOCK_COMPILER_DIALECT_CHEAPOPS_H
#define PENSTOCK_COMPILER_DIALECT_CHEAPOPS_H

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::pipe {

/// Whether an element of `op` takes a few simple operations: a cast, or a map of at most four.
bool isCheap(mlir::Operation *op);

} // namespace penstock::pipe

#endif
