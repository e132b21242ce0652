// SPDX-License-Identifier: Apache-2.0
//
// Reductions.
//
// A floating-point sum adds element i to lane i mod 32 of 32 partial sums,
// which are then added pairwise (scalar.h, reductionLanes): the partial sums
// live in registers where it is known how they meet the rows, else in memory, and no vector
// width can change the result.
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Analysis/ValueRanges.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneIntegers.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "compiler/Dialect/SmallReduction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/scalar.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Few elements for each result, which no vector suits.
static void reduceOneByOne(const Site &site, ReduceOp op, const Buffer &to) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType out = typeOf(op.getResult());
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < out.getRank(); ++axis)
    extents.push_back(extent(site, op.getResult(), axis));
  carriedNest(b, l, extents, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at(llvm::map_range(where, [&](Value index) { return m.uniform(index); }));
    ctx.elements.clear();
    m.store(to, at, emitReduced(site, op, at));
    return SmallVector<Value>{};
  });
}

namespace {
/// A reduction whose reduced axes are gone through in their order, with lanes along the last one
/// where that suits.
struct Reduction {
  const Site &site;
  ReduceOp op;
  Buffer buffer = {};
  Context &ctx = site.ctx;
  OpBuilder &b = ctx.b;
  const Lanes &l = site.m.l;
  const Memory &m = site.m;
  const ReductionAttr reduction = reductionOf(op);
  const NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  const ReduceKind kind = op.getKind();
  const Type element = computeType(in.getElementType()), result = out.getElementType();
  const bool floatSum = kind == ReduceKind::sum && llvm::isa<FloatType>(element);
  const bool argument = kind == ReduceKind::argmin || kind == ReduceKind::argmax;
  const int64_t size = floatSum ? scalarBytes(element) : 8;
  SmallVector<int64_t> kept = {}, over = {};
  SmallVector<int64_t> still =
      {}; ///< axes that are one run with the last one, which goes through all
  SmallVector<Value> overExtents = {};
  Value partial = {}; ///< the 32 sums
  /// Lanes along the last reduced axis; channels lie side by side further in.
  const bool inLanes = reduction.getWay() == Way::lanes;
  const bool channels = inLanes && reduction.getUnroll();
  bool vectors = false; ///< sums of floats in the lanes
  bool later = false;   ///< extremes in lanes, whose zeros are resolved in the end
  int64_t rows = 1;     ///< results that are made side by side
  int64_t apart = 1;    ///< along the last kept axis

  void bind(SmallVector<Index> &at, ArrayRef<Value> inner) {
    for (auto [i, index] : llvm::enumerate(inner)) // without the last, for lanes
      at[over[i]] = m.uniform(index);
  }
  LaneValue read(ArrayRef<Index> at) {
    return l.cast(CastMode::value, emit(site, op.getValue(), at), element);
  }

  LaneValue sumOneByOne(SmallVector<Index> &at);
  LaneValue placeOneByOne(SmallVector<Index> &at);
  LaneValue exactOneByOne(SmallVector<Index> &at);
  SmallVector<LaneValue> exactInLanes(SmallVector<Index> &at);
  SmallVector<LaneValue> sumsInLanes(SmallVector<Index> &at);
  void store(ArrayRef<Value> where);
};
} // namespace

LaneValue Reduction::sumOneByOne(SmallVector<Index> &at) {
  for (int64_t lane = 0; lane < penstock::scalar::reductionLanes; ++lane)
    m.storePlain(neutral(l, kind, element).value, m.address(partial, l.i64(lane * size)));
  auto addOne = [&](Value number) {
    Value place = m.address(
        partial, l.mul(l.andInt(number, l.i64(penstock::scalar::reductionLanes - 1)), l.i64(size)));
    LaneValue sum =
        l.binary(BinaryKind::add, l.wrap(m.loadPlain(element, place), element), read(at));
    m.storePlain(sum.value, place);
  };
  if (inLanes)
    sumRows(site, op, at, over, overExtents, partial, addOne);
  else
    carriedNest(b, l, overExtents, {l.i64(0)}, [&](ArrayRef<Value> inner, ValueRange state) {
      bind(at, inner);
      addOne(state[0]);
      return SmallVector<Value>{l.add(state[0], l.i64(1))};
    });
  return sumOfLanes(
      site, m.loadPlain(VectorType::get({penstock::scalar::reductionLanes}, element), partial),
      element);
}

LaneValue Reduction::placeOneByOne(SmallVector<Index> &at) {
  LaneValue worst = worstRank(l, element);
  auto loops = carriedNest(
      b, l, overExtents, {l.i64(0), l.i64(0), worst.value},
      [&](ArrayRef<Value> inner, ValueRange state) {
        bind(at, inner);
        LaneValue value = rankOf(l, kind, read(at)), best = l.wrap(state[2], worst.type);
        Value better = isBetter(l, value, best);
        return SmallVector<Value>{l.add(state[0], l.i64(1)), l.pick(better, state[0], state[1]),
                                  l.pick(better, value.value, best.value)};
      });
  return l.wrap(loops[1], b.getI64Type());
}

LaneValue Reduction::exactOneByOne(SmallVector<Index> &at) {
  Type sumType = kind == ReduceKind::count ? Type(b.getI64Type()) : element;
  LaneValue start = neutral(l, kind, sumType);
  auto loops =
      carriedNest(b, l, overExtents, {start.value}, [&](ArrayRef<Value> inner, ValueRange state) {
        bind(at, inner);
        return SmallVector<Value>{withElement(site, op,
                                              isExtreme(op) ? numberSoFar(site, state[0], sumType)
                                                            : l.wrap(state[0], sumType),
                                              read(at))
                                      .value};
      });
  LaneValue found =
      isExtreme(op) ? numberSoFar(site, loops[0], sumType) : l.wrap(loops[0], sumType);
  return isExtreme(op) ? resolveInLoops(site, op, found, at, over, overExtents) : found;
}

SmallVector<LaneValue> Reduction::exactInLanes(SmallVector<Index> &at) {
  const int64_t beside = channels ? in.getRank() - 1 : -1;
  LaneValue start = neutral(l, kind, kind == ReduceKind::count ? Type(b.getI64Type()) : element);
  auto combine = [&](const Site &site, LaneValue sofar, LaneValue value) {
    const Lanes &l = site.m.l;
    return later ? farther(l, kind == ReduceKind::min, sofar, value)
                 : combined(l, kind, sofar, value);
  };
  SmallVector<LaneValue> found =
      reduceLanes(site, op, at, over, beside, overExtents, start, combine);
  if (later)
    resolveZerosOfLanes(site, op, found, at, over, beside, overExtents);
  for (auto [c, one] : llvm::enumerate(found)) {
    if (beside >= 0)
      at[beside] = m.constant(static_cast<int64_t>(c));
    one = nanWithoutNumbers(site, op, one, at, over, overExtents);
  }
  return found;
}

SmallVector<LaneValue> Reduction::sumsInLanes(SmallVector<Index> &at) {
  const int64_t beside = channels ? in.getRank() - 1 : -1;
  const int64_t count = channels ? in.getAxes()[beside].extent : 1;
  Beside all{beside, {}};
  for (int64_t c = 0; c < count; ++c)
    all.places.push_back(m.constant(c));
  // Channels that lie side by side are added as they lie, and told apart at the end.
  all.isRun = channels && reduction.getRun() > 1;
  SmallVector<LaneValue> found;
  for (Value sums : sumVectors(site, op, at, over, all, overExtents))
    found.push_back(sumOfLanes(site, sums, element));
  return found;
}

/// Reduces where the kept axes have the indices `where`, and stores what that gives.
void Reduction::store(ArrayRef<Value> where) {
  SmallVector<Index> at(in.getRank()), to;
  for (int64_t axis : still)
    at[axis] = m.constant(0);
  for (auto [i, index] : llvm::enumerate(where)) {
    at[kept[i]] = m.uniform(index);
    to.push_back(m.uniform(index));
  }
  LaneValue final;
  auto storeChannels = [&](ArrayRef<LaneValue> found) {
    for (auto [c, value] : llvm::enumerate(found.drop_back())) {
      to.push_back(m.constant(static_cast<int64_t>(c)));
      m.store(buffer, to, l.cast(CastMode::value, value, result));
      to.pop_back();
    }
    if (channels)
      to.push_back(m.constant(static_cast<int64_t>(found.size()) - 1));
    return found.back();
  };
  if (rows > 1) {
    Beside next{kept.back(), {}};
    for (int64_t row = 0; row < rows; ++row)
      next.places.push_back(m.uniform(apart == 1 ? l.add(where.back(), l.i64(row))
                                                 : furtherIndex(l, where.back(), row * apart)));
    final = sumsOfLanes(site, sumVectors(site, op, at, over, next, overExtents), element);
    to.back() = {where.back(), apart, {}, {}};
    const Site stored = site.withLanes(rows);
    stored.m.store(buffer, to, stored.m.l.cast(CastMode::value, final, result));
    return;
  }
  if (floatSum)
    final = vectors ? storeChannels(sumsInLanes(at)) : sumOneByOne(at);
  else if (argument)
    final = inLanes ? placeInLanes(site, op, at, over, overExtents) : placeOneByOne(at);
  else
    final = inLanes ? storeChannels(exactInLanes(at)) : exactOneByOne(at);
  m.store(buffer, to, l.cast(CastMode::value, final, result));
}

/// The last reduced axes, which are one run, become one.
static LogicalResult joinLastAxes(const Site &site, Reduction &r) {
  const auto run = r.channels ? size_t{1} : static_cast<size_t>(r.reduction.getRun());
  if (run == 1)
    return success();
  const ArrayRef<int64_t> joined = ArrayRef(r.over).take_back(run);
  if (failed(checkRun(site, r.op, joined)))
    return failure();
  r.still.assign(joined.begin(), joined.end() - 1);
  r.over.erase(r.over.end() - run, r.over.end() - 1);
  r.overExtents.resize(r.over.size());
  r.overExtents.back() = site.m.l.i64(*lengthOfRun(r.op, r.reduction.getRun()));
  return success();
}

/// An error where 32 bits do not hold the sums that the schedule takes in them.
static LogicalResult checkSmall(ReduceOp op) {
  const int64_t small = reductionOf(op).getSmall(),
                most = small ? penstock::analysis::addedIn32Bits(op) : 0;
  if (small <= most)
    return success();
  const auto largest = static_cast<uint64_t>(penstock::analysis::largestAdded(op));
  return op.emitError() << "is scheduled with sums of " << small << " elements in 32 bits, which "
                        << "hold those of " << most << " whose magnitude is up to " << largest;
}

/// One result after the other, but for those that go side by side.
static LogicalResult reduceEach(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto buffer = bufferFor(site, op.getResult());
  if (failed(buffer))
    return failure();
  Reduction r{site, op, *buffer};
  if (failed(checkSmall(op)))
    return failure();
  if (r.reduction.getUnrolled()) {
    reduceOneByOne(site, op, *buffer);
    return success();
  }
  const ReducedAxes axes(op);
  r.kept = axes.kept;
  r.over = axes.over;
  SmallVector<Value> keptExtents = extentsOver(site, op, r.kept);
  r.overExtents = extentsOver(site, op, r.over);
  if (failed(joinLastAxes(site, r)))
    return failure();
  if (r.channels && r.reduction.getRun() > 1 &&
      failed(checkRun(site, op, {r.over.back(), r.in.getRank() - 1})))
    return failure();
  if (r.floatSum) {
    auto bytes = scratchBytes(site, penstock::scalar::reductionLanes * r.size, {});
    if (failed(bytes))
      return failure();
    r.partial = *bytes;
  }
  r.vectors = r.floatSum && r.inLanes && r.reduction.getSums() == ReductionSums::registers;
  r.later = r.inLanes && isExtreme(op) && (!l.has.numbers || !r.element.isF32()); // in all lanes
  if (r.channels)
    keptExtents.pop_back();
  const int64_t beside = r.reduction.getBeside();
  Value last = beside > 1 ? keptExtents.pop_back_val() : Value();
  carriedNest(b, l, keptExtents, {}, [&](ArrayRef<Value> where, ValueRange) {
    if (beside == 1)
      r.store(where);
    else
      overRowsBeside(site, last, r.reduction, [&](Value first, int64_t rows, int64_t apart) {
        SmallVector<Value> all(where);
        all.push_back(first);
        r.rows = rows;
        r.apart = apart;
        r.store(all);
      });
    return SmallVector<Value>{};
  });
  return success();
}

static LogicalResult emitReduce(const Site &site, ReduceOp op) {
  switch (reductionOf(op).getWay()) {
  case Way::across:
    return reduceAcross(site, op);
  case Way::rows:
    return reduceByRows(site, op);
  case Way::lanes:
  case Way::single:
    return reduceEach(site, op);
  }
  return failure();
}

namespace penstock::conversion {
void registerReduce(WholeOps &all);
}
void penstock::conversion::registerReduce(WholeOps &all) { all.add<ReduceOp>(emitReduce); }
