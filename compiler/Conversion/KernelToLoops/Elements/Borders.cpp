// SPDX-License-Identifier: Apache-2.0
//
// Places outside of a tensor, and the elements that stand for them.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <bit>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// After how many elements a border begins again; at least 1.
static Value periodOf(const Lanes &l, Value extent, Border border) {
  Value period = extent;
  if (border != Border::wrap) {
    Value turning = border == Border::symmetric ? extent : l.sub(extent, l.integerLike(extent, 1));
    period = l.mul(turning, l.integerLike(extent, 2));
  }
  return l.maxS(period, l.integerLike(extent, 1));
}

/// The remainder of numbers from 0 to below 2^51 by one above 0, as small. No machine divides
/// integers in lanes. A quotient that is not whole is 1 / y away from the next whole number, and
/// its rounding errs by less for x below 2^53. Numbers below 2^52 are the last bits of themselves
/// plus 2^52.
static Value smallRemainder(const Lanes &l, Value x, Value y) {
  if (!llvm::isa<VectorType>(x.getType()))
    return l.remS(x, y);
  constexpr double shift = 0x1p52;
  constexpr auto shifted = std::bit_cast<int64_t>(shift);
  auto real = [&](Value i) -> Value {
    Value bits = l.orInt(i, l.integerLike(i, shifted));
    Value sum = l.b.create<arith::BitcastOp>(l.loc, l.like(i, l.b.getF64Type()), bits);
    return l.b.create<arith::SubFOp>(l.loc, sum, l.floatLike(sum, shift));
  };
  Value fx = real(x), fy = l.splat(real(y));
  Value quotient = l.b.create<arith::DivFOp>(l.loc, fx, fy);
  Value whole = l.b.create<LLVM::FFloorOp>(l.loc, quotient);
  Value product = l.b.create<arith::MulFOp>(l.loc, whole, fy);
  Value rest = l.b.create<arith::SubFOp>(l.loc, fx, product);
  Value sum = l.b.create<arith::AddFOp>(l.loc, rest, l.floatLike(rest, shift));
  Value bits = l.b.create<arith::BitcastOp>(l.loc, x.getType(), sum);
  return l.xorInt(bits, l.integerLike(bits, shifted));
}

/// The element for a place within the first period.
static Value turned(const Lanes &l, Value rest, Value extent, Value period, Border border) {
  if (border == Border::wrap)
    return rest;
  Value mirrored = l.sub(period, rest);
  if (border == Border::symmetric)
    mirrored = l.sub(mirrored, l.integerLike(mirrored, 1));
  return l.pick(l.cmp(CmpIPredicate::slt, rest, extent), rest, mirrored);
}

Index penstock::conversion::bordered(const Site &site, const Index &index, Value extent,
                                     Border border, Value &inside) {
  auto [ctx, b, l, m] = site.parts();
  Value i = m.numbers(index);
  Value zero = l.integerLike(i, 0), n = extent;
  l.match(i, n);
  switch (border) {
  case Border::constant: {
    Value here = l.andInt(l.cmp(CmpIPredicate::sge, i, zero), l.cmp(CmpIPredicate::slt, i, n));
    inside = inside ? l.andInt(inside, here) : here;
    return m.clamp(index, extent);
  }
  case Border::edge:
    return m.clamp(index, extent);
  default:
    break;
  }
  // A remainder by the period, made non-negative.
  Value period = periodOf(l, n, border);
  Value rest = l.remS(i, period);
  rest = l.pick(l.cmp(CmpIPredicate::slt, rest, zero), l.add(rest, period), rest);
  return m.of(turned(l, rest, n, period, border));
}

Index penstock::conversion::repeated(const Site &site, const Index &index, Value low, Value extent,
                                     Border border) {
  auto [ctx, b, l, m] = site.parts();
  Value period = periodOf(l, extent, border);
  // The same for all lanes, and of any size: it goes first, and what is left is small.
  Value ahead = l.remS(l.sub(l.i64(0), low), period);
  ahead = l.pick(l.cmp(CmpIPredicate::slt, ahead, l.i64(0)), l.add(ahead, period), ahead);
  Value x = m.numbers(m.add(index, m.uniform(l.add(low, ahead))));
  Value rest = smallRemainder(l, l.maxS(x, l.integerLike(x, 0)), period);
  l.match(rest, extent);
  return m.of(turned(l, rest, extent, l.splat(period), border));
}

/// Numbers that an index cannot leave, where its loops tell.
static std::optional<std::pair<int64_t, int64_t>> boundsOf(Value value) {
  if (auto known = Lanes::constantOf(value))
    return std::pair(*known, *known);
  if (auto counter = llvm::dyn_cast<BlockArgument>(value)) {
    auto loop = llvm::dyn_cast_if_present<scf::ForOp>(counter.getOwner()->getParentOp());
    if (!loop || counter != loop.getInductionVar())
      return std::nullopt;
    auto low = Lanes::constantOf(loop.getLowerBound()),
         high = Lanes::constantOf(loop.getUpperBound()), step = Lanes::constantOf(loop.getStep());
    if (!low || !high || !step || *step <= 0 || *low >= *high)
      return std::nullopt;
    return std::pair(*low, *low + (*high - 1 - *low) / *step * *step);
  }
  Operation *op = value.getDefiningOp();
  if (!llvm::isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return std::nullopt;
  auto x = boundsOf(op->getOperand(0)), y = boundsOf(op->getOperand(1));
  if (!x || !y)
    return std::nullopt;
  if (llvm::isa<arith::AddIOp>(op))
    return std::pair(x->first + y->first, x->second + y->second);
  if (llvm::isa<arith::MaxSIOp>(op))
    return std::pair(std::max(x->first, y->first), std::max(x->second, y->second));
  return std::pair(std::min(x->first, y->first), std::min(x->second, y->second));
}

/// Returns whether first and last lane of an affine index lie inside; null if that
/// cannot be said for all lanes at once.
Value penstock::conversion::wholeInside(const Lanes &l, const Index &index, Value extent,
                                        int64_t low, int64_t high) {
  if (!index.affine())
    return {};
  Value first = index.base;
  Value last = l.add(first, l.i64(index.stride * (l.lanes - 1)));
  if (index.stride < 0)
    std::swap(first, last);
  const auto from = boundsOf(first), to = boundsOf(last), size = boundsOf(extent);
  if (from && to && size && from->first + low >= 0 && to->second + high < size->first)
    return l.b.create<arith::ConstantIntOp>(l.loc, 1, 1);
  return l.andInt(l.cmp(CmpIPredicate::sge, l.add(first, l.i64(low)), l.i64(0)),
                  l.cmp(CmpIPredicate::slt, l.add(last, l.i64(high)), extent));
}

static bool readsPlainlyBelow(const Site &site, Value value, Seen &seen);

/// Returns whether `value` at inactive lanes is harmless: loads care for
/// themselves, everything on the way is arithmetic and affine.
bool penstock::conversion::readsPlainly(const Site &site, Value value) {
  Seen seen;
  return readsPlainlyBelow(site, value, seen);
}

static bool readsPlainlyBelow(const Site &site, Value value, Seen &seen) {
  if (site.buffer(value) || !seen.isNew(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (auto view = llvm::dyn_cast_if_present<ViewOp>(op)) {
    bool plain = true;
    for (AffineExpr expr : view.getMap().getResults())
      expr.walk([&](AffineExpr part) {
        plain &= part.getKind() != AffineExprKind::Mod &&
                 part.getKind() != AffineExprKind::FloorDiv &&
                 part.getKind() != AffineExprKind::CeilDiv;
      });
    return plain && readsPlainlyBelow(site, view.getInput(), seen);
  }
  if (readsOneOfEach(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !llvm::isa<NamedTensorType>(operand.getType()) ||
             readsPlainlyBelow(site, operand, seen);
    });
  // Tables are not padded by memory.
  return false;
}
