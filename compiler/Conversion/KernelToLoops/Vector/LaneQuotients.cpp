// SPDX-License-Identifier: Apache-2.0
//
// Quotients as products.
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Vector/Reciprocal.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <bit>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Between these, no step of a quotient by products loses bits, nor does any overflow.
static constexpr float leastBounded = 0x1p-60f, mostBounded = 0x1p60f;

static constexpr auto leastBits = std::bit_cast<int32_t>(leastBounded),
                      mostBits = std::bit_cast<int32_t>(mostBounded);

/// Returns whether a float of any lane lies beyond these bounds, and is no zero.
static Value anyUnbounded(const Lanes &l, Value x) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Value bits = b.create<arith::BitcastOp>(loc, l.like(x, b.getI32Type()), x);
  bits = l.andInt(bits, l.integerLike(bits, 0x7FFFFFFF)); // in the order of the numbers
  Value most = combinedRegisters(
      l, bits, [&](Value p, Value q) -> Value { return b.create<arith::MaxUIOp>(loc, p, q); });
  // 0 comes behind all others.
  Value least = combinedRegisters(l, l.sub(bits, l.integerLike(bits, 1)), [&](Value p, Value q) {
    return Value(b.create<arith::MinUIOp>(loc, p, q));
  });
  Value isSmall = l.cmp(CmpIPredicate::ult, least, l.integerLike(least, leastBits - 1));
  return anyLane(l, most, [&](Value some) {
    return l.orInt(l.cmp(CmpIPredicate::sgt, some, l.integerLike(some, mostBits)), isSmall);
  });
}

/// x / c with one c for all lanes: with r = 1 / c, rounded, q = x * r is less than two units of the
/// last place away, and q + (x - q * c) * r, each sum rounded once, is the quotient. The quotients
/// that lie so near the middle of two floats that this could differ have been tried, all of them
/// (FloatsTest.cpp). Zeros keep their sign, since c is positive; all other numbers beyond
/// the bounds are divided. What is NaN is so among those, and made canonical there.
static LaneValue quotientByOne(const Lanes &l, const LaneValue &dividend, Value c) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Value x = dividend.value, odd = anyUnbounded(l, x);
  Value divisor = b.create<arith::BitcastOp>(loc, b.getI32Type(), c); // negative: not bounded
  Value isBounded = l.cmp(CmpIPredicate::ule, l.sub(divisor, l.integerLike(divisor, leastBits)),
                          l.integerLike(divisor, mostBits - leastBits));
  Value fine = l.andInt(isBounded, l.xorInt(odd, l.integerLike(odd, 1)));
  auto choice = b.create<scf::IfOp>(loc, TypeRange{x.getType()}, fine, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Value one = b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(1));
  Value r = l.splat(b.create<arith::DivFOp>(loc, one, c)), y = l.splat(c);
  Value q = b.create<arith::MulFOp>(loc, x, r);
  Value over = b.create<LLVM::FMAOp>(loc, q, y, b.create<arith::NegFOp>(loc, x));
  q = b.create<LLVM::FMAOp>(loc, b.create<arith::NegFOp>(loc, over), r, q);
  b.create<scf::YieldOp>(loc, q);
  b.setInsertionPointToStart(choice.elseBlock());
  LaneValue divided{b.create<arith::DivFOp>(loc, x, l.splat(c)), dividend.type, {}};
  b.create<scf::YieldOp>(loc, l.canonical(divided).value);
  LaneValue result{choice.getResult(0), dividend.type, {}};
  result.canonical = result.value;
  return result;
}

/// x / c. A product with a constant's reciprocal takes a sixth of the time; where
/// that is exact, and what it loses with tiny numbers does not occur, it is the same.
LaneValue penstock::conversion::quotient(const Lanes &l, const LaneValue &a, const LaneValue &c) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  const auto constant = static_cast<float>(c.range.low);
  const bool hasProducts = l.has.fusedMultiplyAdd && a.type.isF32();
  auto alike = c.value.getDefiningOp<vector::SplatOp>();
  if (l.reciprocals && hasProducts && alike && l.lanes * 4 >= l.has.registerBytes)
    return quotientByOne(l, a, alike.getInput());
  if (!hasProducts || !c.range.isConstant() || a.range.least < 0x1p-60 || !dividesExactly(constant))
    return {b.create<arith::DivFOp>(loc, a.value, c.value), a.type, {}};
  const Reciprocal r(constant);
  auto number = [&](float part) { return l.floatLike(a.value, static_cast<double>(part)); };
  Value high = number(r.high);
  if (r.low == 0)
    return {b.create<arith::MulFOp>(loc, a.value, high), a.type, {}};
  return {b.create<LLVM::FMAOp>(loc, a.value, high,
                                b.create<arith::MulFOp>(loc, a.value, number(r.low))),
          a.type,
          {}};
}
