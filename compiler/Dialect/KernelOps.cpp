//===- KernelOps.cpp - verifiers of kernels
//--------------------------------===//

#include "compiler/Dialect/PipeDialect.h"

using namespace mlir;
using namespace penstock::pipe;

LogicalResult KernelOp::verify() {
  if (!llvm::is_contained({"pixels", "rows", "select", "setup"}, getKind()))
    return emitOpError() << "has the unknown kind \"" << getKind() << "\"";
  if (getKind() != "pixels" && getBody().getNumArguments() != 0)
    return emitOpError() << "of kind \"" << getKind()
                         << "\" takes no arguments";
  bool scalars = false;
  for (Type type : getBody().getArgumentTypes()) {
    if (scalars && llvm::isa<NamedTensorType>(type))
      return emitOpError("has a tensor argument after a scalar one");
    scalars |= isScalarType(type);
  }
  if (getBody().front().empty() ||
      !llvm::isa<ReturnOp>(getBody().front().back()))
    return emitOpError("does not end in pipe.return");
  return success();
}
