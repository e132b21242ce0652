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

/// Returns whether the bits of a float, but for its sign, are those of one between these bounds.
static Value isBounded(const Lanes &l, Value bits, CmpIPredicate predicate) {
  constexpr auto low = std::bit_cast<int32_t>(leastBounded),
                 high = std::bit_cast<int32_t>(mostBounded);
  return l.cmp(predicate, l.sub(bits, l.integerLike(bits, low)), l.integerLike(bits, high - low));
}

/// x / c with one c for all lanes: with r = 1 / c, rounded, q = x * r is less than two units of the
/// last place away, and q + (x - q * c) * r, each sum rounded once, is the quotient. The quotients
/// that lie so near the middle of two floats that this could differ have been tried, all of them
/// (FloatsTest.cpp). Zeros keep their sign, since c is positive; all other numbers beyond
/// the bounds are divided.
static Value quotientByOne(const Lanes &l, Value x, Value c) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  Value bits = b.create<arith::BitcastOp>(loc, l.like(x, b.getI32Type()), x);
  bits = l.andInt(bits, l.integerLike(bits, 0x7FFFFFFF));
  Value odd = anyLane(l, bits, [&](Value part) {
    return l.andInt(isBounded(l, part, CmpIPredicate::ugt),
                    l.cmp(CmpIPredicate::ne, part, l.integerLike(part, 0)));
  });
  Value divisor = b.create<arith::BitcastOp>(loc, b.getI32Type(), c); // negative: not bounded
  Value fine =
      l.andInt(isBounded(l, divisor, CmpIPredicate::ule), l.xorInt(odd, l.integerLike(odd, 1)));
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
  b.create<scf::YieldOp>(loc, b.create<arith::DivFOp>(loc, x, l.splat(c)).getResult());
  return choice.getResult(0);
}

/// x / c. A product with a constant's reciprocal takes a sixth of the time; where
/// that is exact, and what it loses with tiny numbers does not occur, it is the same.
Value penstock::conversion::quotient(const Lanes &l, const LaneValue &a, const LaneValue &c) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  const auto constant = static_cast<float>(c.range.low);
  if (!l.has.fusedMultiplyAdd || !a.type.isF32())
    return b.create<arith::DivFOp>(loc, a.value, c.value);
  auto alike = c.value.getDefiningOp<vector::SplatOp>();
  if (alike && l.lanes * 4 >= l.has.registerBytes)
    return quotientByOne(l, a.value, alike.getInput());
  if (!c.range.isConstant() || a.range.least < 0x1p-60 || !dividesExactly(constant))
    return b.create<arith::DivFOp>(loc, a.value, c.value);
  const Reciprocal r(constant);
  auto number = [&](float part) { return l.floatLike(a.value, static_cast<double>(part)); };
  Value high = number(r.high);
  if (r.low == 0)
    return b.create<arith::MulFOp>(loc, a.value, high);
  return b.create<LLVM::FMAOp>(loc, a.value, high,
                               b.create<arith::MulFOp>(loc, a.value, number(r.low)));
}
