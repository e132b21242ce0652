// SPDX-License-Identifier: Apache-2.0
//
// Conversions between element types.
#include "compiler/Conversion/KernelToLoops/Vector/LaneCasts.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneHalves.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

static bool isStorage(Type type) { return type.isF16() || type.isBF16(); }

/// Truncated, with no zero negative: what a maximum with +0 gives is none.
static Value wholeReal(const Lanes &l, Value v) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Value whole = b.create<LLVM::FTruncOp>(loc, v);
  auto choice = v.getDefiningOp<arith::SelectOp>();
  auto compare = choice ? choice.getCondition().getDefiningOp<arith::CmpFOp>() : nullptr;
  if (compare && compare.getPredicate() == CmpFPredicate::OGT &&
      isPositiveZero(choice.getFalseValue()) && compare.getLhs() == choice.getTrueValue() &&
      compare.getRhs() == choice.getFalseValue())
    return whole;
  return b.create<arith::AddFOp>(loc, whole, l.floatLike(whole, 0.0));
}

static LaneValue floatToInt(const Lanes &l, LaneValue value, Type to) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Value v = value.upToZeroSign ? value.upToZeroSign : value.value;
  const Interval full = rangeOfType(to);
  const unsigned width = to.getIntOrFloatBitWidth();
  Type reg = l.like(v, registerType(to));
  const Interval out = rangeOfCast(CastMode::value, value.type, to, value.range);
  if (width <= 16) {
    Type i32Type = l.like(v, b.getI32Type());
    // Saturation happens in whichever domain is cheaper: as integers where the
    // value is known to fit i32.
    if (value.range.within(-2147483000.0, 2147483000.0)) {
      Value real;
      if (value.type.isF32() && value.range.within(full.low, full.high))
        real = wholeReal(l, v);
      Value whole = b.create<arith::FPToSIOp>(loc, i32Type, v);
      if (std::trunc(value.range.low) < full.low)
        whole = l.maxS(whole, l.integerLike(whole, static_cast<int64_t>(full.low)));
      if (std::trunc(value.range.high) > full.high)
        whole = l.minS(whole, l.integerLike(whole, static_cast<int64_t>(full.high)));
      return {b.create<arith::TruncIOp>(loc, reg, whole), to, out, whole, real};
    }
    Value low = l.floatLike(v, full.low), high = l.floatLike(v, full.high);
    Value c = l.pick(b.create<arith::CmpFOp>(loc, CmpFPredicate::OGT, v, low), v, low); // NaN: low
    c = l.pick(b.create<arith::CmpFOp>(loc, CmpFPredicate::OLT, c, high), c, high);
    Value whole = b.create<arith::FPToSIOp>(loc, i32Type, c);
    if (value.range.nan && full.low != 0)
      whole = l.pick(b.create<arith::CmpFOp>(loc, CmpFPredicate::UNO, v, v),
                     l.integerLike(whole, 0), whole);
    return {b.create<arith::TruncIOp>(loc, reg, whole), to, out, whole};
  }
  // i32 and i64: the largest value is no float, so the top is chosen apart.
  const double end = std::exp2(width - 1.0);
  if (value.range.within(-end, end - (to.isInteger(64) ? 4096 : 256)))
    return {b.create<arith::FPToSIOp>(loc, reg, v), to, out};
  Value zero = l.floatLike(v, 0.0);
  Value tooLow = b.create<arith::CmpFOp>(loc, CmpFPredicate::OLE, v, l.floatLike(v, -end));
  Value tooHigh = b.create<arith::CmpFOp>(loc, CmpFPredicate::OGE, v, l.floatLike(v, end));
  Value inside = l.andInt(b.create<arith::CmpFOp>(loc, CmpFPredicate::OGT, v, l.floatLike(v, -end)),
                          b.create<arith::CmpFOp>(loc, CmpFPredicate::OLT, v, l.floatLike(v, end)));
  Value whole = b.create<arith::FPToSIOp>(loc, reg, l.pick(inside, v, zero));
  const int64_t smallest =
      width == 64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
  whole = l.pick(tooLow, l.integerLike(whole, smallest), whole);
  whole = l.pick(tooHigh, l.integerLike(whole, ~smallest), whole);
  return {whole, to, out};
}

LaneValue penstock::conversion::intToFloat(const Lanes &l, LaneValue value, Type to) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  value.range.least = 1;
  if (value.real && to.isF32())
    return {value.real, to, value.range};
  Value v = value.value;
  const unsigned width = value.type.getIntOrFloatBitWidth();
  if (width < 32)
    v = l.wideOf(value);
  else if (width == 64 && value.range.within(-2147483648.0, 2147483647.0))
    v = b.create<arith::TruncIOp>(loc, l.like(v, b.getI32Type()), v);
  Value result = b.create<arith::SIToFPOp>(loc, l.like(v, to), v);
  return {result, to, rangeOfCast(CastMode::value, value.type, to, value.range)};
}

static LaneValue intToInt(const Lanes &l, CastMode mode, LaneValue value, Type to) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Value v = value.value;
  const unsigned from = value.type.getIntOrFloatBitWidth(), width = to.getIntOrFloatBitWidth();
  const Interval full = rangeOfType(to);
  const bool fits = value.range.within(full.low, full.high);
  if (to.isSignlessInteger(1)) {
    if (from == 1)
      return value;
    return {l.cmp(CmpIPredicate::ne, v, l.integerLike(v, 0)), to, full};
  }
  const bool noSign = isUnsigned(value.type) || from == 1;
  Value low = value.low;
  if (!low && llvm::isa<VectorType>(v.getType()) && width > 8 && from <= 8)
    low = from == 8 ? v : b.create<arith::ExtUIOp>(loc, l.like(v, b.getI8Type()), v).getResult();
  const PixelSum sum = from == 8 && width == 32 && fits ? value.sum : PixelSum();
  if (value.wide && width == 32 && mode != CastMode::clamp)
    return {value.wide, to, value.range, {}, value.real, {}, sum, {}, low};
  const bool isByte = width == 8 && fits && low;
  if (value.asI16 && !isByte && (width == 16 ? fits : width == 8 && mode == CastMode::clamp)) {
    Value narrow = value.asI16;
    if (value.range.low < full.low)
      narrow = l.maxS(narrow, l.integerLike(narrow, static_cast<int64_t>(full.low)));
    if (value.range.high > full.high)
      narrow = l.minS(narrow, l.integerLike(narrow, static_cast<int64_t>(full.high)));
    Interval out =
        Interval::of(std::max(full.low, value.range.low), std::min(full.high, value.range.high));
    if (width == 8)
      narrow = b.create<arith::TruncIOp>(loc, l.like(narrow, b.getI8Type()), narrow);
    return {narrow, to, out, fits ? v : Value(), fits ? value.real : Value()};
  }
  Value real = fits ? value.real : Value();
  // u16 to i16 and i16 to u16 need a wider step to compare.
  if (mode == CastMode::clamp && !fits) {
    Type wide = l.like(v, b.getIntegerType(std::max(32u, from)));
    if (from < 32)
      v = noSign ? b.create<arith::ExtUIOp>(loc, wide, v).getResult()
                 : b.create<arith::ExtSIOp>(loc, wide, v).getResult();
    if (value.range.low < full.low)
      v = l.maxS(v, l.integerLike(v, static_cast<int64_t>(full.low)));
    if (value.range.high > full.high)
      v = l.minS(v, l.integerLike(v, static_cast<int64_t>(full.high)));
    Interval out =
        Interval::of(std::max(full.low, value.range.low), std::min(full.high, value.range.high));
    const unsigned now = std::max(32u, from);
    Value asI32 = now == 32 && width < 32 ? v : Value();
    if (width < now)
      v = b.create<arith::TruncIOp>(loc, l.like(v, registerType(to)), v);
    else if (width > now)
      v = b.create<arith::ExtSIOp>(loc, l.like(v, registerType(to)), v);
    return {v, to, out, asI32};
  }
  Value wide;
  if (width != 32 && fits)
    wide = from == 32 && value.range.within(-0x1p31, 0x1p31 - 1) ? v : value.wide;
  if (width == 8 && low)
    v = low;
  else if (width < from)
    v = b.create<arith::TruncIOp>(loc, l.like(v, registerType(to)), v);
  else if (width == 64 && wide)
    v = b.create<arith::ExtSIOp>(loc, l.like(v, registerType(to)), wide);
  else if (width > from)
    v = noSign ? b.create<arith::ExtUIOp>(loc, l.like(v, registerType(to)), v).getResult()
               : b.create<arith::ExtSIOp>(loc, l.like(v, registerType(to)), v).getResult();
  LaneValue result{v,   to, fits ? value.range : full, wide, real, {},
                   sum, {}, width > 8 ? low : Value()};
  if (from <= 8 && width == 32 && fits && llvm::isa<VectorType>(value.value.getType())) {
    Type asI16 = l.like(value.value, b.getI16Type());
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
    return cast(mode, widen(*this, value), to);
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
        value = {keepOdd(*this, value.value), value.type, value.range};
      value = intToFloat(*this, value, width <= 16 ? b.getF32Type() : b.getF64Type());
    }
    if (value.type.isF64()) {
      Interval range = value.range;
      value = {roundToOdd(*this, value.value), b.getF32Type(), range};
    }
    return to.isF16() ? narrowToHalf(*this, value) : narrowToBfloat(*this, value);
  }
  if (isFloat(value.type) && isFloat(to)) {
    Type reg = like(value.value, to);
    if (to.isF64())
      return {b.create<arith::ExtFOp>(loc, reg, value.value), to, value.range};
    return {b.create<arith::TruncFOp>(loc, reg, value.value), to,
            rangeOfCast(mode, value.type, to, value.range)};
  }
  if (isFloat(value.type))
    return floatToInt(*this, value, to);
  if (isFloat(to))
    return intToFloat(*this, value, to);
  return intToInt(*this, mode, value, to);
}
