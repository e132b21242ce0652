// SPDX-License-Identifier: Apache-2.0
//
// Elements at computed places.
//
// Places that differ by a fixed step from lane to lane, such as `first + k` of the taps of a
// filter, are a run of elements where all of them lie inside: one load of a vector, in a branch.
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
/// Where a load reads along one axis.
struct ReadAt {
  Index index;
  Value size;
  bool inside; ///< whatever the lane: it needs no clamp
};
} // namespace

static ReadAt readAtOf(const Site &site, LoadOp op, int64_t axis) {
  auto [ctx, b, l, m] = site.parts();
  const Axis &a = typeOf(op.getTensor()).getAxes()[axis];
  const Value number = op.getIndices()[axis], size = extent(site, op.getTensor(), axis);
  auto isInside = [&](const LaneValue &value) {
    return a.isStatic() && a.extent > 0 && value.range.within(0, static_cast<double>(a.extent - 1));
  };
  if (auto known = ctx.coordinates.find(number); known != ctx.coordinates.end())
    return {known->second, size, isInside(scalarOf(site, number))};
  const LaneValue value = scalarOf(site, number);
  if (value.isVector() && value.step)
    return {{value.first, *value.step, {}, {}}, size, isInside(value)};
  return {m.of(value.value), size, isInside(value)};
}

/// Returns whether all lanes lie inside, as runs of neighbours in memory; null where nobody can
/// tell, or where it makes no difference.
static Value isRun(const Site &site, LoadOp op, ArrayRef<ReadAt> places) {
  auto [ctx, b, l, m] = site.parts();
  Value whole;
  for (const ReadAt &place : places) {
    if (place.index.uniform() || place.inside)
      continue;
    if (!place.index.affine() || std::abs(place.index.stride) != 1)
      return {};
    // Of numbers that wrap around, the first lane and the last may lie on either side.
    Value last = l.add(place.index.base, l.i64(place.index.stride * (l.lanes - 1)));
    Value inside = l.andInt(l.cmp(CmpIPredicate::ult, place.index.base, place.size),
                            l.cmp(CmpIPredicate::ult, last, place.size));
    whole = whole ? l.andInt(whole, inside) : inside;
  }
  return ctx.buffers.contains(op.getTensor()) ? whole : Value();
}

LaneValue penstock::conversion::emitLoad(const Site &site, LoadOp op) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<ReadAt> places;
  Value empty;
  for (auto [axis, a] : llvm::enumerate(typeOf(op.getTensor()).getAxes())) {
    places.push_back(readAtOf(site, op, static_cast<int64_t>(axis)));
    if (!a.isStatic() || a.extent == 0) {
      Value none = l.cmp(CmpIPredicate::sle, places.back().size, l.i64(0));
      empty = empty ? l.orInt(empty, none) : none;
    }
  }
  auto indices = [&](bool isRun) {
    SmallVector<Index> at;
    for (const ReadAt &place : places)
      at.push_back(place.inside || (isRun && !place.index.uniform())
                       ? place.index
                       : m.clamp(place.index, place.size));
    return at;
  };
  auto anywhere = [&] { return emit(site, op.getTensor(), indices(false)); };
  LaneValue value;
  if (Value run = isRun(site, op, places)) {
    value = branch(
        site, run, typeOf(op.getTensor()).getElementType(), true,
        [&] { return emit(site, op.getTensor(), indices(true)); }, anywhere);
  } else {
    if (auto found = loadByTable(site, op, indices(false)))
      return *found;
    value = anywhere();
  }
  if (!empty)
    return value;
  LaneValue zero{llvm::isa<FloatType>(getElementTypeOrSelf(value.value.getType()))
                     ? l.floatLike(value.value, 0.0)
                     : l.integerLike(value.value, 0),
                 value.type, Interval::of(0, 0)};
  return l.select(l.wrap(empty, b.getI1Type()), zero, value);
}
