// SPDX-License-Identifier: Apache-2.0
//
// Plain arithmetic on registers.
#include "compiler/Conversion/KernelToLoops/Vector/Registers.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/scalar.h"

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

Value Registers::i64(int64_t value) const { return b.create<arith::ConstantIntOp>(loc, value, 64); }
Value Registers::i32(int32_t value) const { return b.create<arith::ConstantIntOp>(loc, value, 32); }
Value Registers::f64(double value) const {
  return b.create<arith::ConstantOp>(loc, b.getF64FloatAttr(value));
}
Type Registers::like(Value value, Type element) const {
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
Value Registers::integerLike(Value like, int64_t value) const {
  Type element = getElementTypeOrSelf(like.getType());
  return constantLike(b, loc, like.getType(), b.getIntegerAttr(element, value));
}
Value Registers::floatLike(Value like, double value) const {
  Type element = getElementTypeOrSelf(like.getType());
  return constantLike(b, loc, like.getType(), b.getFloatAttr(element, value));
}
Value Registers::splat(Value value) const {
  if (lanes == 1 || llvm::isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return constantLike(b, loc, type, constant.getValue());
  return b.create<vector::SplatOp>(loc, type, value);
}
Value Registers::iota() const {
  if (lanes == 1)
    return i64(0);
  SmallVector<int64_t> numbers(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    numbers[i] = i;
  auto type = VectorType::get({lanes}, b.getI64Type());
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
}
Value penstock::conversion::laneNumbers(const Registers &l) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  SmallVector<int32_t> numbers(l.lanes);
  for (int64_t lane = 0; lane < l.lanes; ++lane)
    numbers[lane] = static_cast<int32_t>(lane);
  auto type = VectorType::get({l.lanes}, b.getI32Type());
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
}
void Registers::match(Value &x, Value &y) const {
  if (llvm::isa<VectorType>(x.getType()) || llvm::isa<VectorType>(y.getType())) {
    x = splat(x);
    y = splat(y);
  }
}
std::optional<int64_t> Registers::constantOf(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    if (auto integer = llvm::dyn_cast<IntegerAttr>(constant.getValue()))
      return integer.getInt();
  return std::nullopt;
}

Value Registers::add(Value x, Value y) const {
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
Value Registers::sub(Value x, Value y) const {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cy && *cy == 0)
    return x;
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, penstock::scalar::sub(*cx, *cy));
  match(x, y);
  return b.create<arith::SubIOp>(loc, x, y);
}
Value Registers::mul(Value x, Value y) const {
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
Value Registers::andInt(Value x, Value y) const {
  match(x, y);
  return b.create<arith::AndIOp>(loc, x, y);
}
Value Registers::orInt(Value x, Value y) const {
  match(x, y);
  return b.create<arith::OrIOp>(loc, x, y);
}
Value Registers::xorInt(Value x, Value y) const {
  match(x, y);
  return b.create<arith::XOrIOp>(loc, x, y);
}
Value Registers::shrU(Value x, int64_t count) const {
  return b.create<arith::ShRUIOp>(loc, x, integerLike(x, count));
}
Value Registers::shl(Value x, int64_t count) const {
  return b.create<arith::ShLIOp>(loc, x, integerLike(x, count));
}
Value Registers::minS(Value x, Value y) const {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, std::min(*cx, *cy));
  match(x, y);
  return b.create<arith::MinSIOp>(loc, x, y);
}
Value Registers::maxS(Value x, Value y) const {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, std::max(*cx, *cy));
  match(x, y);
  return b.create<arith::MaxSIOp>(loc, x, y);
}
Value Registers::divS(Value x, Value y) const {
  match(x, y);
  return b.create<arith::DivSIOp>(loc, x, y);
}
Value Registers::remS(Value x, Value y) const {
  match(x, y);
  return b.create<arith::RemSIOp>(loc, x, y);
}
Value Registers::cmp(arith::CmpIPredicate predicate, Value x, Value y) const {
  match(x, y);
  return b.create<arith::CmpIOp>(loc, predicate, x, y);
}
Value Registers::pick(Value condition, Value x, Value y) const {
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
/// The registers that hold `v`; the last element is repeated where it does not fill them.
static SmallVector<Value> registersOf(const Registers &l, Value v) {
  auto type = llvm::dyn_cast<VectorType>(v.getType());
  if (!type)
    return {v};
  const int64_t count = type.getNumElements();
  const int64_t fitting =
      std::min<int64_t>(count, 8 * l.has.registerBytes / type.getElementTypeBitWidth());
  SmallVector<Value> parts;
  for (int64_t first = 0; first < count; first += fitting) {
    SmallVector<int64_t> part(fitting);
    for (int64_t lane = 0; lane < fitting; ++lane)
      part[lane] = std::min(first + lane, count - 1);
    parts.push_back(l.b.create<vector::ShuffleOp>(l.loc, v, v, part));
  }
  return parts;
}
Value penstock::conversion::combinedRegisters(const Registers &l, Value v,
                                              llvm::function_ref<Value(Value, Value)> both) {
  SmallVector<Value> parts = registersOf(l, v);
  Value all = parts[0];
  for (Value part : ArrayRef(parts).drop_front())
    all = both(all, part);
  return all;
}
Value penstock::conversion::anyLane(const Registers &l, Value v,
                                    llvm::function_ref<Value(Value)> holds) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  auto type = llvm::dyn_cast<VectorType>(v.getType());
  if (!type)
    return holds(v);
  const SmallVector<Value> parts = registersOf(l, v);
  Value any;
  for (Value part : parts) {
    // Else LLVM makes one comparison of them all again, and packs what it gives.
    if (parts.size() > 1 && llvm::isa<FloatType>(type.getElementType()))
      part = intrinsic(l, "llvm.arithmetic.fence", part.getType(), part);
    Value here = holds(part);
    any = any ? l.orInt(any, here) : here;
  }
  const int64_t bits = type.getElementTypeBitWidth(),
                fitting = llvm::cast<VectorType>(any.getType()).getNumElements();
  if (!l.has.signMask || fitting * bits != 8 * l.has.registerBytes)
    return b.create<vector::ReductionOp>(loc, vector::CombiningKind::OR, any);
  Value wide =
      b.create<arith::ExtSIOp>(loc, VectorType::get({fitting}, b.getIntegerType(bits)), any);
  Value bytes =
      b.create<vector::BitCastOp>(loc, VectorType::get({l.has.registerBytes}, b.getI8Type()), wide);
  Value signs = b.create<penstock::lane::SignMaskOp>(loc, b.getI32Type(), bytes);
  return l.cmp(arith::CmpIPredicate::ne, signs, l.integerLike(signs, 0));
}
Value penstock::conversion::intrinsic(const Registers &l, StringRef name, Type result,
                                      ValueRange args) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  return b.create<LLVM::CallIntrinsicOp>(loc, result, b.getStringAttr(name), args).getResult(0);
}

Value penstock::conversion::perRegister(const Registers &l, ValueRange operands,
                                        llvm::function_ref<Value(ValueRange)> one) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  const int64_t count = llvm::cast<VectorType>(operands[0].getType()).getNumElements();
  const int64_t fitting = l.has.lanesOf(4);
  Value whole;
  for (int64_t first = 0; first < count; first += fitting) {
    SmallVector<Value> parts(operands);
    if (count != fitting)
      for (Value &part : parts)
        part = b.create<vector::ShuffleOp>(loc, part, part,
                                           llvm::to_vector(llvm::seq(first, first + fitting)));
    Value result = one(parts);
    whole = whole ? b.create<vector::ShuffleOp>(
                        loc, whole, result, llvm::to_vector(llvm::seq<int64_t>(0, first + fitting)))
                  : result;
  }
  return whole;
}
