// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic, comparison and selection on lanes.
#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"
#include "compiler/Conversion/KernelToLoops/Vector/AsI16.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneHalves.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneIntegers.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/scalar.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

LaneValue Lanes::wrap(Value value, Type elementType) const {
  return {value, elementType, rangeOfType(elementType)};
}

Value Lanes::wideOf(const LaneValue &value) const {
  if (value.wide)
    return value.wide;
  Type i32Type = like(value.value, b.getI32Type());
  if (isUnsigned(value.type) || value.type.isSignlessInteger(1))
    return b.create<arith::ExtUIOp>(loc, i32Type, value.value);
  return b.create<arith::ExtSIOp>(loc, i32Type, value.value);
}

LaneValue Lanes::constant(TypedAttr attribute) const {
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

LaneValue Lanes::unary(UnaryKind kind, LaneValue a) const {
  Value v = a.value;
  const Interval r = a.range, out = penstock::analysis::rangeOfUnary(kind, a.type, r);
  if (!isFloat(a.type)) {
    switch (kind) {
    case UnaryKind::neg:
      v = b.create<arith::SubIOp>(loc, integerLike(v, 0), v);
      break;
    case UnaryKind::abs:
      if (isUnsigned(a.type))
        return a;
      if (r.low < 0)
        v = pick(cmp(arith::CmpIPredicate::slt, v, integerLike(v, 0)),
                 b.create<arith::SubIOp>(loc, integerLike(v, 0), v), v);
      break;
    default: // bit_not
      v = xorInt(v, integerLike(v, -1));
      return {v, a.type, out};
    }
    LaneValue result{v, a.type, out};
    result.asI16 = unaryAsI16(*this, kind, a, out);
    return result;
  }
  switch (kind) {
  case UnaryKind::neg:
    return {b.create<arith::NegFOp>(loc, v), a.type, out};
  case UnaryKind::abs:
    return {b.create<LLVM::FAbsOp>(loc, v), a.type, out};
  case UnaryKind::floor:
    return {b.create<LLVM::FFloorOp>(loc, v), a.type, out};
  case UnaryKind::ceil:
    return {b.create<LLVM::FCeilOp>(loc, v), a.type, out};
  case UnaryKind::trunc:
    return {b.create<LLVM::FTruncOp>(loc, v), a.type, out};
  case UnaryKind::round:
    return {b.create<LLVM::RoundEvenOp>(loc, v), a.type, out};
  case UnaryKind::round_away: {
    // trunc(x), plus the sign's 1 where the rest (exact) is at least a half.
    Value whole = b.create<LLVM::FTruncOp>(loc, v);
    Value rest = b.create<LLVM::FAbsOp>(loc, b.create<arith::SubFOp>(loc, v, whole));
    Value up = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, rest, floatLike(v, 0.5));
    Value step = pick(up, floatLike(v, 1.0), floatLike(v, 0.0));
    Value sum = b.create<arith::AddFOp>(loc, whole, b.create<LLVM::CopySignOp>(loc, step, v));
    // An infinity's rest is NaN, which compares false; the sign of 0 stays.
    return {b.create<LLVM::CopySignOp>(loc, sum, v), a.type, out};
  }
  case UnaryKind::sqrt:
    return {b.create<LLVM::SqrtOp>(loc, v), a.type, out};
  default:
    llvm_unreachable("bit_not on a float");
  }
}

//===--- binary ---------------------------------------------------------------===//

/// Sums and multiples of numbers that grow by a step grow by a step, whether or not they wrap
/// around.
static void keepStep(const Lanes &l, BinaryKind kind, const LaneValue &a, const LaneValue &c,
                     LaneValue &result) {
  auto stepOf = [](const LaneValue &value) {
    return value.isVector() ? value.step : std::optional<int64_t>(0);
  };
  auto firstOf = [](const LaneValue &value) {
    return value.isVector() ? value.first : value.value;
  };
  const auto left = stepOf(a), right = stepOf(c);
  if (!result.type.isSignlessInteger(64) || !result.isVector() || !left || !right)
    return;
  auto keep = [&](int64_t step, auto first) {
    if (std::abs(step) > INT32_MAX)
      return;
    result.step = step;
    result.first = first();
  };
  if (kind == BinaryKind::add)
    return keep(*left + *right, [&] { return l.add(firstOf(a), firstOf(c)); });
  if (kind == BinaryKind::sub)
    return keep(*left - *right, [&] { return l.sub(firstOf(a), firstOf(c)); });
  const LaneValue &factor = a.isVector() ? c : a, &other = a.isVector() ? a : c;
  const auto known = factor.isVector() ? std::nullopt : Lanes::constantOf(factor.value);
  if (kind == BinaryKind::mul && known && std::abs(*known) <= INT32_MAX)
    keep(*known * *other.step, [&] { return l.mul(other.first, factor.value); });
}

LaneValue Lanes::binary(BinaryKind kind, LaneValue lhs, LaneValue rhs) const {
  const LaneValue a = lhs, c = rhs;
  match(lhs.value, rhs.value);
  if (isFloat(lhs.type))
    return floatBinary(*this, kind, lhs, rhs);
  LaneValue result = intBinary(*this, kind, lhs, rhs);
  keepStep(*this, kind, a, c, result);
  return result;
}

//===--- comparison, selection -------------------------------------------------===//

LaneValue Lanes::compare(Predicate predicate, LaneValue lhs, LaneValue rhs) const {
  if (lhs.type.isF16() || lhs.type.isBF16()) {
    lhs = widen(*this, lhs);
    rhs = widen(*this, rhs);
  }
  if (Value v = compareBytes(*this, predicate, lhs, rhs))
    return {v, b.getI1Type(), Interval::of(0, 1)};
  match(lhs.value, rhs.value);
  Value v;
  if (isFloat(lhs.type)) {
    using P = arith::CmpFPredicate;
    static constexpr P ordered[] = {P::OEQ, P::UNE, P::OLT, P::OLE, P::OGT, P::OGE};
    v = b.create<arith::CmpFOp>(loc, ordered[static_cast<int>(predicate)], lhs.value, rhs.value);
  } else {
    const bool noSign = isUnsigned(lhs.type) || lhs.type.isSignlessInteger(1);
    // Numbers that fit 32 bits were mostly made wider to be compared: half of the registers are
    // enough.
    auto isSmall = [](const Interval &range) { return range.within(INT32_MIN, INT32_MAX); };
    if (auto type = llvm::dyn_cast<VectorType>(lhs.value.getType());
        type && type.getElementTypeBitWidth() == 64 && isSmall(lhs.range) && isSmall(rhs.range))
      for (Value *side : {&lhs.value, &rhs.value})
        *side = b.create<arith::TruncIOp>(loc, like(*side, b.getI32Type()), *side);
    v = integerCompare(*this, predicate, noSign, lhs.value, rhs.value);
  }
  return {v, b.getI1Type(), Interval::of(0, 1)};
}

LaneValue Lanes::select(LaneValue condition, LaneValue onTrue, LaneValue onFalse) const {
  Value v = pick(condition.value, onTrue.value, onFalse.value), wide;
  const bool narrow = !isFloat(onTrue.type) && onTrue.type.getIntOrFloatBitWidth() < 32;
  if (narrow ? onTrue.wide || onFalse.wide : onTrue.wide && onFalse.wide)
    wide = pick(condition.value, wideOf(onTrue), wideOf(onFalse));
  LaneValue result{v,
                   onTrue.type,
                   {std::min(onTrue.range.low, onFalse.range.low),
                    std::max(onTrue.range.high, onFalse.range.high),
                    onTrue.range.nan || onFalse.range.nan},
                   wide};
  if (onTrue.asI16 || onFalse.asI16)
    if (Value x = asI16(*this, onTrue), y = asI16(*this, onFalse); x && y)
      result.asI16 = pick(condition.value, x, y);
  return result;
}
