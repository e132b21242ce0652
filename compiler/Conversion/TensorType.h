// SPDX-License-Identifier: Apache-2.0
//
// The type of a value that is a tensor.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::conversion {

inline pipe::NamedTensorType typeOf(mlir::Value tensor) {
  return llvm::cast<pipe::NamedTensorType>(tensor.getType());
}

} // namespace penstock::conversion
