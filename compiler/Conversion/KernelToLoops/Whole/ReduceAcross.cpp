// SPDX-License-Identifier: Apache-2.0
//
// Reductions with lanes along an axis that stays.
//
// Each lane reduces elements of its own, so 32 partial sums are 32 vectors. Few
// elements are unrolled: each partial sum has one element, or some, and the tree
// that adds them is an expression. SumsAcross.cpp has what sums many floats.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Dialect/SmallReduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static LaneValue reduceUnrolled(const Site &site, ReduceOp op, SmallVector<Index> at,
                                ArrayRef<int64_t> over, int64_t count);
static LaneValue reduceInLoops(const Site &site, ReduceOp op, SmallVector<Index> at,
                               ArrayRef<int64_t> over);

/// Elements that stay in registers until it is known whether they are looked at once more.
static constexpr int64_t inRegisters = 4;

//===--- one result in each lane -------------------------------------------------------===//

/// An element of a minimum or maximum that is no signalling NaN, where there is an instruction that
/// leaves out all others.
LaneValue penstock::conversion::comparable(const Site &site, LaneValue value) {
  auto [ctx, b, l, m] = site.parts();
  const bool hasInstruction = l.has.numbers && l.lanes % l.has.lanesOf(4) == 0;
  return hasInstruction && !value.range.noSignal() ? l.canonical(value) : value;
}

/// Wraps the extreme so far: it began with a number, and gives way to numbers only.
LaneValue penstock::conversion::numberSoFar(const Site &site, Value value, Type type) {
  auto [ctx, b, l, m] = site.parts();
  LaneValue sofar = l.wrap(value, type);
  sofar.range.nan = false;
  sofar.range.quiet = true;
  return sofar;
}

LaneValue penstock::conversion::emitReduced(const Site &site, ReduceOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue());
  const ReducedAxes axes(op);
  SmallVector<Index> inner(in.getRank());
  for (auto [place, axis] : llvm::enumerate(axes.kept))
    inner[axis] = at[place];
  Type result = typeOf(op.getResult()).getElementType();
  const ReductionAttr reduction = reductionOf(op);
  std::optional<LaneValue> whole;
  if (reduction.getPieces())
    if (auto pieces = piecesOf(site, op))
      whole = reducePieces(site, op, *pieces, inner);
  if (!whole)
    whole = reduction.getUnrolled()
                ? reduceUnrolled(site, op, inner, axes.over, *reducedElements(op))
                : reduceInLoops(site, op, inner, axes.over);
  return l.cast(CastMode::value, *whole, result);
}

/// Returns whether neighbours in the lanes lie so far apart that elements which follow each other
/// come from the same registers: those are read once if they are wanted together.
static bool takesApart(const Site &site, ReduceOp op, ArrayRef<Index> at) {
  for (int64_t axis : ReducedAxes(op).kept)
    if (!at[axis].uniform())
      if (auto apart = elementsApart(site, op.getValue(), axis); apart && *apart > 4)
        return true;
  return false;
}

static LaneValue reduceUnrolled(const Site &site, ReduceOp op, SmallVector<Index> at,
                                ArrayRef<int64_t> over, int64_t count) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue());
  const ReduceKind kind = op.getKind();
  Type element = computeType(in.getElementType());
  auto oneIn = [&](const Site &site, int64_t number) {
    const auto &[ctx, b, l, m] = site.parts();
    for (int64_t axis : llvm::reverse(over)) {
      at[axis] = m.constant(number % in.getAxes()[axis].extent);
      number /= in.getAxes()[axis].extent;
    }
    LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), at), element);
    noteNan(site, op, value);
    return value;
  };
  auto one = [&](int64_t number) { return oneIn(site, number); };
  if (kind == ReduceKind::sum && llvm::isa<FloatType>(element) && takesApart(site, op, at))
    return treeInOrder(l, element, count, one);
  if (kind == ReduceKind::sum && llvm::isa<FloatType>(element))
    return treeOfPartials(l, element, count, [&](int64_t lane) {
      LaneValue sum = one(lane);
      for (int64_t number = lane + partialSums; number < count; number += partialSums)
        sum = l.binary(BinaryKind::add, sum, one(number));
      return sum;
    });
  if (kind == ReduceKind::argmin || kind == ReduceKind::argmax)
    return placeOfFew(site, op, count, one,
                      [&](const Site &rare) { return reduceInLoops(rare, op, at, over); });
  if (kind == ReduceKind::count) {
    auto bit = [&](int64_t number) { return l.cast(CastMode::value, one(number), b.getI32Type()); };
    LaneValue sum = bit(0);
    for (int64_t number = 1; number < count; ++number)
      sum = l.binary(BinaryKind::add, sum, bit(number));
    return l.cast(CastMode::value, sum, b.getI64Type());
  }
  auto whole = [&](const Site &site, LaneValue all) {
    for (int64_t number = 1; number < count; ++number)
      all = withElement(site, op, all, oneIn(site, number));
    return all;
  };
  if (!resolvesZerosLater(site, op)) {
    LaneValue first = one(0);
    return whole(site, isExtreme(op) ? comparable(site, first) : first);
  }
  LaneValue all = whole(site, one(0));
  const SmallVector<Value> extents = extentsOver(site, op, over);
  if (count > inRegisters)
    return resolveInLoops(site, op, all, at, over, extents);
  auto again = [&](const Site &site, LaneValue from) {
    LaneValue least = bitsOf(site, op, oneIn(site, 0));
    for (int64_t number = 1; number < count; ++number)
      least = leastBits(site, op, least, oneIn(site, number));
    if (from.range.nan)
      from = whole(site, withElement(site, op, neutral(site.m.l, kind, element), oneIn(site, 0)));
    return std::pair(from, least);
  };
  return resolveExtreme(site, op, all, again, [&](const Site &site, LaneValue number) {
    return nanWithoutNumbers(site, op, number, at, over, extents);
  });
}

//===--- loops -----------------------------------------------------------------------------===//

/// Many elements, or as many as it is known when running.
static LaneValue reduceInLoops(const Site &site, ReduceOp op, SmallVector<Index> at,
                               ArrayRef<int64_t> over) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue());
  const ReduceKind kind = op.getKind();
  Type element = computeType(in.getElementType());
  if (kind == ReduceKind::sum && llvm::isa<FloatType>(element))
    return sumInLoops(site, op, at, over);
  SmallVector<Value> extents;
  for (int64_t axis : over)
    extents.push_back(extent(site, op.getValue(), axis));
  auto read = [&](ArrayRef<Value> inner) {
    for (auto [axis, index] : llvm::zip(over, inner))
      at[axis] = m.uniform(index);
    return l.cast(CastMode::value, emit(site, op.getValue(), at), element);
  };
  if (kind == ReduceKind::argmin || kind == ReduceKind::argmax) {
    Value zero = l.splat(l.i64(0));
    LaneValue worst = worstRank(l, element);
    auto loops =
        carriedNest(b, l, extents, {l.i64(0), zero, l.splat(worst.value)},
                    [&](ArrayRef<Value> inner, ValueRange state) {
                      LaneValue value = rankOf(l, kind, read(inner)),
                                best = l.wrap(state[2], worst.type);
                      Value better = l.splat(isBetter(l, value, best));
                      return SmallVector<Value>{l.add(state[0], l.i64(1)),
                                                l.pick(better, l.splat(state[0]), state[1]),
                                                l.pick(better, l.splat(value.value), best.value)};
                    });
    return l.wrap(loops[1], b.getI64Type());
  }
  Type sumType = kind == ReduceKind::count ? Type(b.getI64Type()) : element;
  auto loops = carriedNest(b, l, extents, {l.splat(neutral(l, kind, sumType).value)},
                           [&](ArrayRef<Value> inner, ValueRange state) {
                             LaneValue next = withElement(
                                 site, op, numberSoFar(site, state[0], sumType), read(inner));
                             return SmallVector<Value>{l.splat(next.value)};
                           });
  return isExtreme(op)
             ? resolveInLoops(site, op, numberSoFar(site, loops[0], sumType), at, over, extents)
             : l.wrap(loops[0], sumType);
}

LogicalResult penstock::conversion::reduceAcross(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  const ReductionAttr reduction = reductionOf(op);
  NamedTensorType out = typeOf(op.getResult());
  LoopShape shape{out.axisIndex(reduction.getAlong()),
                  reduction.getUnroll() ? out.axisIndex(reduction.getUnroll()) : -1,
                  reduction.getLanes()};
  auto buffer = wholeBuffer(site, op.getResult(), /*aligned=*/true);
  if (failed(buffer))
    return failure();
  Type element = computeType(typeOf(op.getValue()).getElementType());
  auto partial = scratchBytes(site, partialSums * shape.lanes * scalarBytes(element), {});
  if (failed(partial))
    return failure();
  std::optional<Interval> written;
  Site storing = site;
  storing.partialSums = *partial;
  storing.written = &written;
  storeTensor(storing, op.getResult(), *buffer, shape, l.i64(0), extent(site, op.getResult(), 0));
  noteWritten(written, *buffer);
  ctx.buffers[op.getResult()] = *buffer;
  return success();
}
