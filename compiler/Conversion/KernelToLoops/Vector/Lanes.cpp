//===- Lanes.cpp - arithmetic, comparison and selection on lanes -----------===//

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

//===--- plain helpers --------------------------------------------------------===//

Value Lanes::i64(int64_t value) { return b.create<arith::ConstantIntOp>(loc, value, 64); }
Value Lanes::i32(int32_t value) { return b.create<arith::ConstantIntOp>(loc, value, 32); }
Value Lanes::f64(double value) {
  return b.create<arith::ConstantOp>(loc, b.getF64FloatAttr(value));
}
Type Lanes::like(Value value, Type element) {
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
Value Lanes::integerLike(Value like, int64_t value) {
  Type element = getElementTypeOrSelf(like.getType());
  return constantLike(b, loc, like.getType(), b.getIntegerAttr(element, value));
}
Value Lanes::floatLike(Value like, double value) {
  Type element = getElementTypeOrSelf(like.getType());
  return constantLike(b, loc, like.getType(), b.getFloatAttr(element, value));
}
Value Lanes::splat(Value value) {
  if (lanes == 1 || llvm::isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return constantLike(b, loc, type, constant.getValue());
  return b.create<vector::SplatOp>(loc, type, value);
}
Value Lanes::iota() {
  if (lanes == 1)
    return i64(0);
  SmallVector<int64_t> numbers(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    numbers[i] = i;
  auto type = VectorType::get({lanes}, b.getI64Type());
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
}
Value Lanes::laneNumbers() {
  SmallVector<int32_t> numbers(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers[lane] = static_cast<int32_t>(lane);
  auto type = VectorType::get({lanes}, b.getI32Type());
  return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(numbers)));
}
void Lanes::match(Value &x, Value &y) {
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

Value Lanes::add(Value x, Value y) {
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
Value Lanes::sub(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cy && *cy == 0)
    return x;
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, penstock::scalar::sub(*cx, *cy));
  match(x, y);
  return b.create<arith::SubIOp>(loc, x, y);
}
Value Lanes::mul(Value x, Value y) {
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
Value Lanes::andInt(Value x, Value y) {
  match(x, y);
  return b.create<arith::AndIOp>(loc, x, y);
}
Value Lanes::orInt(Value x, Value y) {
  match(x, y);
  return b.create<arith::OrIOp>(loc, x, y);
}
Value Lanes::xorInt(Value x, Value y) {
  match(x, y);
  return b.create<arith::XOrIOp>(loc, x, y);
}
Value Lanes::shrU(Value x, int64_t count) {
  return b.create<arith::ShRUIOp>(loc, x, integerLike(x, count));
}
Value Lanes::shl(Value x, int64_t count) {
  return b.create<arith::ShLIOp>(loc, x, integerLike(x, count));
}
Value Lanes::minS(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, std::min(*cx, *cy));
  match(x, y);
  return b.create<arith::MinSIOp>(loc, x, y);
}
Value Lanes::maxS(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && x.getType() == y.getType())
    return integerLike(x, std::max(*cx, *cy));
  match(x, y);
  return b.create<arith::MaxSIOp>(loc, x, y);
}
/// x / c as a product and a shift, for whole numbers 0 .. most in 32 bits; null where no 32 bits hold
/// it. m / 2^s is more than 1 / c by `excess` / (c 2^s), which must not add up to another quotient.
static Value quotientOfSmall(Lanes &l, Value x, double divisor, double most) {
  const auto c = static_cast<int64_t>(std::min(divisor, 65536.0));
  if (c < 2 || c > 0xFFFF || most > 0xFFFF || !llvm::isa<VectorType>(x.getType()) || !getElementTypeOrSelf(x.getType()).isInteger(32) ||
      llvm::isPowerOf2_64(static_cast<uint64_t>(c)))
    return {};
  const auto largest = static_cast<int64_t>(most);
  for (int64_t shift = 1; shift < 32; ++shift) {
    const int64_t factor = ((int64_t{1} << shift) + c - 1) / c, excess = factor * c - (int64_t{1} << shift);
    if (factor > 0xFFFF || largest * factor > 0xFFFFFFFF)
      return {};
    if (largest * excess < (int64_t{1} << shift))
      return l.b.create<arith::ShRUIOp>(l.loc, l.mul(x, l.integerLike(x, factor)), l.integerLike(x, shift));
  }
  return {};
}
Value Lanes::divS(Value x, Value y) {
  match(x, y);
  return b.create<arith::DivSIOp>(loc, x, y);
}
Value Lanes::remS(Value x, Value y) {
  match(x, y);
  return b.create<arith::RemSIOp>(loc, x, y);
}
Value Lanes::cmp(arith::CmpIPredicate predicate, Value x, Value y) {
  match(x, y);
  return b.create<arith::CmpIOp>(loc, predicate, x, y);
}
Value Lanes::pick(Value condition, Value x, Value y) {
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
Value Lanes::anyLane(Value v, llvm::function_ref<Value(Value)> holds) {
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
  Value wide = b.create<arith::ExtSIOp>(loc, VectorType::get({fitting}, b.getIntegerType(bits)), any);
  Value bytes = b.create<vector::BitCastOp>(loc, VectorType::get({has.registerBytes}, b.getI8Type()), wide);
  Value signs = b.create<lane::SignMaskOp>(loc, b.getI32Type(), bytes);
  return cmp(arith::CmpIPredicate::ne, signs, integerLike(signs, 0));
}
Value Lanes::intrinsic(StringRef name, Type result, ValueRange args) {
  return b.create<LLVM::CallIntrinsicOp>(loc, result, b.getStringAttr(name), args).getResult(0);
}

LaneValue Lanes::wrap(Value value, Type elementType) {
  return {value, elementType, rangeOfType(elementType)};
}

Value Lanes::wideOf(const LaneValue &value) {
  if (value.wide)
    return value.wide;
  Type i32Type = like(value.value, b.getI32Type());
  if (isUnsigned(value.type) || value.type.isSignlessInteger(1))
    return b.create<arith::ExtUIOp>(loc, i32Type, value.value);
  return b.create<arith::ExtSIOp>(loc, i32Type, value.value);
}

LaneValue Lanes::constant(TypedAttr attribute) {
  Type type = attribute.getType();
  if (auto number = llvm::dyn_cast<FloatAttr>(attribute)) {
    APFloat exact = number.getValue();
    if (type.isF16() || type.isBF16()) {
      uint64_t bits = exact.bitcastToAPInt().getZExtValue();
      return {b.create<arith::ConstantIntOp>(loc, static_cast<int64_t>(bits), 16), type, {}};
    }
    const double value = number.getValueAsDouble();
    Interval range = std::isnan(value) ? Interval{} : Interval::constant(value);
    return {b.create<arith::ConstantOp>(loc, attribute), type, range};
  }
  APInt bits = llvm::cast<IntegerAttr>(attribute).getValue();
  const double value = isUnsigned(type) || type.isSignlessInteger(1)
                           ? static_cast<double>(bits.getZExtValue())
                           : static_cast<double>(bits.getSExtValue());
  Value constant = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(registerType(type), bits));
  return {constant, type, whole(value)};
}

//===--- unary ----------------------------------------------------------------===//

LaneValue Lanes::unary(UnaryKind kind, LaneValue a) {
  Value v = a.value;
  Interval r = a.range, out = r;
  if (!isFloat(a.type)) {
    const Interval full = rangeOfType(a.type);
    switch (kind) {
    case UnaryKind::neg:
      out = unlessItWraps(Interval::of(-r.high, -r.low), a.type).value_or(full);
      v = b.create<arith::SubIOp>(loc, integerLike(v, 0), v);
      break;
    case UnaryKind::abs:
      if (isUnsigned(a.type))
        return a;
      if (r.low < 0) {
        out = unlessItWraps(Interval::of(0, std::max(-r.low, r.high)), a.type).value_or(full);
        v = pick(cmp(arith::CmpIPredicate::slt, v, integerLike(v, 0)),
                 b.create<arith::SubIOp>(loc, integerLike(v, 0), v), v);
      }
      break;
    default: // bit_not
      v = xorInt(v, integerLike(v, -1));
      return {v, a.type, full};
    }
    return {v, a.type, out};
  }
  switch (kind) {
  case UnaryKind::neg:
    std::swap(out.low, out.high);
    out.low = -out.low;
    out.high = -out.high;
    return {b.create<arith::NegFOp>(loc, v), a.type, out};
  case UnaryKind::abs:
    out.high = std::max(std::abs(r.low), std::abs(r.high));
    out.low = r.low > 0 ? r.low : 0;
    return {b.create<LLVM::FAbsOp>(loc, v), a.type, out};
  case UnaryKind::floor:
    return {b.create<LLVM::FFloorOp>(loc, v), a.type,
            {std::floor(r.low), std::floor(r.high), r.nan}};
  case UnaryKind::ceil:
    return {b.create<LLVM::FCeilOp>(loc, v), a.type, {std::ceil(r.low), std::ceil(r.high), r.nan}};
  case UnaryKind::trunc:
    return {b.create<LLVM::FTruncOp>(loc, v), a.type,
            {std::trunc(r.low), std::trunc(r.high), r.nan}};
  case UnaryKind::round:
    return {b.create<LLVM::RoundEvenOp>(loc, v), a.type,
            {std::floor(r.low), std::ceil(r.high), r.nan}};
  case UnaryKind::round_away: {
    // trunc(x), plus the sign's 1 where the rest (exact) is at least a half.
    Value whole = b.create<LLVM::FTruncOp>(loc, v);
    Value rest = b.create<LLVM::FAbsOp>(loc, b.create<arith::SubFOp>(loc, v, whole));
    Value up = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, rest, floatLike(v, 0.5));
    Value step = pick(up, floatLike(v, 1.0), floatLike(v, 0.0));
    Value sum = b.create<arith::AddFOp>(loc, whole, b.create<LLVM::CopySignOp>(loc, step, v));
    // An infinity's rest is NaN, which compares false; the sign of 0 stays.
    return {b.create<LLVM::CopySignOp>(loc, sum, v), a.type,
            {std::floor(r.low), std::ceil(r.high), r.nan}};
  }
  case UnaryKind::sqrt:
    out = {0, std::sqrt(std::max(0.0, r.high)), r.nan || r.low < 0};
    return {b.create<LLVM::SqrtOp>(loc, v), a.type, widened(out, a.type)};
  default:
    llvm_unreachable("bit_not on a float");
  }
}

//===--- binary ---------------------------------------------------------------===//

LaneValue Lanes::binary(BinaryKind kind, LaneValue lhs, LaneValue rhs) {
  match(lhs.value, rhs.value);
  return isFloat(lhs.type) ? floatBinary(kind, lhs, rhs) : intBinary(kind, lhs, rhs);
}

LaneValue Lanes::intBinary(BinaryKind kind, LaneValue a, LaneValue c) {
  const bool isUnsignedType = isUnsigned(a.type);
  const Interval full = rangeOfType(a.type);
  Value x = a.value, y = c.value, v;
  std::optional<Interval> out = full;
  switch (kind) {
  case BinaryKind::add:
    v = b.create<arith::AddIOp>(loc, x, y);
    out = unlessItWraps(Interval::of(a.range.low + c.range.low, a.range.high + c.range.high), a.type);
    break;
  case BinaryKind::sub:
    v = b.create<arith::SubIOp>(loc, x, y);
    out = unlessItWraps(Interval::of(a.range.low - c.range.high, a.range.high - c.range.low), a.type);
    break;
  case BinaryKind::mul:
    v = b.create<arith::MulIOp>(loc, x, y);
    out = unlessItWraps(product(a.range, c.range), a.type);
    break;
  case BinaryKind::div:
  case BinaryKind::rem: {
    const bool isDiv = kind == BinaryKind::div;
    const bool maybeZero = c.range.low <= 0 && c.range.high >= 0;
    const bool maybeMinus = !isUnsignedType && c.range.low <= -1 && c.range.high >= -1;
    Value zero = integerLike(y, 0), one = integerLike(y, 1);
    Value isZero, isMinus, safe = y;
    if (maybeZero) {
      isZero = cmp(arith::CmpIPredicate::eq, y, zero);
      safe = pick(isZero, one, safe);
    }
    if (maybeMinus) {
      isMinus = cmp(arith::CmpIPredicate::eq, y, integerLike(y, -1));
      safe = pick(isMinus, one, safe);
    }
    const bool isKnown = c.range.low == c.range.high && a.range.low >= 0;
    if (Value quotient = isDiv && isKnown ? quotientOfSmall(*this, x, c.range.low, a.range.high) : Value())
      v = quotient;
    else if (isUnsignedType)
      v = isDiv ? b.create<arith::DivUIOp>(loc, x, safe).getResult()
                : b.create<arith::RemUIOp>(loc, x, safe).getResult();
    else
      v = isDiv ? divS(x, safe) : remS(x, safe);
    if (maybeMinus && isDiv)
      v = pick(isMinus, b.create<arith::SubIOp>(loc, zero, x), v);
    // A remainder by 1 is 0 already, which is right for -1 and for 0 alike.
    if (maybeZero && isDiv)
      v = pick(isZero, zero, v);
    if (isDiv && c.range.low >= 1 && a.range.low >= 0)
      out = Interval::of(0, a.range.high);
    break;
  }
  case BinaryKind::min:
    v = isUnsignedType ? b.create<arith::MinUIOp>(loc, x, y).getResult() : minS(x, y);
    out = Interval::of(std::min(a.range.low, c.range.low), std::min(a.range.high, c.range.high));
    break;
  case BinaryKind::max:
    v = isUnsignedType ? b.create<arith::MaxUIOp>(loc, x, y).getResult() : maxS(x, y);
    out = Interval::of(std::max(a.range.low, c.range.low), std::max(a.range.high, c.range.high));
    break;
  case BinaryKind::bit_and:
    v = andInt(x, y);
    if (a.range.low >= 0 && c.range.low >= 0)
      out = Interval::of(0, std::min(a.range.high, c.range.high));
    break;
  case BinaryKind::bit_or:
    v = orInt(x, y);
    break;
  case BinaryKind::bit_xor:
    v = xorInt(x, y);
    break;
  case BinaryKind::shl:
  case BinaryKind::shr: {
    const int64_t width = a.type.getIntOrFloatBitWidth();
    Value count = andInt(y, integerLike(y, width - 1));
    if (kind == BinaryKind::shl)
      v = b.create<arith::ShLIOp>(loc, x, count);
    else if (isUnsignedType)
      v = b.create<arith::ShRUIOp>(loc, x, count);
    else
      v = b.create<arith::ShRSIOp>(loc, x, count);
    if (kind == BinaryKind::shr && a.range.low >= 0) {
      const bool known = c.range.low == c.range.high && c.range.within(0, static_cast<double>(width - 1));
      out = Interval::of(0, known ? std::floor(std::ldexp(a.range.high, -static_cast<int>(c.range.low))) : a.range.high);
    }
    break;
  }
  }
  Value low = lowBinary(kind, a, c);
  if (!out)
    return {v, a.type, full, {}, {}, {}, {}, {}, low};
  const PixelSum sum = pixelSum(kind, a, c);
  if (sum.pixels && llvm::count_if(sum.weights, [](int64_t weight) { return weight != 0; }) > 1)
    return {dotProduct(sum), a.type, *out, {}, {}, {}, sum};
  return {v, a.type, *out, {}, realBinary(kind, a, c, *out), {}, sum, {}, low};
}

/// The lowest byte, where it is there or one number for all lanes.
Value Lanes::lowOf(const LaneValue &value) {
  if (value.low)
    return value.low;
  if (!llvm::isa<VectorType>(value.value.getType()) || value.range.low != value.range.high ||
      !value.range.within(-0x1p31, 0x1p31))
    return {};
  Type type = like(value.value, b.getI8Type());
  auto byte = static_cast<int8_t>(static_cast<int64_t>(value.range.low));
  return b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(llvm::cast<VectorType>(type), b.getI8IntegerAttr(byte)));
}

/// The lowest byte of a result comes from those of the operands: a u8 that takes nothing else is
/// computed in a quarter of the registers.
Value Lanes::lowBinary(BinaryKind kind, const LaneValue &a, const LaneValue &c) {
  if (!a.low && !c.low)
    return {};
  const bool isConstant = a.range.low == a.range.high || c.range.low == c.range.high;
  Value x = lowOf(a), y = lowOf(c);
  if (!x || !y)
    return {};
  switch (kind) {
  case BinaryKind::add:
    return b.create<arith::AddIOp>(loc, x, y);
  case BinaryKind::sub:
    return b.create<arith::SubIOp>(loc, x, y);
  case BinaryKind::mul: // of two vectors there is no such instruction
    return isConstant ? b.create<arith::MulIOp>(loc, x, y).getResult() : Value();
  case BinaryKind::bit_and:
    return b.create<arith::AndIOp>(loc, x, y);
  case BinaryKind::bit_or:
    return b.create<arith::OrIOp>(loc, x, y);
  case BinaryKind::bit_xor:
    return b.create<arith::XOrIOp>(loc, x, y);
  default:
    return {};
  }
}

Value Lanes::realOf(const LaneValue &value) {
  if (value.real)
    return value.real;
  // One number for all lanes costs nothing.
  if (!value.range.within(-0x1p24, 0x1p24))
    return {};
  if (value.range.low == value.range.high)
    return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(static_cast<float>(value.range.low)));
  LaneValue one = value;
  if (auto splat = value.value.getDefiningOp<vector::SplatOp>())
    one.value = splat.getInput();
  one.wide = {};
  if (!llvm::isa<VectorType>(one.value.getType()))
    return intToFloat(one, b.getF32Type()).value;
  return {};
}

/// The result in f32, where operands are there and all numbers are exact. Whole
/// numbers up to 2^24 are: then a fused multiply-add is no other number either.
/// No such zero is negative.
Value Lanes::realBinary(BinaryKind kind, const LaneValue &a, const LaneValue &c, Interval result) {
  constexpr double exact = 0x1p24;
  if ((!a.real && !c.real) || !result.within(-exact, exact) || !a.range.within(-exact, exact) ||
      !c.range.within(-exact, exact))
    return {};
  Value x = realOf(a), y = realOf(c);
  if (kind == BinaryKind::shr && x && c.range.low == c.range.high && a.range.low >= 0)
    return b.create<LLVM::FTruncOp>(
        loc, b.create<arith::MulFOp>(loc, x, floatLike(x, std::ldexp(1.0, -static_cast<int>(c.range.low)))));
  if (!x || !y)
    return {};
  match(x, y);
  switch (kind) {
  case BinaryKind::sub:
    return b.create<arith::SubFOp>(loc, x, y);
  case BinaryKind::mul:
    if (a.range.low < 0 || c.range.low < 0)
      return {};
    return b.create<arith::MulFOp>(loc, x, y);
  case BinaryKind::add:
    if (has.fusedMultiplyAdd)
      for (auto [sum, other] : {std::pair(x, y), std::pair(y, x)})
        if (auto product = sum.getDefiningOp<arith::MulFOp>())
          return b.create<LLVM::FMAOp>(loc, product.getLhs(), product.getRhs(), other);
    return b.create<arith::AddFOp>(loc, x, y);
  default:
    return {};
  }
}

//===--- comparison, selection -------------------------------------------------===//

LaneValue Lanes::compare(Predicate predicate, LaneValue lhs, LaneValue rhs) {
  if (lhs.type.isF16() || lhs.type.isBF16()) {
    lhs = widen(lhs);
    rhs = widen(rhs);
  }
  match(lhs.value, rhs.value);
  Value v;
  if (isFloat(lhs.type)) {
    using P = arith::CmpFPredicate;
    static constexpr P ordered[] = {P::OEQ, P::UNE, P::OLT, P::OLE, P::OGT, P::OGE};
    v = b.create<arith::CmpFOp>(loc, ordered[static_cast<int>(predicate)], lhs.value, rhs.value);
  } else {
    using P = arith::CmpIPredicate;
    static constexpr P isSigned[] = {P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge};
    static constexpr P isUnsignedP[] = {P::eq, P::ne, P::ult, P::ule, P::ugt, P::uge};
    const bool noSign = isUnsigned(lhs.type) || lhs.type.isSignlessInteger(1);
    const int number = static_cast<int>(predicate);
    // Numbers that fit 32 bits were mostly made wider to be compared: half of the registers are enough.
    auto isSmall = [](const Interval &range) { return range.within(INT32_MIN, INT32_MAX); };
    if (auto type = llvm::dyn_cast<VectorType>(lhs.value.getType());
        type && type.getElementTypeBitWidth() == 64 && isSmall(lhs.range) && isSmall(rhs.range))
      for (Value *side : {&lhs.value, &rhs.value})
        *side = b.create<arith::TruncIOp>(loc, like(*side, b.getI32Type()), *side);
    v = b.create<arith::CmpIOp>(loc, noSign ? isUnsignedP[number] : isSigned[number], lhs.value,
                                rhs.value);
  }
  return {v, b.getI1Type(), Interval::of(0, 1)};
}

LaneValue Lanes::select(LaneValue condition, LaneValue onTrue, LaneValue onFalse) {
  Value v = pick(condition.value, onTrue.value, onFalse.value), wide;
  const bool narrow = !isFloat(onTrue.type) && onTrue.type.getIntOrFloatBitWidth() < 32;
  if (narrow ? onTrue.wide || onFalse.wide : onTrue.wide && onFalse.wide)
    wide = pick(condition.value, wideOf(onTrue), wideOf(onFalse));
  return {v,
          onTrue.type,
          {std::min(onTrue.range.low, onFalse.range.low),
           std::max(onTrue.range.high, onFalse.range.high),
           onTrue.range.nan || onFalse.range.nan},
          wide};
}
