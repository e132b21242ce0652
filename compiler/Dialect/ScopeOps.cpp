// SPDX-License-Identifier: Apache-2.0
//
// Verifiers of branches, loops and batches.
#include "compiler/Dialect/PipeDialect.h"

using namespace mlir;
using namespace penstock::pipe;

static LogicalResult verifyYields(Operation *op, Region &region, TypeRange wanted) {
  Operation *terminator = region.front().getTerminator();
  if (!llvm::isa<YieldOp>(terminator) || !llvm::equal(terminator->getOperandTypes(), wanted))
    return op->emitOpError("has a region that yields other types than the results");
  return success();
}

LogicalResult ChooseOp::verify() {
  if (getArms().empty()) // C1
    return emitOpError("has no arm");
  for (Region &arm : getArms())
    if (failed(verifyYields(*this, arm, getResultTypes())))
      return failure();
  return success();
}

LogicalResult RepeatOp::verify() {
  SmallVector<Type> wanted{IntegerType::get(getContext(), 64)};
  llvm::append_range(wanted, getResultTypes());
  if (!llvm::equal(getInits().getTypes(), getResultTypes()) ||
      !llvm::equal(getBody().getArgumentTypes(), wanted)) // C1
    return emitOpError("carries other types than its results");
  return verifyYields(*this, getBody(), getResultTypes());
}

LogicalResult SearchOp::verify() {
  auto accept = llvm::dyn_cast<AcceptOp>(getBody().front().getTerminator());
  if (!accept || !llvm::equal(accept.getValues().getTypes(), getResultTypes())) // C1
    return emitOpError("accepts other types than its results");
  if (getBody().getNumArguments() != 1 || !getBody().getArgument(0).getType().isInteger(64))
    return emitOpError("has a body whose argument is not the i64 number of the try");
  return verifyYields(*this, getOtherwise(), getResultTypes());
}

LogicalResult EachOp::verify() {
  Operation *terminator = getBody().front().getTerminator();
  if (terminator->getNumOperands() != getNumResults())
    return emitOpError("yields another number of values than it has results");
  for (auto [yielded, result] : llvm::zip(terminator->getOperandTypes(), getResultTypes())) {
    auto view = llvm::dyn_cast<NamedTensorType>(yielded);
    auto all = llvm::cast<NamedTensorType>(result);
    const bool fits = view && all.getRank() == view.getRank() + 1 &&
                      all.getElementType() == view.getElementType() &&
                      all.getAxes().drop_front() == view.getAxes() &&
                      all.getAxes().front().name == getAxis() &&
                      all.getAxes().front().extent == static_cast<int64_t>(getViews());
    if (!fits) // C1
      return emitOpError() << "yields " << yielded << " for " << all;
  }
  return success();
}

LogicalResult PeerOp::verify() {
  if (getValue().getType() != getResult().getType()) // C1
    return emitOpError() << "reads " << getValue().getType() << " as " << getResult().getType();
  if (!(*this)->getParentOfType<BatchOp>())
    return emitOpError("stands outside a batch");
  return success();
}

LogicalResult PeersOp::verify() {
  if (!(*this)->getParentOfType<BatchOp>()) // C1
    return emitOpError("stands outside a batch");
  auto value = llvm::cast<NamedTensorType>(getValue().getType());
  auto all = llvm::cast<NamedTensorType>(getResult().getType());
  const bool fits = value.isStatic() && all.getRank() == value.getRank() + 1 &&
                    all.getElementType() == value.getElementType() &&
                    all.getAxes().drop_front() == value.getAxes() &&
                    all.getAxes().front().name == getAxis();
  if (!fits) // C2
    return emitOpError() << "reads " << value << " of every sample as " << all;
  return success();
}

LogicalResult OutputOp::verify() {
  auto tensor = llvm::dyn_cast<NamedTensorType>(getValue().getType());
  const size_t rank = tensor ? tensor.getAxes().size() : 0;
  if (getAxes().size() != rank + 1 || getStored().size() != rank + 1)
    return emitOpError() << "declares " << getAxes().size() << " axes for a value with " << rank;
  const size_t dynamic = tensor ? tensor.dynamicAxes().size() : 0;
  if (getSizes().size() != dynamic)
    return emitOpError() << "has " << getSizes().size() << " sizes for " << dynamic
                         << " dynamic axes";
  const size_t counts = getCounts().size();
  auto entries = [](auto list) { return list ? list->size() : 0; };
  const size_t limits = getLimits() ? getLimits()->size() : 0;
  if (entries(getCounted()) != counts || limits != counts || entries(getMessages()) != counts) // C2
    return emitOpError() << "has " << counts
                         << " counts with other numbers of axes, limits and "
                            "messages";
  for (size_t i = 0; i < counts; ++i) {
    auto type = llvm::cast<NamedTensorType>(getCounts()[i].getType());
    if (!tensor || type.getRank() != 0 || !type.getElementType().isSignlessInteger(64) ||
        tensor.axisIndex(llvm::cast<StringAttr>((*getCounted())[i])) < 0)
      return emitOpError("counts elements of an axis that it does not have, or "
                         "not in i64");
  }
  if (auto fill = getFillAttr();
      fill && (!tensor || !getRagged() || fill.getType() != tensor.getElementType())) // C3
    return emitOpError("is filled up with what is no element of it, or not ragged");
  if (!tensor)
    return success();
  for (const Axis &axis : tensor.getAxes())
    if (!axis.isStatic() && (axis.bound < 0 || !getRagged())) // C1
      return emitOpError() << "has axis `" << axis.name
                           << "` of unknown extent; it must be static, or bounded and ragged";
  return success();
}
