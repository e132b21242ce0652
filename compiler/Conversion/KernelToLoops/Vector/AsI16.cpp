// SPDX-License-Identifier: Apache-2.0
//
// Integers of 32 bits computed in 16.
#include "compiler/Conversion/KernelToLoops/Vector/AsI16.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static bool fitsI16(const Interval &range) { return range.within(INT16_MIN, INT16_MAX); }

Value penstock::conversion::asI16(const Lanes &l, const LaneValue &value) {
  if (value.asI16)
    return value.asI16;
  auto type = llvm::dyn_cast<VectorType>(value.value.getType());
  if (!type || value.range.low != value.range.high || !fitsI16(value.range))
    return {};
  auto number = static_cast<int16_t>(value.range.low);
  return l.b.create<arith::ConstantOp>(
      l.loc, DenseElementsAttr::get(VectorType::get(type.getShape(), l.b.getI16Type()),
                                    l.b.getI16IntegerAttr(number)));
}

Value penstock::conversion::binaryAsI16(const Lanes &l, BinaryKind kind, const LaneValue &a,
                                        const LaneValue &c, const Interval &result) {
  if ((!a.asI16 && !c.asI16) || !fitsI16(a.range) || !fitsI16(c.range) || !fitsI16(result))
    return {};
  Value x = asI16(l, a), y = asI16(l, c);
  if (!x || !y)
    return {};
  switch (kind) {
  case BinaryKind::add:
    return l.b.create<arith::AddIOp>(l.loc, x, y);
  case BinaryKind::sub:
    return l.b.create<arith::SubIOp>(l.loc, x, y);
  case BinaryKind::mul:
    return l.b.create<arith::MulIOp>(l.loc, x, y);
  case BinaryKind::div: // by one number, which is a product
    if (c.range.low != c.range.high || c.range.low < 1)
      return {};
    return a.range.low >= 0 ? l.b.create<arith::DivUIOp>(l.loc, x, y).getResult()
                            : l.b.create<arith::DivSIOp>(l.loc, x, y).getResult();
  case BinaryKind::min:
    return l.minS(x, y);
  case BinaryKind::max:
    return l.maxS(x, y);
  default:
    return {};
  }
}

Value penstock::conversion::unaryAsI16(const Lanes &l, UnaryKind kind, const LaneValue &a,
                                       const Interval &result) {
  const bool isAbs = kind == UnaryKind::abs;
  if (!a.asI16 || !fitsI16(a.range) || !fitsI16(result) || !(isAbs || kind == UnaryKind::neg))
    return {};
  Value zero = l.integerLike(a.asI16, 0);
  Value negative = l.b.create<arith::SubIOp>(l.loc, zero, a.asI16);
  return isAbs ? l.pick(l.cmp(arith::CmpIPredicate::slt, a.asI16, zero), negative, a.asI16)
               : negative;
}
