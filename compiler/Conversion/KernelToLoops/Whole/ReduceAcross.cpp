// SPDX-License-Identifier: Apache-2.0
//
// Reductions with lanes along an axis that stays.
//
// Each lane reduces elements of its own, so 32 partial sums are 32 vectors. Few
// elements are unrolled: each partial sum has one element, or some, and the tree
// that adds them is an expression. SumsAcross.cpp has what sums many floats.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
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

/// Elements of one axis from which on a sum of floats is a loop: their addresses fill no registers.
static constexpr int64_t longSum = 2 * partialSums;
/// Elements that stay in registers until it is known whether they are looked at once more.
static constexpr int64_t inRegisters = 4;

/// Operations that make one element of `tensor`, as far as stored values.
int64_t penstock::conversion::costOf(const Site &site, Value tensor) {
  auto [ctx, b, l, m] = site.parts();
  Operation *op = tensor.getDefiningOp();
  if (!op || ctx.buffers.contains(tensor) || ctx.single.contains(tensor))
    return 1;
  int64_t cost = 1;
  op->walk([&](Operation *inner) { cost += inner != op; });
  if (auto window = llvm::dyn_cast<WindowOp>(op))
    cost += static_cast<int64_t>(window.getBody().front().getNumArguments());
  for (Value operand : op->getOperands())
    if (llvm::isa<NamedTensorType>(operand.getType()) && cost < writtenOut)
      cost += costOf(site, operand);
  return cost;
}

//===--- one result in each lane -------------------------------------------------------===//

/// An element of a minimum or maximum that is no NaN, or no signalling one, where there is an
/// instruction for it: what it is compared with then takes one as well.
LaneValue penstock::conversion::comparable(const Site &site, LaneValue value, bool wantMin) {
  auto [ctx, b, l, m] = site.parts();
  if (!value.range.nan || !l.has.numbers || l.lanes % l.has.lanesOf(4) != 0)
    return value;
  return value.type.isF32() && l.fillsRegisters(value.value) ? l.numberOr(wantMin, value)
                                                             : l.canonical(value);
}

/// What began with a number gives way to numbers only.
LaneValue penstock::conversion::numberSoFar(const Site &site, Value value, Type type) {
  auto [ctx, b, l, m] = site.parts();
  LaneValue sofar = l.wrap(value, type);
  sofar.range.nan = false;
  sofar.range.quiet = true;
  return sofar;
}

bool penstock::conversion::isUnrolled(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  const auto count = reducedElements(op);
  const bool sumsFloats = op.getKind() == ReduceKind::sum &&
                          llvm::isa<FloatType>(typeOf(op.getValue()).getElementType());
  if (count && sumsFloats && *count > longSum && op.getOver().size() == 1)
    return false;
  return op->getAttr("schedule") == b.getStringAttr("inline") ||
         (count && *count > 0 && *count * costOf(site, op.getValue()) <= writtenOut);
}

LaneValue penstock::conversion::emitReduced(const Site &site, ReduceOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue());
  const ReducedAxes axes(op);
  SmallVector<Index> inner(in.getRank());
  for (auto [place, axis] : llvm::enumerate(axes.kept))
    inner[axis] = at[place];
  Type result = typeOf(op.getResult()).getElementType();
  if (auto pieces = piecesOf(site, op))
    if (auto whole = reducePieces(site, op, *pieces, inner))
      return l.cast(CastMode::value, *whole, result);
  LaneValue whole = isUnrolled(site, op)
                        ? reduceUnrolled(site, op, inner, axes.over, *reducedElements(op))
                        : reduceInLoops(site, op, inner, axes.over);
  return l.cast(CastMode::value, whole, result);
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
  auto one = [&](int64_t number) {
    for (int64_t axis : llvm::reverse(over)) {
      at[axis] = m.constant(number % in.getAxes()[axis].extent);
      number /= in.getAxes()[axis].extent;
    }
    return l.cast(CastMode::value, emit(site, op.getValue(), at), element);
  };
  if (kind == ReduceKind::sum && llvm::isa<FloatType>(element) && takesApart(site, op, at))
    return treeInOrder(l, element, count, one);
  if (kind == ReduceKind::sum && llvm::isa<FloatType>(element))
    return treeOfPartials(l, element, count, [&](int64_t lane) {
      LaneValue sum = one(lane);
      for (int64_t number = lane + partialSums; number < count; number += partialSums)
        sum = l.binary(BinaryKind::add, sum, one(number));
      return sum;
    });
  if (kind == ReduceKind::argmin || kind == ReduceKind::argmax) {
    LaneValue best = rankOf(l, kind, one(0)), place = l.constant(b.getI32IntegerAttr(0));
    for (int64_t number = 1; number < count; ++number) {
      LaneValue value = rankOf(l, kind, one(number));
      LaneValue better = l.wrap(isBetter(l, value, best), b.getI1Type());
      place =
          l.select(better, l.constant(b.getI32IntegerAttr(static_cast<int32_t>(number))), place);
      best = l.select(better, value, best);
    }
    return l.cast(CastMode::value, place, b.getI64Type());
  }
  if (kind == ReduceKind::count) {
    auto bit = [&](int64_t number) { return l.cast(CastMode::value, one(number), b.getI32Type()); };
    LaneValue sum = bit(0);
    for (int64_t number = 1; number < count; ++number)
      sum = l.binary(BinaryKind::add, sum, bit(number));
    return l.cast(CastMode::value, sum, b.getI64Type());
  }
  auto whole = [&](LaneValue all) {
    for (int64_t number = 1; number < count; ++number)
      all = withElement(site, op, all, one(number));
    return all;
  };
  if (!resolvesZerosLater(site, op)) {
    LaneValue first = isExtreme(op) ? comparable(site, one(0), kind == ReduceKind::min) : one(0);
    // A NaN gives way to what no elements give.
    return whole(first.range.nan ? combined(l, kind, neutral(l, kind, element), first) : first);
  }
  LaneValue all = whole(one(0));
  if (count > inRegisters)
    return resolveZerosInLoops(site, op, all, at, over, extentsOver(site, op, over));
  return resolveZeros(site, op, all, [&](LaneValue from) {
    LaneValue least = bitsOf(site, op, one(0));
    for (int64_t number = 1; number < count; ++number)
      least = leastBits(site, op, least, one(number));
    return std::pair(
        from.range.nan ? whole(withElement(site, op, neutral(l, kind, element), one(0))) : from,
        least);
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
  return isExtreme(op) ? resolveZerosInLoops(site, op, numberSoFar(site, loops[0], sumType), at,
                                             over, extents)
                       : l.wrap(loops[0], sumType);
}

//===--- which axis ----------------------------------------------------------------------===//

/// How far elements of neighbouring lanes may lie apart. Further than 4, only elements that
/// can be selected one by one are taken apart in registers.
static int64_t mostElementsApart(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  Value root = op.getValue();
  while (Operation *inner = root.getDefiningOp()) {
    if (!llvm::isa<CastOp, ViewOp>(inner) || ctx.buffers.contains(root))
      break;
    root = inner->getOperand(0);
  }
  auto stored = ctx.buffers.find(root);
  const int64_t bytes = stored == ctx.buffers.end() ? 0 : scalarBytes(stored->second.element);
  const bool whole = 2 * l.has.registerBytes /
                         scalarBytes(computeType(typeOf(op.getValue()).getElementType())) * bytes >=
                     l.has.registerBytes;
  return l.has.selects(bytes) && whole && isUnrolled(site, op) ? mostApart : 4;
}

/// The axis of the result along which lanes read runs of elements; -1: none.
int64_t penstock::conversion::laneAxisAcross(const Site &site, ReduceOp op) {
  constexpr int64_t fewest = 4;
  const int64_t nearEnough = mostElementsApart(site, op);
  const ReducedAxes axes(op);
  NamedTensorType in = typeOf(op.getValue());
  if (auto pieces = piecesOf(site, op); pieces && in.getAxes()[pieces->kept].extent >= fewest)
    return llvm::find(axes.kept, pieces->kept) - axes.kept.begin();
  int64_t best = -1, distance = nearEnough + 1;
  for (auto [place, axis] : llvm::enumerate(axes.kept)) {
    const Axis &a = in.getAxes()[axis];
    auto apart = elementsApart(site, op.getValue(), axis);
    if (!apart || *apart < 1 || *apart >= distance || (a.isStatic() && a.extent < fewest))
      continue;
    best = static_cast<int64_t>(place);
    distance = *apart;
  }
  return best;
}

/// Two registers for each value: additions that follow each other wait.
int64_t penstock::conversion::lanesAcross(const Site &site, Type element) {
  auto [ctx, b, l, m] = site.parts();
  return std::min<int64_t>(32,
                           std::max<int64_t>(2 * l.has.registerBytes / scalarBytes(element), 2));
}

/// Partial sums that are carried side by side do not wait: one register for each.
static bool carriesSums(ReduceOp op, Type element, bool isUnrolled) {
  return !isUnrolled && op.getKind() == ReduceKind::sum && llvm::isa<FloatType>(element);
}

FailureOr<bool> penstock::conversion::reduceAcross(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  if (const int64_t rows = rowAxes(site, op)) {
    auto buffer = wholeBuffer(site, op.getResult(), /*aligned=*/true);
    if (failed(buffer) || failed(reduceByRows(site, op, rows, *buffer)))
      return failure();
    ctx.buffers[op.getResult()] = *buffer;
    return true;
  }
  const int64_t axis = laneAxisAcross(site, op);
  if (axis < 0)
    return false;
  Type element = computeType(typeOf(op.getValue()).getElementType());
  LoopShape shape{axis, -1, lanesAcross(site, element)};
  if (elementsApart(site, op.getValue(), ReducedAxes(op).kept[axis]) > 4)
    shape.lanes /= 2; // 32 partial sums, and what they come from
  if (carriesSums(op, element, isUnrolled(site, op)))
    shape.lanes = std::max<int64_t>(shape.lanes / 2, 2);
  NamedTensorType out = typeOf(op.getResult());
  const Axis &last = out.getAxes().back();
  if (axis + 2 == out.getRank() && last.isStatic() && last.extent > 0 && last.extent <= unrollBound)
    shape.unrollAxis = axis + 1; // channels are stored together
  auto buffer = wholeBuffer(site, op.getResult(), /*aligned=*/true);
  if (failed(buffer))
    return failure();
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
  return true;
}
