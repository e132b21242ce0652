// SPDX-License-Identifier: Apache-2.0
//
// Pads: elements of the input, or what stands for those that it has not.
#include "compiler/Conversion/Elements/Borders.h"
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/LaneTarget.h"
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Most pads, one read behind the other, that tell vectors inside of the input from those that
/// reach beyond: each writes what it reads twice. Pads behind these take all for the latter.
static constexpr int64_t mostForks = 2;

namespace {
/// Where an element of a pad lies in its input.
struct PadPlace {
  SmallVector<Index> at;
  SmallVector<int64_t> axes; ///< along which it may lie outside
  SmallVector<Value> low;    ///< what stands before the input there
  Value whole;               ///< no lane does; null where that cannot be said for all at once
  Value rows;                ///< of these the axes that are the same in all lanes; null: none
  int64_t laneAxis = -1, laneAxes = 0;
};
} // namespace

/// The place that stands for one outside, the same in all lanes. It is chosen by itself: a branch
/// around the read would write what is read twice, and again for each pad behind this one.
static Index placeInside(const Site &site, const Index &index, Value extent, Border border) {
  auto [ctx, b, l, m] = site.parts();
  Value ignored;
  if (border == Border::edge)
    return bordered(site, index, extent, border, ignored);
  Value inside = wholeInside(l, index, extent);
  if (auto known = Lanes::constantOf(inside); known && *known)
    return index;
  auto op = b.create<scf::IfOp>(l.loc, TypeRange{index.base.getType()}, inside, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  b.create<scf::YieldOp>(l.loc, index.base);
  b.setInsertionPointToStart(op.elseBlock());
  b.create<scf::YieldOp>(l.loc, bordered(site, index, extent, border, ignored).base);
  return m.uniform(op.getResult(0));
}

/// `existing`: axes along which the row is known to lie inside.
static PadPlace placeOf(const Site &site, PadOp op, ArrayRef<Index> at,
                        ArrayRef<int64_t> existing) {
  auto [ctx, b, l, m] = site.parts();
  PadPlace place;
  place.at.append(at.begin(), at.end());
  bool canTest = true;
  for (auto [name, low] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getLow())) {
    const int64_t axis = typeOf(op.getInput()).axisIndex(name);
    Index &moved = place.at[axis];
    Value before = scalarOf(site, low).value;
    moved = m.add(moved, m.uniform(l.sub(l.i64(0), before)));
    Value size = extent(site, op.getInput(), axis);
    if (moved.uniform() && op.getBorder() != Border::constant) {
      moved = placeInside(site, moved, size, op.getBorder());
      continue;
    }
    place.axes.push_back(axis);
    place.low.push_back(before);
    Value inside = wholeInside(l, moved, size);
    canTest &= static_cast<bool>(inside);
    if (!canTest)
      continue;
    place.whole = place.whole ? l.andInt(place.whole, inside) : inside;
    if (!moved.uniform()) {
      ++place.laneAxes;
      place.laneAxis = axis;
    } else if (!llvm::is_contained(existing, axis)) {
      place.rows = place.rows ? l.andInt(place.rows, inside) : inside;
    }
  }
  if (!canTest)
    place.whole = {};
  return place;
}

/// The element of a pad's input that is nearest, or the fill.
static LaneValue nearestOf(const Site &site, PadOp op, const PadPlace &place) {
  BorderedRead<LaneTarget> from{op.getInput(), place.at, place.axes, op.getBorder(), op.getFill()};
  if (from.border != Border::constant && from.border != Border::edge) {
    for (auto [axis, low] : llvm::zip(place.axes, place.low))
      from.at[axis] =
          repeated(site, from.at[axis], low, extent(site, from.input, axis), from.border);
    from.axes.clear();
  }
  return elementOrBorder(LaneTarget{site, anyLanes(place.at)}, std::move(from));
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

/// `ahead` where the condition holds, else `general`, which tells nothing apart any more.
static LaneValue fork(const Site &site, Value condition, Type element, bool vector,
                      llvm::function_ref<LaneValue(const Site &)> ahead,
                      llvm::function_ref<LaneValue(const Site &)> general) {
  Site inner = site;
  inner.forks = mostForks;
  if (site.forks >= mostForks)
    return general(inner);
  Site straight = site;
  ++straight.forks;
  return branch(
      site, condition, element, vector, [&] { return ahead(straight); },
      [&] { return general(inner); });
}

/// Loads that leave out the lanes which do not exist, and the fill there.
static LaneValue existingOf(const Site &site, PadOp op, const PadPlace &place, LaneValue fill) {
  auto [ctx, b, l, m] = site.parts();
  const Index &along = place.at[place.laneAxis];
  Value last = l.sub(extent(site, op.getInput(), place.laneAxis), l.i64(1));
  LiveLanes lanes = along.stride > 0
                        ? LiveLanes{l.sub(l.i64(0), along.base), l.sub(last, along.base)}
                        : LiveLanes{l.sub(along.base, last), along.base};
  LaneValue value = emit(site.withLive(lanes), op.getInput(), place.at);
  Value source = op.getInput();
  while (auto view = source.getDefiningOp<ViewOp>())
    source = view.getInput();
  // Lanes that are not live read as 0, but where a view has all of them read one element.
  if (value.isVector() && site.buffer(source) && isPositiveZero(fill.value))
    return value;
  return l.select(l.wrap(m.liveMask(lanes), b.getI1Type()), value, fill);
}

/// A fill around what loads can leave out by themselves.
static LaneValue filled(const Site &site, PadOp op, const PadPlace &place, bool vector,
                        LaneValue fill) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  Type element = type.getElementType();
  auto direct = [&](const Site &site) { return emit(site, op.getInput(), place.at); };
  Value rows = place.rows;
  auto lanes = [&] {
    if (place.laneAxis < 0)
      return direct(site);
    auto existing = [&](const Site &site) { return existingOf(site, op, place, fill); };
    // Where there are many vectors, most lie inside.
    const Axis &across = type.getAxes()[place.laneAxis];
    if (across.isStatic() && across.extent <= l.lanes)
      return existing(site);
    return fork(
        site, wholeInside(l, place.at[place.laneAxis], extent(site, op.getInput(), place.laneAxis)),
        element, vector, direct, existing);
  };
  if (place.laneAxis >= 0 &&
      !(type.getAxes()[place.laneAxis].isStatic() && type.getAxes()[place.laneAxis].extent > 0)) {
    Value some = l.cmp(CmpIPredicate::sgt, extent(site, op.getInput(), place.laneAxis), l.i64(0));
    rows = rows ? l.andInt(rows, some) : some;
  }
  if (!rows)
    return lanes();
  return branch(site, rows, element, vector, lanes, [&] { return fill; });
}

/// Along uniform axes whether a padded element exists is one answer for all
/// lanes. Along the axis of the lanes, the loads below leave out those that do
/// not exist.
LaneValue penstock::conversion::emitPad(const Site &site, PadOp op, ArrayRef<Index> at) {
  Type element = typeOf(op.getInput()).getElementType();
  const bool vector = anyLanes(at), constant = op.getBorder() == Border::constant;
  const PadRows none;
  const PadRows &rowsKnown = site.padRows ? *site.padRows : none;
  const auto known = rowsKnown.find(op);
  const bool rowExists = known != rowsKnown.end() && known->second;
  const LaneValue fill = op.getFill() ? scalarOf(site, op.getFill()) : LaneValue{};
  if (known != rowsKnown.end() && !rowExists)
    return fill;
  const PadPlace place =
      placeOf(site, op, at, rowExists ? ArrayRef<int64_t>(*known->second) : ArrayRef<int64_t>());
  auto direct = [&](const Site &site) { return emit(site, op.getInput(), place.at); };
  if (place.axes.empty() ||
      (constant && rowExists && place.whole && !place.rows && !place.laneAxes))
    return direct(site);
  if (constant && place.whole && place.laneAxes <= 1 &&
      (place.laneAxis < 0 || std::abs(place.at[place.laneAxis].stride) <= 1) &&
      readsPlainly(site, op.getInput()))
    return filled(site, op, place, vector, fill);
  // Nothing is near to what lies outside of an empty axis.
  Value some = hasElements(site, op, place.axes);
  auto outside = [&](const Site &site) {
    auto nearest = [&] { return nearestOf(site, op, place); };
    return some ? branch(site, some, element, vector, nearest, [&] { return fill; }) : nearest();
  };
  if (!place.whole)
    return outside(site);
  return fork(site, place.whole, element, vector, direct, outside);
}
