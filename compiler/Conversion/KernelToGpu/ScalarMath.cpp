// SPDX-License-Identifier: Apache-2.0
//
// Making scalar ops.
#include "compiler/Conversion/KernelToGpu/ScalarMath.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

Value ScalarMath::constant(TypedAttr value, Type type) const {
  return b.create<ConstantOp>(loc, type, value);
}

/// Attributes of integers are of the type itself.
Value ScalarMath::zero(Type type) const {
  if (llvm::isa<FloatType>(type))
    return constant(b.getFloatAttr(type, 0.0), type);
  return constant(IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), 0)), type);
}

Value ScalarMath::i64(int64_t number) const {
  return constant(b.getI64IntegerAttr(number), b.getI64Type());
}

Value ScalarMath::real(double number) const {
  return constant(b.getF64FloatAttr(number), b.getF64Type());
}

Value ScalarMath::unary(UnaryKind kind, Value a) const { return b.create<UnaryOp>(loc, kind, a); }

Value ScalarMath::binary(BinaryKind kind, Value a, Value c) const {
  return b.create<BinaryOp>(loc, kind, a, c);
}

Value ScalarMath::compare(Predicate predicate, Value a, Value c) const {
  return b.create<CompareOp>(loc, predicate, a, c);
}

Value ScalarMath::select(Value condition, Value yes, Value no) const {
  return b.create<SelectOp>(loc, condition, yes, no);
}

Value ScalarMath::cast(Value value, Type type, CastMode mode) const {
  if (value.getType() == type)
    return value;
  return b.create<CastOp>(loc, type, mode, value, ValueRange{});
}

Value ScalarMath::isTrue(Value number) const { return cast(number, b.getI1Type()); }
