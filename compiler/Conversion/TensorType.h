// SPDX-License-Identifier: Apache-2.0
//
// The type of a value that is a tensor.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::conversion {

inline pipe::NamedTensorType typeOf(mlir::Value tensor) {
  return llvm::cast<pipe::NamedTensorType>(tensor.getType());
}

/// How many outer axes of a kernel's tensor lie where the runtime says: those outside of n, and
/// the outermost one, of a decoded region, of a batch, of a plane. A single axis is dense but where
/// n lies inside of it.
inline int64_t axesOfRuntime(pipe::NamedTensorType type, int64_t outsideBatch) {
  return type.getRank() == 1 ? outsideBatch : std::max<int64_t>(outsideBatch, 1);
}

} // namespace penstock::conversion
