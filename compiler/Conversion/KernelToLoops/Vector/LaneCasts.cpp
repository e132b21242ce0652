// SPDX-License-Identifier: Apache-2.0
//
// Conversions between element types.
//
// f16 and bf16 are their bits in registers. Conversions between f32 and f16
// round like scalar.h; without them integer operations give the same. bf16 never uses an
// instruction: those flush subnormals.
#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

static bool isStorage(Type type) { return type.isF16() || type.isBF16(); }

LaneValue Lanes::widen(LaneValue storage) const {
  Value h = storage.value;
  Type f32 = like(h, b.getF32Type()), i32Type = like(h, b.getI32Type());
  if (storage.type.isBF16()) {
    Value wide = shl(b.create<arith::ExtUIOp>(loc, i32Type, h), 16);
    return {b.create<arith::BitcastOp>(loc, f32, wide), b.getF32Type(), {}};
  }
  if (has.convertsHalves) {
    Value half = b.create<arith::BitcastOp>(loc, like(h, b.getF16Type()), h);
    return canonical({b.create<arith::ExtFOp>(loc, f32, half), b.getF32Type(), {}});
  }
  // Exponent and mantissa moved into place and scaled by 2^112: exact, also
  // for subnormal halves.
  Value wide = b.create<arith::ExtUIOp>(loc, i32Type, h);
  Value magnitude = andInt(wide, integerLike(wide, 0x7FFF));
  Value moved = b.create<arith::BitcastOp>(loc, f32, shl(magnitude, 13));
  Value scaled = b.create<arith::MulFOp>(loc, moved, floatLike(moved, 0x1p112));
  Value bits = b.create<arith::BitcastOp>(loc, i32Type, scaled);
  bits = pick(cmp(CmpIPredicate::ugt, magnitude, integerLike(wide, 0x7C00)),
              integerLike(wide, 0x7FC00000),
              pick(cmp(CmpIPredicate::eq, magnitude, integerLike(wide, 0x7C00)),
                   integerLike(wide, 0x7F800000), bits));
  Value sign = shl(andInt(wide, integerLike(wide, 0x8000)), 16);
  sign = pick(cmp(CmpIPredicate::ugt, magnitude, integerLike(wide, 0x7C00)), integerLike(wide, 0),
              sign);
  return {b.create<arith::BitcastOp>(loc, f32, orInt(bits, sign)), b.getF32Type(), {}};
}

Value penstock::conversion::canonicalBits(const Lanes &l, Value bits, Type storage) {
  const bool isHalf = storage.isF16();
  Value magnitude = l.andInt(bits, l.integerLike(bits, 0x7FFF));
  Value isNan = l.cmp(CmpIPredicate::sgt, magnitude, l.integerLike(bits, isHalf ? 0x7C00 : 0x7F80));
  return l.pick(isNan, l.integerLike(bits, isHalf ? 0x7E00 : 0x7FC0), bits);
}

LaneValue Lanes::narrowToHalf(LaneValue value) const {
  value = canonical(value);
  Value f = value.value;
  Type i16Type = like(f, b.getIntegerType(16)), i32Type = like(f, b.getI32Type());
  if (has.convertsHalves) {
    Value half = b.create<arith::TruncFOp>(loc, like(f, b.getF16Type()), f);
    return {b.create<arith::BitcastOp>(loc, i16Type, half), b.getF16Type(), value.range};
  }
  Value bits = b.create<arith::BitcastOp>(loc, i32Type, f);
  Value sign = andInt(shrU(bits, 16), integerLike(bits, 0x8000));
  Value magnitude = andInt(bits, integerLike(bits, 0x7FFFFFFF));
  // Below the smallest normal half, adding 0.5 rounds the mantissa in place.
  Value small = b.create<arith::AddFOp>(
      loc, b.create<arith::BitcastOp>(loc, f.getType(), magnitude), floatLike(f, 0.5));
  Value subnormal =
      sub(b.create<arith::BitcastOp>(loc, i32Type, small), integerLike(bits, 0x3F000000));
  Value odd = andInt(shrU(magnitude, 13), integerLike(bits, 1));
  Value rounded = b.create<arith::AddIOp>(
      loc, b.create<arith::AddIOp>(loc, magnitude, integerLike(bits, 0xFFF - 0x38000000)), odd);
  Value result = shrU(rounded, 13);
  result =
      pick(cmp(CmpIPredicate::ult, magnitude, integerLike(bits, 0x38800000)), subnormal, result);
  result = pick(cmp(CmpIPredicate::uge, magnitude, integerLike(bits, 0x47800000)),
                integerLike(bits, 0x7C00), result);
  result = pick(cmp(CmpIPredicate::ugt, magnitude, integerLike(bits, 0x7F800000)),
                integerLike(bits, 0x7E00), result);
  return {b.create<arith::TruncIOp>(loc, i16Type, orInt(result, sign)), b.getF16Type(),
          value.range};
}

LaneValue Lanes::narrowToBfloat(LaneValue value) const {
  value = canonical(value);
  Value f = value.value;
  Value bits = b.create<arith::BitcastOp>(loc, like(f, b.getI32Type()), f);
  Value odd = andInt(shrU(bits, 16), integerLike(bits, 1));
  Value rounded = b.create<arith::AddIOp>(
      loc, b.create<arith::AddIOp>(loc, bits, integerLike(bits, 0x7FFF)), odd);
  // The canonical NaN survives the addition: 0x7FC00000 + 0x7FFF stays below 0x7FC1.
  Value high = shrU(rounded, 16);
  return {b.create<arith::TruncIOp>(loc, like(f, b.getIntegerType(16)), high), b.getBF16Type(),
          value.range};
}

Value Lanes::roundToOdd(Value wide) const {
  Type f32 = like(wide, b.getF32Type()), i32Type = like(wide, b.getI32Type());
  Value near = b.create<arith::TruncFOp>(loc, f32, wide);
  Value back = b.create<arith::ExtFOp>(loc, wide.getType(), near);
  Value bits = b.create<arith::BitcastOp>(loc, i32Type, near);
  Value exact = b.create<arith::CmpFOp>(loc, CmpFPredicate::UEQ, back, wide);
  Value above = b.create<arith::CmpFOp>(loc, CmpFPredicate::OGT, b.create<LLVM::FAbsOp>(loc, back),
                                        b.create<LLVM::FAbsOp>(loc, wide));
  Value down = pick(above, sub(bits, integerLike(bits, 1)), bits);
  Value odd = pick(exact, bits, orInt(down, integerLike(bits, 1)));
  return b.create<arith::BitcastOp>(loc, f32, odd);
}

/// An i64 with what exceeds 53 bits folded into the last bit that f64 keeps
/// (scalar.h, oddDouble).
Value Lanes::keepOdd(Value v) const {
  Value zero = integerLike(v, 0);
  Value negative = cmp(CmpIPredicate::slt, v, zero);
  Value magnitude = pick(negative, b.create<arith::SubIOp>(loc, zero, v), v);
  // 64 - 53 - leading zeros, at least 0: how many bits are cut off.
  Value leading =
      intrinsic(llvm::isa<VectorType>(v.getType()) ? "llvm.ctlz.v" + std::to_string(lanes) + "i64"
                                                   : "llvm.ctlz.i64",
                v.getType(), {magnitude, b.create<arith::ConstantIntOp>(loc, 0, 1)});
  Value excess = maxS(b.create<arith::SubIOp>(loc, integerLike(v, 11), leading), zero);
  Value one = integerLike(v, 1);
  Value unit = b.create<arith::ShLIOp>(loc, one, excess);
  Value cut = b.create<arith::SubIOp>(loc, unit, one);
  Value rest = andInt(magnitude, cut);
  Value kept = b.create<arith::SubIOp>(loc, magnitude, rest);
  kept = orInt(kept, pick(cmp(CmpIPredicate::ne, rest, zero), unit, zero));
  return pick(negative, b.create<arith::SubIOp>(loc, zero, kept), kept);
}

/// Truncated, with no zero negative: what a maximum with +0 gives is none.
Value Lanes::wholeReal(Value v) const {
  Value whole = b.create<LLVM::FTruncOp>(loc, v);
  auto choice = v.getDefiningOp<arith::SelectOp>();
  auto compare = choice ? choice.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  if (compare && compare.getPredicate() == CmpFPredicate::OGT &&
      isPositiveZero(choice.getFalseValue()) && compare.getLhs() == choice.getTrueValue() &&
      compare.getRhs() == choice.getFalseValue())
    return whole;
  return b.create<arith::AddFOp>(loc, whole, floatLike(whole, 0.0));
}

LaneValue Lanes::floatToInt(LaneValue value, Type to) const {
  Value v = value.upToZeroSign ? value.upToZeroSign : value.value;
  const Interval full = rangeOfType(to);
  const unsigned width = to.getIntOrFloatBitWidth();
  Type reg = like(v, registerType(to));
  Interval out = Interval::of(std::max(full.low, std::trunc(value.range.low)),
                              std::min(full.high, std::trunc(value.range.high)));
  if (value.range.nan || out.low > out.high)
    out = full;
  if (width <= 16) {
    Type i32Type = like(v, b.getI32Type());
    // Saturation happens in whichever domain is cheaper: as integers where the
    // value is known to fit i32.
    if (value.range.within(-2147483000.0, 2147483000.0)) {
      Value real;
      if (value.type.isF32() && value.range.within(full.low, full.high))
        real = wholeReal(v);
      Value whole = b.create<arith::FPToSIOp>(loc, i32Type, v);
      if (std::trunc(value.range.low) < full.low)
        whole = maxS(whole, integerLike(whole, static_cast<int64_t>(full.low)));
      if (std::trunc(value.range.high) > full.high)
        whole = minS(whole, integerLike(whole, static_cast<int64_t>(full.high)));
      return {b.create<arith::TruncIOp>(loc, reg, whole), to, out, whole, real};
    }
    Value low = floatLike(v, full.low), high = floatLike(v, full.high);
    Value c = pick(b.create<arith::CmpFOp>(loc, CmpFPredicate::OGT, v, low), v, low); // NaN: low
    c = pick(b.create<arith::CmpFOp>(loc, CmpFPredicate::OLT, c, high), c, high);
    Value whole = b.create<arith::FPToSIOp>(loc, i32Type, c);
    if (value.range.nan && full.low != 0)
      whole = pick(b.create<arith::CmpFOp>(loc, CmpFPredicate::UNO, v, v), integerLike(whole, 0),
                   whole);
    return {b.create<arith::TruncIOp>(loc, reg, whole), to, out, whole};
  }
  // i32 and i64: the largest value is no float, so the top is chosen apart.
  const double end = std::exp2(width - 1.0);
  if (value.range.within(-end, end - (to.isInteger(64) ? 4096 : 256)))
    return {b.create<arith::FPToSIOp>(loc, reg, v), to, out};
  Value zero = floatLike(v, 0.0);
  Value tooLow = b.create<arith::CmpFOp>(loc, CmpFPredicate::OLE, v, floatLike(v, -end));
  Value tooHigh = b.create<arith::CmpFOp>(loc, CmpFPredicate::OGE, v, floatLike(v, end));
  Value inside = andInt(b.create<arith::CmpFOp>(loc, CmpFPredicate::OGT, v, floatLike(v, -end)),
                        b.create<arith::CmpFOp>(loc, CmpFPredicate::OLT, v, floatLike(v, end)));
  Value whole = b.create<arith::FPToSIOp>(loc, reg, pick(inside, v, zero));
  const int64_t smallest =
      width == 64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  whole = pick(tooLow, integerLike(whole, smallest), whole);
  whole = pick(tooHigh, integerLike(whole, ~smallest), whole);
  return {whole, to, out};
}

LaneValue Lanes::intToFloat(LaneValue value, Type to) const {
  value.range.least = 1;
  if (value.real && to.isF32())
    return {value.real, to, value.range};
  Value v = value.value;
  const unsigned width = value.type.getIntOrFloatBitWidth();
  if (width < 32)
    v = wideOf(value);
  else if (width == 64 && value.range.within(-2147483648.0, 2147483647.0))
    v = b.create<arith::TruncIOp>(loc, like(v, b.getI32Type()), v);
  Value result = b.create<arith::SIToFPOp>(loc, like(v, to), v);
  Interval range = value.range;
  if (to.isF32() && width > 16) {
    range.low -= std::abs(range.low) * 0x1p-22;
    range.high += std::abs(range.high) * 0x1p-22;
  } else if (width == 64) {
    range.low -= std::abs(range.low) * 0x1p-50;
    range.high += std::abs(range.high) * 0x1p-50;
  }
  return {result, to, range};
}

LaneValue Lanes::intToInt(CastMode mode, LaneValue value, Type to) const {
  Value v = value.value;
  const unsigned from = value.type.getIntOrFloatBitWidth(), width = to.getIntOrFloatBitWidth();
  const Interval full = rangeOfType(to);
  const bool fits = value.range.within(full.low, full.high);
  if (to.isSignlessInteger(1)) {
    if (from == 1)
      return value;
    return {cmp(CmpIPredicate::ne, v, integerLike(v, 0)), to, full};
  }
  const bool noSign = isUnsigned(value.type) || from == 1;
  Value low = value.low;
  if (!low && llvm::isa<VectorType>(v.getType()) && width > 8 && from <= 8)
    low = from == 8 ? v : b.create<arith::ExtUIOp>(loc, like(v, b.getI8Type()), v).getResult();
  const PixelSum sum = from == 8 && width == 32 && fits ? value.sum : PixelSum();
  if (value.wide && width == 32 && mode != CastMode::clamp)
    return {value.wide, to, value.range, {}, value.real, {}, sum, {}, low};
  const bool isByte = width == 8 && fits && low;
  if (value.asI16 && !isByte && (width == 16 ? fits : width == 8 && mode == CastMode::clamp)) {
    Value narrow = value.asI16;
    if (value.range.low < full.low)
      narrow = maxS(narrow, integerLike(narrow, static_cast<int64_t>(full.low)));
    if (value.range.high > full.high)
      narrow = minS(narrow, integerLike(narrow, static_cast<int64_t>(full.high)));
    Interval out =
        Interval::of(std::max(full.low, value.range.low), std::min(full.high, value.range.high));
    if (width == 8)
      narrow = b.create<arith::TruncIOp>(loc, like(narrow, b.getI8Type()), narrow);
    return {narrow, to, out, fits ? v : Value(), fits ? value.real : Value()};
  }
  Value real = fits ? value.real : Value();
  // u16 to i16 and i16 to u16 need a wider step to compare.
  if (mode == CastMode::clamp && !fits) {
    Type wide = like(v, b.getIntegerType(std::max(32u, from)));
    if (from < 32)
      v = noSign ? b.create<arith::ExtUIOp>(loc, wide, v).getResult()
                 : b.create<arith::ExtSIOp>(loc, wide, v).getResult();
    if (value.range.low < full.low)
      v = maxS(v, integerLike(v, static_cast<int64_t>(full.low)));
    if (value.range.high > full.high)
      v = minS(v, integerLike(v, static_cast<int64_t>(full.high)));
    Interval out =
        Interval::of(std::max(full.low, value.range.low), std::min(full.high, value.range.high));
    const unsigned now = std::max(32u, from);
    Value asI32 = now == 32 && width < 32 ? v : Value();
    if (width < now)
      v = b.create<arith::TruncIOp>(loc, like(v, registerType(to)), v);
    else if (width > now)
      v = b.create<arith::ExtSIOp>(loc, like(v, registerType(to)), v);
    return {v, to, out, asI32};
  }
  Value wide;
  if (width != 32 && fits)
    wide = from == 32 && value.range.within(-0x1p31, 0x1p31 - 1) ? v : value.wide;
  if (width == 8 && low)
    v = low;
  else if (width < from)
    v = b.create<arith::TruncIOp>(loc, like(v, registerType(to)), v);
  else if (width == 64 && wide)
    v = b.create<arith::ExtSIOp>(loc, like(v, registerType(to)), wide);
  else if (width > from)
    v = noSign ? b.create<arith::ExtUIOp>(loc, like(v, registerType(to)), v).getResult()
               : b.create<arith::ExtSIOp>(loc, like(v, registerType(to)), v).getResult();
  LaneValue result{v,   to, fits ? value.range : full, wide, real, {},
                   sum, {}, width > 8 ? low : Value()};
  if (from <= 8 && width == 32 && fits && llvm::isa<VectorType>(value.value.getType())) {
    Type asI16 = like(value.value, b.getI16Type());
    result.asI16 = noSign ? b.create<arith::ExtUIOp>(loc, asI16, value.value).getResult()
                          : b.create<arith::ExtSIOp>(loc, asI16, value.value).getResult();
  }
  return result;
}

LaneValue Lanes::cast(CastMode mode, LaneValue value, Type to) const {
  if (value.type == to)
    return value;
  if (mode == CastMode::bits) {
    value = canonical(value);
    Type reg = like(value.value, registerType(to));
    Value v = value.value;
    if (v.getType() != reg)
      v = b.create<arith::BitcastOp>(loc, reg, v);
    if (isStorage(to))
      v = canonicalBits(*this, v, to);
    return wrap(v, to);
  }
  if (isStorage(value.type))
    return cast(mode, widen(value), to);
  if (to.isSignlessInteger(1) && isFloat(value.type)) {
    Value zero = floatLike(value.value, 0.0);
    return {b.create<arith::CmpFOp>(loc, CmpFPredicate::UNE, value.value, zero), to,
            Interval::of(0, 1)};
  }
  if (isStorage(to)) {
    if (!isFloat(value.type)) {
      // Up to 16 bits fit f32 exactly; wider integers need the one rounding.
      const unsigned width = value.type.getIntOrFloatBitWidth();
      if (width == 64)
        value = {keepOdd(value.value), value.type, value.range};
      value = intToFloat(value, width <= 16 ? b.getF32Type() : b.getF64Type());
    }
    if (value.type.isF64()) {
      Interval range = value.range;
      value = {roundToOdd(value.value), b.getF32Type(), range};
    }
    return to.isF16() ? narrowToHalf(value) : narrowToBfloat(value);
  }
  if (isFloat(value.type) && isFloat(to)) {
    Type reg = like(value.value, to);
    if (to.isF64())
      return {b.create<arith::ExtFOp>(loc, reg, value.value), to, value.range};
    Interval range = value.range;
    if (!(range.within(-3e38, 3e38)))
      range = {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
               range.nan, range.least, range.quiet};
    range.low -= std::abs(range.low) * 0x1p-22 + 1e-40;
    range.high += std::abs(range.high) * 0x1p-22 + 1e-40;
    return {b.create<arith::TruncFOp>(loc, reg, value.value), to, range};
  }
  if (isFloat(value.type))
    return floatToInt(value, to);
  if (isFloat(to))
    return intToFloat(value, to);
  return intToInt(mode, value, to);
}
