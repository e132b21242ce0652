//===- TensorType.h - the type of a value that is a tensor -----*- C++ -*-===//
#ifndef PENSTOCK_COMPILER_CONVERSION_TENSORTYPE_H
#define PENSTOCK_COMPILER_CONVERSION_TENSORTYPE_H

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::conversion {

inline pipe::NamedTensorType typeOf(mlir::Value tensor) {
  return llvm::cast<pipe::NamedTensorType>(tensor.getType());
}

} // namespace penstock::conversion

#endif
