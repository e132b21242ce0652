// SPDX-License-Identifier: Apache-2.0
//
// Building scalar ops.
#include "compiler/Import/Values/Scalars.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::CastMode;
using penstock::pipe::Predicate;

static bool isInside(mlir::Value value, mlir::Block *block) {
  mlir::Block *at = value.getParentBlock();
  while (at) {
    if (at == block)
      return true;
    mlir::Operation *op = at->getParentOp();
    at = op ? op->getBlock() : nullptr;
  }
  return false;
}

bool Scalars::isElementLocal(mlir::Value value) const {
  return llvm::any_of(regions, [&](ElementRegion *r) { return isInside(value, r->block); });
}

mlir::OpBuilder Scalars::builderFor(mlir::ValueRange operands) {
  for (size_t i = regions.size(); i-- > 0;)
    for (mlir::Value operand : operands)
      if (isInside(operand, regions[i]->block))
        return endOf(regions[i]->block);
  return base;
}

mlir::Value Scalars::intConstant(int64_t value) {
  return base.create<pipe::ConstantOp>(here, base.getI64Type(), base.getI64IntegerAttr(value));
}

mlir::Value Scalars::constant(mlir::Type type, double value) {
  if (llvm::isa<mlir::FloatType>(type))
    return base.create<pipe::ConstantOp>(here, type, base.getFloatAttr(type, value));
  return base.create<pipe::ConstantOp>(here, type,
                                       mlir::IntegerAttr::get(type, static_cast<int64_t>(value)));
}

Val Scalars::number(mlir::Value value, bool untyped) {
  Val result;
  result.kind = Kind::Number;
  result.ir = value;
  result.untyped = untyped;
  return result;
}

mlir::Value Scalars::binary(BinaryKind kind, mlir::Value a, mlir::Value b) {
  return builderFor({a, b}).createOrFold<pipe::BinaryOp>(here, kind, a, b);
}

mlir::Value Scalars::compare(Predicate predicate, mlir::Value a, mlir::Value b) {
  return builderFor({a, b}).createOrFold<pipe::CompareOp>(here, base.getI1Type(), predicate, a, b);
}

mlir::Value Scalars::select(mlir::Value condition, mlir::Value a, mlir::Value b) {
  return builderFor({condition, a, b}).createOrFold<pipe::SelectOp>(here, condition, a, b);
}

mlir::Value Scalars::cast(CastMode mode, mlir::Value value, mlir::Type to) {
  if (value.getType() == to)
    return value;
  return builderFor({value}).createOrFold<pipe::CastOp>(here, to, mode, value, mlir::ValueRange());
}

mlir::Operation *Scalars::check(mlir::Value condition, const std::string &message,
                                mlir::Value first, mlir::Value second) {
  if (auto op = condition.getDefiningOp<pipe::ConstantOp>())
    if (auto value = llvm::dyn_cast<mlir::IntegerAttr>(op.getValue());
        value && !value.getValue().isZero())
      return nullptr;
  return base.create<pipe::CheckOp>(here, condition, message, first, second);
}
