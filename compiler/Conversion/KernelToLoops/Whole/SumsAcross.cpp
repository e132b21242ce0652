// SPDX-License-Identifier: Apache-2.0
//
// Long sums of floats, lanes along an axis that stays.
//
// Element i of each lane goes to partial sum i mod 32. A loop keeps a few partial sums at a
// time in registers: they are independent, and so may be made one after the other.
// ReduceByRows.cpp is for lanes whose results follow each other in memory.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Dialect/SmallReduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static LaneValue sumInMemory(const Site &site, ReduceOp op, SmallVector<Index> at,
                             ArrayRef<int64_t> over);

/// How element 32 k + lane lies along several axes, where `lane` is known and k is not.
/// Null where it moves from axis to axis at another place for every k.
static std::optional<SmallVector<Index>> placeOf(const Memory &m, const Lanes &l,
                                                 ArrayRef<int64_t> extents, Value k, int64_t lane) {
  int64_t inside = 1;
  for (int64_t extent : extents.drop_front())
    inside *= extent;
  SmallVector<Index> place(extents.size());
  if (partialSums % inside == 0) {
    place[0] = m.uniform(l.add(l.mul(k, l.i64(partialSums / inside)), l.i64(lane / inside)));
    for (size_t axis = extents.size() - 1, rest = lane % inside; axis > 0; --axis) {
      place[axis] = m.constant(rest % extents[axis]);
      rest /= extents[axis];
    }
    return place;
  }
  if (inside % partialSums != 0 || extents.back() % partialSums != 0)
    return std::nullopt;
  Value rest = k;
  for (size_t axis = extents.size(); axis-- > 0;) {
    const int64_t steps = axis + 1 == extents.size() ? extents[axis] / partialSums : extents[axis];
    Value here =
        axis == 0 ? rest : l.b.create<arith::RemUIOp>(l.loc, rest, l.i64(steps)).getResult();
    if (axis > 0)
      rest = l.b.create<arith::DivUIOp>(l.loc, rest, l.i64(steps));
    place[axis] = m.uniform(
        axis + 1 == extents.size() ? l.add(l.mul(here, l.i64(partialSums)), l.i64(lane)) : here);
  }
  return place;
}

LaneValue penstock::conversion::sumInLoops(const Site &site, ReduceOp op, SmallVector<Index> at,
                                           ArrayRef<int64_t> over) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue());
  Type element = computeType(in.getElementType());
  const auto count = reducedElements(op);
  SmallVector<int64_t> extents;
  for (int64_t axis : over)
    extents.push_back(in.getAxes()[axis].isStatic() ? in.getAxes()[axis].extent : 0);
  if (reductionOf(op).getSums() == ReductionSums::memory)
    return sumInMemory(site, op, at, over);
  auto read = [&](Value k, int64_t lane) {
    for (auto [reduced, index] : llvm::zip(over, *placeOf(m, l, extents, k, lane)))
      at[reduced] = index;
    return l.cast(CastMode::value, emit(site, op.getValue(), at), element);
  };
  // As many partial sums at a time as there are registers for.
  constexpr int64_t together = 8, groups = partialSums / together;
  const int64_t whole = *count / partialSums;
  SmallVector<LaneValue> partial(partialSums);
  for (int64_t group = 0; group < groups; ++group) {
    SmallVector<Value> zeros(together, l.splat(neutral(l, ReduceKind::sum, element).value));
    auto sums = carryLoop(site, l.i64(0), l.i64(whole), zeros, [&](Value k, ValueRange sofar) {
      ctx.elements.clear();
      SmallVector<Value> next;
      for (auto [i, sum] : llvm::enumerate(sofar))
        next.push_back(l.splat(l.binary(BinaryKind::add, l.wrap(sum, element),
                                        read(k, group + static_cast<int64_t>(i) * groups))
                                   .value));
      return next;
    });
    ctx.elements.clear();
    for (auto [i, sum] : llvm::enumerate(sums)) {
      const int64_t lane = group + static_cast<int64_t>(i) * groups;
      partial[lane] = l.wrap(sum, element);
      if (lane < *count % partialSums)
        partial[lane] = l.binary(BinaryKind::add, partial[lane], read(l.i64(whole), lane));
    }
    // They meet as far as they are of one group.
    for (int64_t half = partialSums / 2; half >= groups; half /= 2)
      for (int64_t lane = group; lane < half; lane += groups)
        partial[lane] = l.binary(BinaryKind::add, partial[lane], partial[lane + half]);
  }
  for (int64_t half = groups / 2; half >= 1; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      partial[lane] = l.binary(BinaryKind::add, partial[lane], partial[lane + half]);
  return partial[0];
}

/// The partial sums in memory, each a vector.
static LaneValue sumInMemory(const Site &site, ReduceOp op, SmallVector<Index> at,
                             ArrayRef<int64_t> over) {
  auto [ctx, b, l, m] = site.parts();
  Type element = computeType(typeOf(op.getValue()).getElementType());
  const int64_t step = l.lanes * scalarBytes(element);
  Value zero = l.splat(neutral(l, ReduceKind::sum, element).value);
  auto place = [&](Value lane) { return m.address(site.partialSums, l.mul(lane, l.i64(step))); };
  for (int64_t lane = 0; lane < partialSums; ++lane)
    m.storePlain(zero, place(l.i64(lane)));
  SmallVector<Value> extents;
  for (int64_t axis : over)
    extents.push_back(extent(site, op.getValue(), axis));
  carriedNest(b, l, extents, {l.i64(0)}, [&](ArrayRef<Value> inner, ValueRange number) {
    for (auto [axis, index] : llvm::zip(over, inner))
      at[axis] = m.uniform(index);
    LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), at), element);
    Value to = place(l.andInt(number[0], l.i64(partialSums - 1)));
    LaneValue sum = l.wrap(m.loadPlain(zero.getType(), to), element);
    m.storePlain(l.splat(l.binary(BinaryKind::add, sum, value).value), to);
    return SmallVector<Value>{l.add(number[0], l.i64(1))};
  });
  return treeOfPartials(l, element, partialSums, [&](int64_t lane) {
    return l.wrap(m.loadPlain(zero.getType(), place(l.i64(lane))), element);
  });
}
