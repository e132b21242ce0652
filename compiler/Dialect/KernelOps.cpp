//===- KernelOps.cpp - verifiers of kernels
//--------------------------------===//

#include "compiler/Dialect/PipeDialect.h"

using namespace mlir;
using namespace penstock::pipe;

Operation *penstock::pipe::codecOf(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (body.getOperations().size() != 2)
    return nullptr;
  Operation *op = &body.front();
  return llvm::isa<EncodeOp, RecompressOp>(op) &&
                 llvm::equal(op->getResults(), body.back().getOperands())
             ? op
             : nullptr;
}

LogicalResult KernelOp::verify() {
  if (!llvm::is_contained({"pixels", "codec", "rows", "select", "setup"}, getKind()))
    return emitOpError() << "has the unknown kind \"" << getKind() << "\"";
  if (getKind() != "pixels" && getKind() != "codec" && getBody().getNumArguments() != 0)
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
  if (getKind() == "codec" && !codecOf(*this))
    return emitOpError("of kind \"codec\" is not one codec whose results it returns");
  return success();
}
