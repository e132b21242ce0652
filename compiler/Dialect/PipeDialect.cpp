// SPDX-License-Identifier: Apache-2.0
//
// Registration, remarks, extents.
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;

#include "compiler/Dialect/KernelInterfaces.cpp.inc"
#include "compiler/Dialect/PipeDialect.cpp.inc"
#include "compiler/Dialect/PipeEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/PipeAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/Dialect/PipeOps.cpp.inc"

void PipeDialect::initialize() {
  registerTypes();
  getContext()->loadDialect<ScheduleDialect>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Dialect/PipeAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Dialect/PipeOps.cpp.inc"
      >();
}

Operation *PipeDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  auto typed = llvm::dyn_cast<TypedAttr>(value);
  if (!typed || !(isScalarType(type) || llvm::isa<NamedTensorType>(type)))
    return nullptr;
  return builder.create<ConstantOp>(loc, type, typed);
}

LogicalResult penstock::pipe::verifySizes(Operation *op) {
  size_t dynamic = 0;
  for (Type type : op->getResultTypes())
    if (auto tensor = llvm::dyn_cast<NamedTensorType>(type))
      dynamic += tensor.dynamicAxes().size();
  const size_t sizes = llvm::cast<SizedOpInterface>(op).getSizes().size();
  if (sizes != dynamic)
    return op->emitOpError() << "has " << sizes << " sizes for " << dynamic << " dynamic axes";
  return success();
}

OpFoldResult penstock::pipe::extentOf(Value value, int64_t axis) {
  auto type = llvm::cast<NamedTensorType>(value.getType());
  const Axis &wanted = type.getAxes()[axis];
  if (wanted.isStatic())
    return Builder(value.getContext()).getI64IntegerAttr(wanted.extent);
  Operation *op = value.getDefiningOp();
  if (!op) {
    // Tensors that a repeat carries have the extents of its results.
    auto argument = llvm::cast<BlockArgument>(value);
    if (auto repeat = llvm::dyn_cast_or_null<RepeatOp>(argument.getOwner()->getParentOp()))
      return extentOf(repeat->getResult(argument.getArgNumber() - 1), axis);
    return {};
  }
  if (auto peer = llvm::dyn_cast<PeerOp>(op))
    return extentOf(peer.getValue(), axis);
  if (auto chosen = llvm::dyn_cast<SwitchOp>(op))
    return extentOf(chosen.getInputs().front(), axis);
  // Sizes stand in the order of the dynamic axes of all results.
  size_t position = 0;
  for (Value result : op->getResults()) {
    auto resultType = llvm::dyn_cast<NamedTensorType>(result.getType());
    if (!resultType)
      continue;
    for (int64_t dynamic : resultType.dynamicAxes()) {
      if (result == value && dynamic == axis)
        return llvm::cast<SizedOpInterface>(op).getSizes()[position];
      ++position;
    }
  }
  return {};
}

Value penstock::pipe::extentValue(OpBuilder &builder, Location loc, Value value, int64_t axis) {
  OpFoldResult extent = extentOf(value, axis);
  if (!extent)
    return builder.create<ExtentOp>(
        loc, builder.getI64Type(), value,
        builder.getStringAttr(llvm::cast<NamedTensorType>(value.getType()).getAxes()[axis].name));
  if (auto dynamic = llvm::dyn_cast<Value>(extent))
    return dynamic;
  auto attribute = llvm::cast<IntegerAttr>(llvm::cast<Attribute>(extent));
  return builder.create<ConstantOp>(loc, builder.getI64Type(), attribute);
}

void penstock::pipe::addRemark(Operation *op, StringRef pass, const Twine &text) {
  SmallVector<Attribute> remarks;
  if (auto present = op->getAttrOfType<ArrayAttr>("pipe.remarks"))
    remarks.append(present.begin(), present.end());
  Builder builder(op->getContext());
  auto remark =
      RemarkAttr::get(op->getContext(), builder.getStringAttr(pass), builder.getStringAttr(text));
  if (!llvm::is_contained(remarks, remark))
    remarks.push_back(remark);
  op->setAttr("pipe.remarks", builder.getArrayAttr(remarks));
}
