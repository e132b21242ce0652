// SPDX-License-Identifier: Apache-2.0
//
// Pads: what lies outside.
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

Index penstock::conversion::bordered(const Site &site, const Index &index, Value extent,
                                     Border border, Value &inside) {
  auto [ctx, b, l, m] = site.parts();
  Value i = m.numbers(index);
  Value zero = l.integerLike(i, 0), one = l.integerLike(i, 1), n = extent;
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
  Value period = border == Border::wrap        ? n
                 : border == Border::symmetric ? l.mul(n, l.integerLike(n, 2))
                                               : l.mul(l.sub(n, one), l.integerLike(n, 2));
  period = l.maxS(period, one);
  Value rest = l.remS(i, period);
  rest = l.pick(l.cmp(CmpIPredicate::slt, rest, zero), l.add(rest, period), rest);
  if (border == Border::wrap)
    return m.of(rest);
  Value mirrored = l.sub(period, rest);
  if (border == Border::symmetric)
    mirrored = l.sub(mirrored, one);
  return m.of(l.pick(l.cmp(CmpIPredicate::slt, rest, n), rest, mirrored));
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

/// Returns whether `value` at lanes that stand for nothing is harmless: loads care for
/// themselves, everything on the way is arithmetic and affine.
bool penstock::conversion::readsPlainly(const Site &site, Value value) {
  Seen seen;
  return readsPlainlyBelow(site, value, seen);
}

static bool readsPlainlyBelow(const Site &site, Value value, Seen &seen) {
  auto [ctx, b, l, m] = site.parts();
  if (ctx.buffers.contains(value) || !seen.isNew(value))
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

/// The element of a pad's input that is nearest, or the fill.
static LaneValue nearestOf(const Site &site, PadOp op, ArrayRef<Index> moved,
                           ArrayRef<int64_t> axes, LaneValue fill) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<Index> inner(moved);
  Value inside;
  for (int64_t axis : axes)
    inner[axis] =
        bordered(site, moved[axis], extent(site, op.getInput(), axis), op.getBorder(), inside);
  LaneValue value = emit(site, op.getInput(), inner);
  if (!inside)
    return value;
  return l.select(l.wrap(inside, b.getI1Type()), value, fill);
}

/// Returns whether the axes of a pad's input have elements; null where they are known to, or a
/// border has some anyway.
static Value hasElements(const Site &site, PadOp op, ArrayRef<int64_t> axes) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  Value some;
  if (op.getBorder() == Border::constant)
    for (int64_t axis : axes)
      if (!type.getAxes()[axis].isStatic() || type.getAxes()[axis].extent == 0) {
        Value any = l.cmp(CmpIPredicate::sgt, extent(site, op.getInput(), axis), l.i64(0));
        some = some ? l.andInt(some, any) : any;
      }
  return some;
}

/// Along uniform axes whether a padded element exists is one answer for all
/// lanes. Along the axis of the lanes, the loads below leave out those that do
/// not exist.
LaneValue penstock::conversion::emitPad(const Site &site, PadOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  const bool vector = anyLanes(at);
  SmallVector<Index> moved(at);
  SmallVector<int64_t> axes;
  Value whole, rows;
  bool canTest = true;
  int64_t laneAxis = -1, laneAxes = 0;
  const PadRows none;
  const PadRows &rowsKnown = site.padRows ? *site.padRows : none;
  const auto known = rowsKnown.find(op);
  const bool rowExists = known != rowsKnown.end() && known->second;
  for (auto [name, low] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getLow())) {
    const int64_t axis = type.axisIndex(name);
    axes.push_back(axis);
    moved[axis] = m.add(at[axis], m.uniform(l.sub(l.i64(0), scalarOf(site, low).value)));
    Value inside = wholeInside(l, moved[axis], extent(site, op.getInput(), axis));
    canTest &= static_cast<bool>(inside);
    if (!canTest)
      continue;
    whole = whole ? l.andInt(whole, inside) : inside;
    if (moved[axis].uniform()) {
      if (!rowExists || !llvm::is_contained(*known->second, axis))
        rows = rows ? l.andInt(rows, inside) : inside;
    } else {
      ++laneAxes;
      laneAxis = axis;
    }
  }
  auto directAt = [&](const Site &site) { return emit(site, op.getInput(), moved); };
  auto direct = [&] { return directAt(site); };
  const LaneValue fill = op.getFill() ? scalarOf(site, op.getFill()) : LaneValue{};
  if (known != rowsKnown.end() && !rowExists)
    return fill;
  if (rowExists && !rows && !laneAxes && canTest && op.getBorder() == Border::constant)
    return direct();
  Type element = type.getElementType();
  const int64_t stride = laneAxis >= 0 ? moved[laneAxis].stride : 0;
  if (canTest && whole && op.getBorder() == Border::constant && laneAxes <= 1 &&
      std::abs(stride) <= 1 && readsPlainly(site, op.getInput())) {
    auto existing = [&]() -> LaneValue {
      if (laneAxis < 0)
        return direct();
      Value last = l.sub(extent(site, op.getInput(), laneAxis), l.i64(1)),
            base = moved[laneAxis].base;
      LiveLanes lanes = stride > 0 ? LiveLanes{l.sub(l.i64(0), base), l.sub(last, base)}
                                   : LiveLanes{l.sub(base, last), base};
      LaneValue value = directAt(site.withLive(lanes));
      Value source = op.getInput();
      while (auto view = source.getDefiningOp<ViewOp>())
        source = view.getInput();
      if (ctx.buffers.contains(source) && Lanes::isPositiveZero(fill.value))
        return value; // lanes that are not live read as 0
      return l.select(l.wrap(m.liveMask(lanes), b.getI1Type()), value, fill);
    };
    // Where there are many vectors, most lie inside.
    const Axis &across = type.getAxes()[std::max<int64_t>(laneAxis, 0)];
    auto lanes = [&] {
      if (laneAxis < 0 || (across.isStatic() && across.extent <= l.lanes))
        return existing();
      return branch(site, wholeInside(l, moved[laneAxis], extent(site, op.getInput(), laneAxis)),
                    element, vector, direct, existing);
    };
    if (laneAxis >= 0 && !(across.isStatic() && across.extent > 0)) {
      Value some = l.cmp(CmpIPredicate::sgt, extent(site, op.getInput(), laneAxis), l.i64(0));
      rows = rows ? l.andInt(rows, some) : some;
    }
    if (!rows)
      return lanes();
    return branch(site, rows, element, vector, lanes, [&] { return fill; });
  }
  auto nearest = [&] { return nearestOf(site, op, moved, axes, fill); };
  // Nothing is near to what lies outside of an empty axis.
  Value some = hasElements(site, op, axes);
  auto outside = [&] {
    return some ? branch(site, some, element, vector, nearest, [&] { return fill; }) : nearest();
  };
  if (!canTest || !whole)
    return outside();
  return branch(site, whole, element, vector, direct, outside);
}
