// SPDX-License-Identifier: Apache-2.0
//
// I64 arithmetic that passes emit.
#include "compiler/Dialect/ScalarBuilder.h"

using namespace mlir;

namespace penstock::pipe {

std::optional<int64_t> constantOf(Value value) {
  auto constant = value ? value.getDefiningOp<ConstantOp>() : ConstantOp();
  if (!constant)
    return std::nullopt;
  auto integer = llvm::dyn_cast<IntegerAttr>(constant.getValue());
  if (!integer)
    return std::nullopt;
  return isUnsigned(integer.getType()) || integer.getType().isInteger(1)
             ? static_cast<int64_t>(integer.getValue().getZExtValue())
             : integer.getValue().getSExtValue();
}

std::optional<int64_t> constantOf(OpFoldResult value) {
  if (!value)
    return std::nullopt;
  if (auto attribute = llvm::dyn_cast<Attribute>(value))
    return llvm::cast<IntegerAttr>(attribute).getInt();
  return constantOf(llvm::cast<Value>(value));
}

Value ScalarBuilder::constant(int64_t value) {
  return builder.create<ConstantOp>(loc, builder.getI64Type(), builder.getI64IntegerAttr(value));
}

Value ScalarBuilder::number(double value) {
  return builder.create<ConstantOp>(loc, builder.getF64Type(), builder.getF64FloatAttr(value));
}

Value ScalarBuilder::binary(BinaryKind kind, Value a, Value b) {
  return builder.createOrFold<BinaryOp>(loc, a.getType(), kind, a, b);
}

Value ScalarBuilder::compare(Predicate predicate, Value a, Value b) {
  return builder.createOrFold<CompareOp>(loc, builder.getI1Type(), predicate, a, b);
}

Value ScalarBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return builder.createOrFold<SelectOp>(loc, onTrue.getType(), condition, onTrue, onFalse);
}

Value ScalarBuilder::logicalNot(Value a) {
  return builder.createOrFold<UnaryOp>(loc, a.getType(), UnaryKind::bit_not, a);
}

Value ScalarBuilder::cast(Value a, Type to) {
  if (a.getType() == to)
    return a;
  return builder.createOrFold<CastOp>(loc, to, CastMode::value, a, ValueRange());
}

Value ScalarBuilder::isArm(Value index, int64_t arm, int64_t count) {
  // `if` is a choose by a bool: its condition is the guard.
  if (auto cast = index.getDefiningOp<CastOp>();
      cast && count == 2 && cast.getValue().getType().isInteger(1))
    return arm == 1 ? cast.getValue() : logicalNot(cast.getValue());
  if (count == 1)
    return builder.create<ConstantOp>(loc, builder.getI1Type(), builder.getBoolAttr(true));
  if (arm == 0)
    return compare(Predicate::le, index, constant(0));
  if (arm == count - 1)
    return compare(Predicate::ge, index, constant(arm));
  return compare(Predicate::eq, index, constant(arm));
}

Value ScalarBuilder::selectByIndex(Value index, ValueRange choices) {
  const auto count = static_cast<int64_t>(choices.size());
  if (llvm::all_equal(choices))
    return choices.front();
  if (auto known = constantOf(index))
    return choices[std::clamp<int64_t>(*known, 0, count - 1)];
  if (count == 2)
    return select(isArm(index, 1, 2), choices[1], choices[0]);
  Value result = choices.back();
  for (int64_t arm = count - 2; arm >= 0; --arm)
    result = select(isArm(index, arm, count), choices[arm], result);
  return result;
}

Value ScalarBuilder::apply(AffineExpr expr, ValueRange dims, ValueRange symbols) {
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  if (auto number = llvm::dyn_cast<AffineConstantExpr>(expr))
    return constant(number.getValue());
  auto pair = llvm::cast<AffineBinaryOpExpr>(expr);
  Value a = apply(pair.getLHS(), dims, symbols);
  Value b = apply(pair.getRHS(), dims, symbols);
  // `mod` and `floordiv` round down, our `rem` and `div` towards zero.
  auto modulo = [&] { return binary(BinaryKind::rem, add(binary(BinaryKind::rem, a, b), b), b); };
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(a, b);
  case AffineExprKind::Mul:
    return mul(a, b);
  case AffineExprKind::Mod:
    return modulo();
  case AffineExprKind::FloorDiv:
    return binary(BinaryKind::div, sub(a, modulo()), b);
  case AffineExprKind::CeilDiv: {
    Value last = sub(b, constant(1));
    a = add(a, last);
    return binary(BinaryKind::div, sub(a, modulo()), b);
  }
  default:
    llvm_unreachable("not an affine operation");
  }
}

} // namespace penstock::pipe
