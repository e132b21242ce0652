// SPDX-License-Identifier: Apache-2.0
//
// Plain arithmetic on registers.
#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/scalar.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

Type penstock::conversion::registerType(Type elementType) {
  if (elementType.isF16() || elementType.isBF16())
    return IntegerType::get(elementType.getContext(), 16);
  if (isFloat(elementType))
    return elementType;
  return IntegerType::get(elementType.getContext(), elementType.getIntOrFloatBitWidth());
}

Value Lanes::i64(int64_t value) const { return b.create<arith::ConstantIntOp>(loc, value, 64); }
Value Lanes::i32(int32_t value) const { return b.create<arith::ConstantIntOp>(loc, value, 32); }
Value Lanes::f64(double value) const {
  return b.create<arith::ConstantOp>(loc, b.getF64FloatAttr(value));
}
Type Lanes::like(Value value, Type element) const {
  if (auto vector = llvm::dyn_cast<VectorType>(value.getType()))
    return VectorType::get(vector.getShape(), element);
  return element;
}
static Value constantLike(OpBuilder &b, Location loc, Type type, TypedAttr scalar) {
  if (auto vector = llvm::dyn_cast<VectorType>(type))
    return b.create<arith::ConstantOp>(
        loc, llvm::cast<TypedAttr>(Attribute(DenseElementsAttr::get(vector, Attribute(scalar)))));
  return b.create<arith::ConstantOp>(loc, scalar);
}
Value Lanes::integerLike(Value like, int64_t value) const {
  Type element = getElementTypeOrSelf(like.getType());
  return constantLike(b, loc, like.getType(), b.getIntegerAttr(element, value));
}
Value Lanes::floatLike(Value like, double value) const {
  Type element = getElementTypeOrSelf(like.getType());
  return constantLike(b, loc, like.getType(), b.getFloatAttr(element, value));
}
Value Lanes::splat(Value value) const {
  if (lanes == 1 || llvm::isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return constantLike(b, loc, type, constant.getValue());
  return b.create<vector::SplatOp>(loc, type, value);
}
Value Lanes::iota() const {
  if (lanes == 1)
    return i64(0);
  SmallVector<int64_t> numbers(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    numbers[i] = i;
  auto type = VectorType::get({lanes}, b.getI64Type());
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
}
Value Lanes::laneNumbers() const {
  SmallVector<int32_t> numbers(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers[lane] = static_cast<int32_t>(lane);
  auto type = VectorType::get({lanes}, b.getI32Type());
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
}
void Lanes::match(Value &x, Value &y) const {
  if (llvm::isa<VectorType>(x.getType()) || llvm::isa<VectorType>(y.getType())) {
    x = splat(x);
    y = splat(y);
  }
}
std::optional<int64_t> Lanes::constantOf(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto integer = llvm::dyn_cast<IntegerAttr>(constant.getValue()))
      return integer.getInt();
  return std::nullopt;
}

Value Lanes::add(Value x, Value y) const {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cy && *cy == 0 && !llvm::isa<VectorType>(y.getType()))
    return x;
  if (cx && *cx == 0 && !llvm::isa<VectorType>(x.getType()))
    return y;
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, penstock::scalar::add(*cx, *cy));
  match(x, y);
  return b.create<arith::AddIOp>(loc, x, y);
}
Value Lanes::sub(Value x, Value y) const {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cy && *cy == 0)
    return x;
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, penstock::scalar::sub(*cx, *cy));
  match(x, y);
  return b.create<arith::SubIOp>(loc, x, y);
}
Value Lanes::mul(Value x, Value y) const {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cy && *cy == 1)
    return x;
  if (cx && *cx == 1)
    return y;
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, penstock::scalar::mul(*cx, *cy));
  match(x, y);
  return b.create<arith::MulIOp>(loc, x, y);
}
Value Lanes::andInt(Value x, Value y) const {
  match(x, y);
  return b.create<arith::AndIOp>(loc, x, y);
}
Value Lanes::orInt(Value x, Value y) const {
  match(x, y);
  return b.create<arith::OrIOp>(loc, x, y);
}
Value Lanes::xorInt(Value x, Value y) const {
  match(x, y);
  return b.create<arith::XOrIOp>(loc, x, y);
}
Value Lanes::shrU(Value x, int64_t count) const {
  return b.create<arith::ShRUIOp>(loc, x, integerLike(x, count));
}
Value Lanes::shl(Value x, int64_t count) const {
  return b.create<arith::ShLIOp>(loc, x, integerLike(x, count));
}
Value Lanes::minS(Value x, Value y) const {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, std::min(*cx, *cy));
  match(x, y);
  return b.create<arith::MinSIOp>(loc, x, y);
}
Value Lanes::maxS(Value x, Value y) const {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, std::max(*cx, *cy));
  match(x, y);
  return b.create<arith::MaxSIOp>(loc, x, y);
}
Value Lanes::divS(Value x, Value y) const {
  match(x, y);
  return b.create<arith::DivSIOp>(loc, x, y);
}
Value Lanes::remS(Value x, Value y) const {
  match(x, y);
  return b.create<arith::RemSIOp>(loc, x, y);
}
Value Lanes::cmp(arith::CmpIPredicate predicate, Value x, Value y) const {
  match(x, y);
  return b.create<arith::CmpIOp>(loc, predicate, x, y);
}
Value Lanes::pick(Value condition, Value x, Value y) const {
  if (x == y)
    return x;
  if (auto known = constantOf(condition); known && !llvm::isa<VectorType>(condition.getType()))
    return *known ? x : y;
  match(x, y);
  if (llvm::isa<VectorType>(condition.getType())) {
    x = splat(x);
    y = splat(y);
  }
  return b.create<arith::SelectOp>(loc, condition, x, y);
}
Value Lanes::anyLane(Value v, llvm::function_ref<Value(Value)> holds) const {
  auto type = llvm::dyn_cast<VectorType>(v.getType());
  if (!type)
    return holds(v);
  const int64_t bits = type.getElementTypeBitWidth(), count = type.getNumElements();
  const int64_t fitting = std::min<int64_t>(count, 8 * has.registerBytes / bits);
  Value any;
  for (int64_t first = 0; first < count; first += fitting) {
    SmallVector<int64_t> part(fitting);
    for (int64_t lane = 0; lane < fitting; ++lane)
      part[lane] = std::min(first + lane, count - 1);
    Value here = holds(b.create<vector::ShuffleOp>(loc, v, v, part));
    any = any ? orInt(any, here) : here;
  }
  if (!has.signMask || fitting * bits != 8 * has.registerBytes)
    return b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, any);
  Value wide =
      b.create<arith::ExtSIOp>(loc, VectorType::get({fitting}, b.getIntegerType(bits)), any);
  Value bytes =
      b.create<vector::BitCastOp>(loc, VectorType::get({has.registerBytes}, b.getI8Type()), wide);
  Value signs = b.create<lane::SignMaskOp>(loc, b.getI32Type(), bytes);
  return cmp(arith::CmpIPredicate::ne, signs, integerLike(signs, 0));
}
Value Lanes::intrinsic(StringRef name, Type result, ValueRange args) const {
  return b.create<LLVM::CallIntrinsicOp>(loc, result, b.getStringAttr(name), args).getResult(0);
}
