// SPDX-License-Identifier: Apache-2.0
//
// Integers of 32 bits as words of 16.
#include "compiler/Conversion/KernelToLoops/Vector/Words.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static bool isWord(const Interval &range) { return range.within(INT16_MIN, INT16_MAX); }

Value penstock::conversion::wordOf(const Lanes &l, const LaneValue &value) {
  if (value.word)
    return value.word;
  auto type = llvm::dyn_cast<VectorType>(value.value.getType());
  if (!type || value.range.low != value.range.high || !isWord(value.range))
    return {};
  auto number = static_cast<int16_t>(value.range.low);
  return l.b.create<arith::ConstantOp>(
      l.loc, DenseElementsAttr::get(VectorType::get(type.getShape(), l.b.getI16Type()),
                                    l.b.getI16IntegerAttr(number)));
}

Value penstock::conversion::wordBinary(const Lanes &l, BinaryKind kind, const LaneValue &a,
                                       const LaneValue &c, const Interval &result) {
  if ((!a.word && !c.word) || !isWord(a.range) || !isWord(c.range) || !isWord(result))
    return {};
  Value x = wordOf(l, a), y = wordOf(l, c);
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

Value penstock::conversion::wordUnary(const Lanes &l, UnaryKind kind, const LaneValue &a,
                                      const Interval &result) {
  const bool isAbs = kind == UnaryKind::abs;
  if (!a.word || !isWord(a.range) || !isWord(result) || !(isAbs || kind == UnaryKind::neg))
    return {};
  Value zero = l.integerLike(a.word, 0);
  Value negative = l.b.create<arith::SubIOp>(l.loc, zero, a.word);
  return isAbs ? l.pick(l.cmp(arith::CmpIPredicate::slt, a.word, zero), negative, a.word)
               : negative;
}
