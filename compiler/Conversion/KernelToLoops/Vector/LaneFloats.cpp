// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of floats on lanes.
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Vector/Helpers.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Returns whether all lanes are +0, and known to be.
bool penstock::conversion::isPositiveZero(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  return constant &&
         constant.getValue() == Builder(value.getContext()).getZeroAttr(value.getType());
}

/// Returns how far an operand that is not a zero keeps a sum away from 0, if a constant is the
/// other one: multiples of half its last place if they are alike, else half of it.
static double leastSum(const LaneValue &a, const LaneValue &c) {
  double least = 0;
  for (const Interval &range : {a.range, c.range})
    if (range.isConstant() && a.type.isF32())
      least = std::max(least, std::abs(range.low) * 0x1p-25);
  return least;
}

/// x * 2^-32, which is exact; of a difference with a constant as one step, since it only
/// moves the exponent of what is rounded.
static Value scaledDown(const Lanes &l, Value x) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  auto difference = x.getDefiningOp<arith::SubFOp>();
  DenseFPElementsAttr from;
  if (difference && matchPattern(difference.getLhs(), m_Constant(&from)) && from.isSplat() &&
      std::abs(from.getSplatValue<APFloat>().convertToDouble()) <
          0x1p60) // or it may overflow first
    return b.create<LLVM::FMAOp>(
        loc, b.create<arith::NegFOp>(loc, difference.getRhs()), l.floatLike(x, 0x1p-32),
        l.floatLike(x, from.getSplatValue<APFloat>().convertToDouble() * 0x1p-32));
  return b.create<arith::MulFOp>(loc, x, l.floatLike(x, 0x1p-32));
}

//===--- instructions that know of NaN and of zeros -----------------------------===//

bool penstock::conversion::fillsRegisters(const Registers &l, Value v) {
  auto vector = llvm::dyn_cast<VectorType>(v.getType());
  return l.has.numbers && vector && vector.getElementType().isF32() &&
         vector.getNumElements() % l.has.lanesOf(4) == 0;
}

/// The smaller or larger one, with -0 < +0, and of one NaN, which is quiet, the other operand.
static Value numberOf(const Lanes &l, bool wantMin, Value x, Value y) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  return perRegister(l, {x, y}, [&](ValueRange parts) -> Value {
    if (wantMin)
      return b.create<penstock::lane::MinNumberOp>(loc, parts[0], parts[1]);
    return b.create<penstock::lane::MaxNumberOp>(loc, parts[0], parts[1]);
  });
}

static Value replaceNan(const Lanes &l, Value v, penstock::lane::NanBecomes by) {
  return perRegister(l, {v}, [&](ValueRange parts) -> Value {
    return l.b.create<penstock::lane::ReplaceNanOp>(l.loc, by, parts[0]);
  });
}

LaneValue Lanes::canonical(LaneValue value) const {
  if (!value.range.nan || !(value.type.isF32() || value.type.isF64()))
    return value;
  value.range.quiet = true;
  if (value.canonical) {
    value.value = value.canonical;
    return value;
  }
  Value v = value.value;
  if (fillsRegisters(*this, v)) {
    value.value = replaceNan(*this, v, penstock::lane::NanBecomes::canonical);
    return value;
  }
  const int64_t bits = value.type.isF64() ? 0x7FF8000000000000 : 0x7FC00000;
  Type integer = like(v, b.getIntegerType(value.type.getIntOrFloatBitWidth()));
  Value asInt = b.create<arith::BitcastOp>(loc, integer, v);
  Value isNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, v, v);
  Value chosen = pick(isNan, integerLike(asInt, bits), asInt);
  value.value = b.create<arith::BitcastOp>(loc, v.getType(), chosen);
  return value;
}

/// `value`, or what differs from it in the sign of a zero only.
static Value upToSign(const Lanes &l, const LaneValue &value) {
  Value same = value.upToZeroSign ? value.upToZeroSign : value.value, all = value.value;
  l.match(same, all); // a number for all lanes may have been made one in each since
  return same;
}

/// The smaller or larger one, where zeros of both signs are alike: of one NaN the other operand.
static Value eitherNumber(const Lanes &l, arith::CmpFPredicate predicate, const LaneValue &a,
                          const LaneValue &c) {
  OpBuilder &b = l.b;
  Value x = upToSign(l, a), y = upToSign(l, c);
  if (a.range.nan && c.range.nan) // first, or it is no instruction of its own
    y = l.pick(b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::UNO, y, y), x, y);
  return l.pick(b.create<arith::CmpFOp>(l.loc, predicate, x, y), x, y);
}

static LaneValue floatMinMax(const Lanes &l, bool wantMin, LaneValue a, LaneValue c) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  // One instruction gives its second operand where one is NaN, or neither is
  // smaller: the number, or what a constant says, goes there.
  auto hasZero = [](Interval r) { return r.low <= 0 && r.high >= 0; };
  // A maximum with +0 sets a zero's sign; one with other numbers passes it on.
  if (!wantMin && a.upToZeroSign && isPositiveZero(c.value))
    a.value = upToSign(l, a);
  Value upToZeroSign;
  if (a.upToZeroSign && !hasZero(c.range))
    upToZeroSign = floatMinMax(l, wantMin, {upToSign(l, a), a.type, a.range}, c).value;
  const bool swapped = !a.range.nan && (c.range.nan || (!wantMin && isPositiveZero(a.value)));
  Value x = swapped ? c.value : a.value, y = swapped ? a.value : c.value;
  const bool bothNan = a.range.nan && c.range.nan;
  const bool bothZero = hasZero(a.range) && hasZero(c.range) && (wantMin || !isPositiveZero(y));
  auto predicate = wantMin ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT;
  Value v;
  if ((bothNan || bothZero) && fillsRegisters(l, x) && a.range.noSignal() && c.range.noSignal()) {
    v = numberOf(l, wantMin, x, y);
  } else {
    v = l.pick(b.create<arith::CmpFOp>(loc, predicate, x, y), x, y);
    if (bothZero) {
      upToZeroSign = eitherNumber(l, predicate, swapped ? c : a, swapped ? a : c);
      Type bits = l.like(x, b.getIntegerType(a.type.getIntOrFloatBitWidth()));
      auto eitherZero = [&](Value p,
                            Value q) -> Value { // of equal numbers that are none, either one
        p = b.create<arith::BitcastOp>(loc, bits, p);
        q = b.create<arith::BitcastOp>(loc, bits, q);
        return b.create<arith::BitcastOp>(loc, x.getType(),
                                          wantMin ? l.orInt(p, q) : l.andInt(p, q));
      };
      if (!a.range.nan && !c.range.nan) // the same the other way around, but for zeros
        v = eitherZero(v, l.pick(b.create<arith::CmpFOp>(loc, predicate, y, x), y, x));
      else
        v = l.pick(b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OEQ, x, y), eitherZero(x, y),
                   v);
    }
    if (bothNan)
      v = l.pick(b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, y, y), x, v);
  }
  Interval out = penstock::analysis::rangeOfFloats(wantMin ? BinaryKind::min : BinaryKind::max,
                                                   a.type, a.range, c.range);
  out.quiet = a.range.noSignal() && c.range.noSignal();
  return {v, a.type, out, {}, {}, upToZeroSign};
}

LaneValue penstock::conversion::farther(const Lanes &l, bool wantMin, LaneValue sofar,
                                        LaneValue value) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  l.match(sofar.value, value.value);
  auto predicate = wantMin ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT;
  Value v = l.pick(b.create<arith::CmpFOp>(loc, predicate, value.value, sofar.value), value.value,
                   sofar.value);
  const Interval &a = sofar.range, &c = value.range;
  Interval out{wantMin ? std::min(a.low, c.low) : std::max(a.low, c.low),
               wantMin ? std::min(a.high, c.high) : std::max(a.high, c.high), a.nan};
  if (c.nan) {
    out.low = std::min(out.low, a.low);
    out.high = std::max(out.high, a.high);
  }
  out.quiet = a.noSignal();
  return {v, sofar.type, out};
}

static Value remainderOf(const Lanes &l, Value a, Value c) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  l.match(a, c);
  func::FuncOp helper = fmodHelper(b, loc);
  Type element = getElementTypeOrSelf(a.getType());
  auto one = [&](Value x, Value y) -> Value {
    // The remainder of two f32 is an f32, so the f64 algorithm gives its bits.
    if (element.isF32()) {
      x = b.create<arith::ExtFOp>(loc, b.getF64Type(), x);
      y = b.create<arith::ExtFOp>(loc, b.getF64Type(), y);
    }
    Value r = b.create<func::CallOp>(loc, helper, ValueRange{x, y}).getResult(0);
    return element.isF32() ? b.create<arith::TruncFOp>(loc, element, r).getResult() : r;
  };
  auto vector = llvm::dyn_cast<VectorType>(a.getType());
  if (!vector)
    return one(a, c);
  Value result = l.floatLike(a, 0.0);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    Value r = one(b.create<vector::ExtractOp>(loc, a, i), b.create<vector::ExtractOp>(loc, c, i));
    result = b.create<vector::InsertOp>(loc, r, result, i);
  }
  return result;
}

//===--- any operation -------------------------------------------------------------===//

LaneValue penstock::conversion::floatBinary(const Lanes &l, BinaryKind kind, LaneValue a,
                                            LaneValue c) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Value x = a.value, y = c.value;
  Interval out = penstock::analysis::rangeOfFloats(kind, a.type, a.range, c.range);
  const bool quiet = a.range.noSignal() && c.range.noSignal();
  switch (kind) {
  case BinaryKind::add:
    out.least = leastSum(a, c);
    out.quiet = quiet;
    {
      LaneValue sum{b.create<arith::AddFOp>(loc, x, y), a.type, out};
      if (isPositiveZero(x) || isPositiveZero(y))
        sum.upToZeroSign = isPositiveZero(x) ? upToSign(l, c) : upToSign(l, a);
      else if (a.upToZeroSign || c.upToZeroSign)
        sum.upToZeroSign = b.create<arith::AddFOp>(loc, upToSign(l, a), upToSign(l, c));
      return sum;
    }
  case BinaryKind::sub:
    // The middle of a window, less itself: what follows is known as well.
    if (a.range.isFinite() && c.range.isFinite() && x == y)
      return l.constant(b.getFloatAttr(a.type, 0.0));
    out.least = leastSum(a, c);
    out.quiet = quiet;
    {
      LaneValue difference{b.create<arith::SubFOp>(loc, x, y), a.type, out};
      if (a.upToZeroSign || c.upToZeroSign)
        difference.upToZeroSign = b.create<arith::SubFOp>(loc, upToSign(l, a), upToSign(l, c));
      return difference;
    }
  case BinaryKind::mul:
    out.quiet = quiet;
    // Three channels share the other factor, and so the step that is left.
    if (a.scaled && c.range.least >= 0x1p-60)
      return {b.create<arith::MulFOp>(loc, a.scaled, scaledDown(l, y)), a.type, out};
    return {b.create<arith::MulFOp>(loc, x, y), a.type, out};
  case BinaryKind::div: {
    out.quiet = quiet;
    LaneValue result = quotient(l, a, c);
    result.range = out;
    return result;
  }
  case BinaryKind::rem:
    return {remainderOf(l, x, y), a.type, out};
  case BinaryKind::min:
  case BinaryKind::max:
    return floatMinMax(l, kind == BinaryKind::min, a, c);
  default:
    llvm_unreachable("bit operation on a float");
  }
}
