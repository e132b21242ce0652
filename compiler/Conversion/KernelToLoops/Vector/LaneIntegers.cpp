// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on integers.
#include "compiler/Conversion/KernelToLoops/Vector/LaneIntegers.h"
#include "compiler/Conversion/KernelToLoops/Vector/AsI16.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneCasts.h"
#include "compiler/Conversion/KernelToLoops/Vector/LanePixels.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/scalar.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// x / c as a product and a shift, for whole numbers 0 .. most in 32 bits; null where no 32 bits
/// hold it. m / 2^s is more than 1 / c by `excess` / (c 2^s), which must not add up to another
/// quotient.
static Value quotientOfSmall(const Lanes &l, Value x, double divisor, double most) {
  const auto c = static_cast<int64_t>(std::min(divisor, 65536.0));
  if (c < 2 || c > 0xFFFF || most > 0xFFFF || !llvm::isa<VectorType>(x.getType()) ||
      !getElementTypeOrSelf(x.getType()).isInteger(32) ||
      llvm::isPowerOf2_64(static_cast<uint64_t>(c)))
    return {};
  const auto largest = static_cast<int64_t>(most);
  for (int64_t shift = 1; shift < 32; ++shift) {
    const int64_t factor = ((int64_t{1} << shift) + c - 1) / c,
                  excess = factor * c - (int64_t{1} << shift);
    if (factor > 0xFFFF || largest * factor > 0xFFFFFFFF)
      return {};
    if (largest * excess < (int64_t{1} << shift))
      return l.b.create<arith::ShRUIOp>(l.loc, l.mul(x, l.integerLike(x, factor)),
                                        l.integerLike(x, shift));
  }
  return {};
}

Value penstock::conversion::furtherIndex(const Lanes &l, Value index, int64_t by) {
  const auto neverNegative = arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  return l.b.create<arith::AddIOp>(l.loc, index, l.i64(by), neverNegative);
}

/// A dividend that is a furtherIndex() by whole multiples of the divisor, without those, and how
/// many they are: indices a period apart have the same remainder.
static std::pair<Value, int64_t> withoutMultiples(const Lanes &l, Value x, int64_t divisor) {
  auto product = x.getDefiningOp<arith::MulIOp>();
  const auto factor = product ? Lanes::constantOf(product.getRhs()) : 1;
  auto sum = (product ? product.getLhs() : x).getDefiningOp<arith::AddIOp>();
  if (!factor || *factor < 1 || !sum ||
      !bitEnumContainsAll(sum.getOverflowFlags(), arith::IntegerOverflowFlags::nuw))
    return {x, 0};
  const int64_t by = *Lanes::constantOf(sum.getRhs()) * *factor;
  if (by % divisor != 0)
    return {x, 0};
  return {product ? l.mul(sum.getLhs(), product.getRhs()) : sum.getLhs(), by / divisor};
}

/// Emits a division or a remainder, also by 0 and -1.
static Value dividedBy(const Lanes &l, BinaryKind kind, const LaneValue &a, const LaneValue &c) {
  Value x = a.value, y = c.value;
  const bool isUnsignedType = isUnsigned(a.type);
  const bool isDiv = kind == BinaryKind::div;
  // Where no operand is negative, a division without signs needs no corrections.
  const bool isNatural = isUnsignedType || (a.range.low >= 0 && c.range.low >= 0);
  const bool maybeZero = c.range.low <= 0 && c.range.high >= 0;
  const bool maybeMinus = !isUnsignedType && c.range.low <= -1 && c.range.high >= -1;
  Value zero = l.integerLike(y, 0), one = l.integerLike(y, 1);
  Value isZero, isMinus, safe = y, v;
  if (maybeZero) {
    isZero = l.cmp(arith::CmpIPredicate::eq, y, zero);
    safe = l.pick(isZero, one, safe);
  }
  if (maybeMinus) {
    isMinus = l.cmp(arith::CmpIPredicate::eq, y, l.integerLike(y, -1));
    safe = l.pick(isMinus, one, safe);
  }
  const bool isKnown = c.range.low == c.range.high && a.range.low >= 0;
  if (Value quotient =
          isDiv && isKnown ? quotientOfSmall(l, x, c.range.low, a.range.high) : Value())
    v = quotient;
  else if (isNatural) {
    int64_t multiples = 0;
    if (isKnown && c.range.low >= 1 && c.range.low < 1e9)
      std::tie(x, multiples) = withoutMultiples(l, x, static_cast<int64_t>(c.range.low));
    v = isDiv ? l.b.create<arith::DivUIOp>(l.loc, x, safe).getResult()
              : l.b.create<arith::RemUIOp>(l.loc, x, safe).getResult();
    if (isDiv && multiples)
      v = l.add(v, l.i64(multiples));
  } else
    v = isDiv ? l.divS(x, safe) : l.remS(x, safe);
  if (maybeMinus && isDiv)
    v = l.pick(isMinus, l.b.create<arith::SubIOp>(l.loc, zero, x), v);
  // A remainder by 1 is 0 already, which is right for -1 and for 0 alike.
  if (maybeZero && isDiv)
    v = l.pick(isZero, zero, v);
  return v;
}

/// The lowest byte, where it is there or one number for all lanes.
static Value lowOf(const Lanes &l, const LaneValue &value) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  if (value.low)
    return value.low;
  if (!llvm::isa<VectorType>(value.value.getType()) || value.range.low != value.range.high ||
      !value.range.within(-0x1p31, 0x1p31))
    return {};
  Type type = l.like(value.value, b.getI8Type());
  auto byte = static_cast<int8_t>(static_cast<int64_t>(value.range.low));
  return b.create<arith::ConstantOp>(
      loc, DenseElementsAttr::get(llvm::cast<VectorType>(type), b.getI8IntegerAttr(byte)));
}

/// A number of 64 bits that fits a byte, in each lane of `lanes`; null where making it takes work.
static Value asByte(const Lanes &l, const LaneValue &value, int64_t lanes) {
  OpBuilder &b = l.b;
  const VectorType bytes = VectorType::get({lanes}, b.getI8Type());
  if (!llvm::isa<VectorType>(value.value.getType())) {
    auto extended = value.value.getDefiningOp<arith::ExtUIOp>();
    Value byte = extended && extended.getIn().getType().isInteger(8)
                     ? extended.getIn()
                     : b.create<arith::TruncIOp>(l.loc, b.getI8Type(), value.value).getResult();
    return b.create<vector::SplatOp>(l.loc, bytes, byte);
  }
  if (APInt first; value.step && matchPattern(value.first, m_ConstantInt(&first))) {
    SmallVector<int8_t> places;
    for (int64_t lane = 0; lane < lanes; ++lane)
      places.push_back(static_cast<int8_t>(first.getSExtValue() + lane * *value.step));
    return b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(bytes, ArrayRef(places)));
  }
  return lowOf(l, value);
}

Value penstock::conversion::integerCompare(const Lanes &l, Predicate predicate, bool isUnsigned,
                                           Value lhs, Value rhs) {
  using P = arith::CmpIPredicate;
  static constexpr P withSign[] = {P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge};
  static constexpr P without[] = {P::eq, P::ne, P::ult, P::ule, P::ugt, P::uge};
  const int number = static_cast<int>(predicate);
  return l.b.create<arith::CmpIOp>(l.loc, isUnsigned ? without[number] : withSign[number], lhs,
                                   rhs);
}

Value penstock::conversion::compareBytes(const Lanes &l, Predicate predicate, const LaneValue &lhs,
                                         const LaneValue &rhs) {
  auto both = [&](double low, double high) {
    return lhs.range.within(low, high) && rhs.range.within(low, high);
  };
  const bool noSign = both(0, UINT8_MAX);
  if (!noSign && !both(INT8_MIN, INT8_MAX))
    return {};
  auto type = llvm::dyn_cast<VectorType>(lhs.value.getType());
  type = type ? type : llvm::dyn_cast<VectorType>(rhs.value.getType());
  if (!type || !lhs.type.isInteger(64))
    return {};
  Value x = asByte(l, lhs, type.getNumElements()), y = asByte(l, rhs, type.getNumElements());
  return x && y ? integerCompare(l, predicate, noSign, x, y) : Value();
}

/// The lowest byte of a result comes from those of the operands: a u8 that takes nothing else is
/// computed in a quarter of the registers.
static Value lowBinary(const Lanes &l, BinaryKind kind, const LaneValue &a, const LaneValue &c) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  if (!a.low && !c.low)
    return {};
  const bool isConstant = a.range.low == a.range.high || c.range.low == c.range.high;
  Value x = lowOf(l, a), y = lowOf(l, c);
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

static Value realOf(const Lanes &l, const LaneValue &value) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  if (value.real)
    return value.real;
  // One number for all l.lanes costs nothing.
  if (!value.range.within(-0x1p24, 0x1p24))
    return {};
  if (value.range.low == value.range.high)
    return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(static_cast<float>(value.range.low)));
  LaneValue one = value;
  if (auto splat = value.value.getDefiningOp<vector::SplatOp>())
    one.value = splat.getInput();
  one.wide = {};
  if (!llvm::isa<VectorType>(one.value.getType()))
    return intToFloat(l, one, b.getF32Type()).value;
  return {};
}

/// The result in f32, where operands are there and all numbers are exact. Whole
/// numbers up to 2^24 are: then a fused multiply-add is no other number either.
/// No such zero is negative.
static Value realBinary(const Lanes &l, BinaryKind kind, const LaneValue &a, const LaneValue &c,
                        Interval result) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  constexpr double exact = 0x1p24;
  if ((!a.real && !c.real) || !result.within(-exact, exact) || !a.range.within(-exact, exact) ||
      !c.range.within(-exact, exact))
    return {};
  Value x = realOf(l, a), y = realOf(l, c);
  if (kind == BinaryKind::shr && x && c.range.low == c.range.high && a.range.low >= 0)
    return b.create<LLVM::FTruncOp>(
        loc, b.create<arith::MulFOp>(
                 loc, x, l.floatLike(x, std::ldexp(1.0, -static_cast<int>(c.range.low)))));
  if (!x || !y)
    return {};
  l.match(x, y);
  switch (kind) {
  case BinaryKind::sub:
    return b.create<arith::SubFOp>(loc, x, y);
  case BinaryKind::mul:
    if (a.range.low < 0 || c.range.low < 0)
      return {};
    return b.create<arith::MulFOp>(loc, x, y);
  case BinaryKind::add:
    if (l.has.fusedMultiplyAdd)
      for (auto [sum, other] : {std::pair(x, y), std::pair(y, x)})
        if (auto product = sum.getDefiningOp<arith::MulFOp>())
          return b.create<LLVM::FMAOp>(loc, product.getLhs(), product.getRhs(), other);
    return b.create<arith::AddFOp>(loc, x, y);
  default:
    return {};
  }
}

/// By a count modulo the width.
static Value shifted(const Lanes &l, BinaryKind kind, const LaneValue &a, const LaneValue &c) {
  OpBuilder &b = l.b;
  Value count = l.andInt(c.value, l.integerLike(c.value, a.type.getIntOrFloatBitWidth() - 1));
  if (kind == BinaryKind::shl)
    return b.create<arith::ShLIOp>(l.loc, a.value, count);
  if (isUnsigned(a.type))
    return b.create<arith::ShRUIOp>(l.loc, a.value, count);
  return b.create<arith::ShRSIOp>(l.loc, a.value, count);
}

LaneValue penstock::conversion::intBinary(const Lanes &l, BinaryKind kind, LaneValue a,
                                          LaneValue c) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  const bool isUnsignedType = isUnsigned(a.type);
  Value x = a.value, y = c.value, v;
  const std::optional<Interval> out =
      penstock::analysis::rangeOfIntegers(kind, a.type, a.range, c.range);
  switch (kind) {
  case BinaryKind::add:
    v = b.create<arith::AddIOp>(loc, x, y);
    break;
  case BinaryKind::sub:
    v = b.create<arith::SubIOp>(loc, x, y);
    break;
  case BinaryKind::mul:
    v = b.create<arith::MulIOp>(loc, x, y);
    break;
  case BinaryKind::div:
  case BinaryKind::rem:
    v = dividedBy(l, kind, a, c);
    break;
  case BinaryKind::min:
    v = isUnsignedType ? b.create<arith::MinUIOp>(loc, x, y).getResult() : l.minS(x, y);
    break;
  case BinaryKind::max:
    v = isUnsignedType ? b.create<arith::MaxUIOp>(loc, x, y).getResult() : l.maxS(x, y);
    break;
  case BinaryKind::bit_and:
    v = l.andInt(x, y);
    break;
  case BinaryKind::bit_or:
    v = l.orInt(x, y);
    break;
  case BinaryKind::bit_xor:
    v = l.xorInt(x, y);
    break;
  case BinaryKind::shl:
  case BinaryKind::shr:
    v = shifted(l, kind, a, c);
    break;
  }
  Value low = lowBinary(l, kind, a, c);
  if (!out)
    return {v, a.type, rangeOfType(a.type), {}, {}, {}, {}, {}, low};
  const PixelSum sum = pixelSum(kind, a, c);
  if (sum.pixels && llvm::count_if(sum.weights, [](int64_t weight) { return weight != 0; }) > 1)
    return {dotProduct(l, sum), a.type, *out, {}, {}, {}, sum};
  LaneValue result{v, a.type, *out, {}, realBinary(l, kind, a, c, *out), {}, sum, {}, low};
  result.asI16 = binaryAsI16(l, kind, a, c, *out);
  return result;
}
