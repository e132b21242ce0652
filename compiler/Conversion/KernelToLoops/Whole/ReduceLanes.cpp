// SPDX-License-Identifier: Apache-2.0
//
// Exact reductions with lanes along a reduced axis.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Dialect/SmallReduction.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Returns whether an element that comes twice changes nothing.
static bool repeats(ReduceKind kind) {
  return llvm::is_contained({ReduceKind::min, ReduceKind::max, ReduceKind::any, ReduceKind::all},
                            kind);
}

/// Vectors of a row that are no loop.
static constexpr int64_t fewVectors = 4;

/// Returns whether an element is hardly more than a load.
static bool isPlain(Value value) {
  constexpr size_t few = 4;
  Operation *op = value.getDefiningOp();
  if (auto map = llvm::dyn_cast_or_null<MapOp>(op))
    return map.getBody().front().getOperations().size() <= few &&
           llvm::all_of(map.getInputs(), isPlain);
  return !op || (llvm::isa<ViewOp, CastOp>(op) && isPlain(op->getOperand(0)));
}

namespace {
using Combine = llvm::function_ref<LaneValue(const Site &, LaneValue, LaneValue)>;

/// One reduction, of `count` neighbours at once. What is carried are vectors, and then what single
/// elements give.
struct LaneReduction {
  const Site &site;
  ReduceOp op;
  SmallVector<Index> &at;
  ArrayRef<int64_t> over;
  int64_t beside;
  ArrayRef<Value> extents;
  LaneValue start;
  Combine combine;
  OpBuilder &b = site.ctx.b;
  const Lanes &l = site.m.l;
  const Memory &m = site.m;
  const int64_t lanes = reductionOf(op).getLanes();
  const int64_t count = beside < 0 ? 1 : typeOf(op.getValue()).getAxes()[beside].extent;
  const bool adds = op.getKind() == ReduceKind::sum || op.getKind() == ReduceKind::count;
  const Site wide = site.withLanes(lanes);
  const Type sumType = start.type, smallType = b.getI32Type();
  const bool isReal = llvm::isa<FloatType>(sumType);

  void bind(ArrayRef<Value> inner) {
    for (auto [i, index] : llvm::enumerate(inner))
      at[over[i]] = m.uniform(index);
  }
  LaneValue sofarOf(Value value) {
    return isReal ? numberSoFar(site, value, sumType) : l.wrap(value, sumType);
  }
  Value zeros(Type type) {
    return b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(VectorType::get({lanes}, type)));
  }
  Value widened(Value sums) {
    return b.create<arith::ExtSIOp>(l.loc, VectorType::get({lanes}, sumType), sums);
  }
  SmallVector<LaneValue> elementsAt(Value index, const Site &here);
  Value smallOf(const LaneValue &value);
  SmallVector<Value> withVector(Value index, ValueRange sofar, bool small);
  SmallVector<Value> run(Value from, Value to, ValueRange sofar, bool small);
  SmallVector<Value> runInChunks(Value whole, int64_t most, ValueRange sofar);
  SmallVector<Value> withLastVector(int64_t size, ValueRange sofar, bool small);
  SmallVector<Value> runRest(Value whole, Value last, ValueRange sofar);
  LaneValue ofLanes(Value all, Value single);
};
} // namespace

SmallVector<LaneValue> LaneReduction::elementsAt(Value index, const Site &here) {
  auto [ctx, b, l, m] = here.parts();
  at[over.back()] = {index, here.lanes() > 1, {}, {}};
  SmallVector<LaneValue> values;
  for (int64_t c = 0; c < count; ++c) {
    if (beside >= 0)
      at[beside] = m.constant(c);
    LaneValue value = emit(here, op.getValue(), at);
    noteNan(here, op, value);
    values.push_back(isReal ? l.cast(CastMode::value, value, sumType) : value);
  }
  return values;
}

/// A number as 32 bits, which hold it.
Value LaneReduction::smallOf(const LaneValue &value) {
  const Lanes &l = wide.m.l;
  if (value.wide || value.type.getIntOrFloatBitWidth() < 32)
    return l.splat(l.wideOf(value));
  return b.create<arith::TruncIOp>(l.loc, VectorType::get({lanes}, smallType),
                                   l.splat(value.value));
}

/// One vector, combined with what is there.
SmallVector<Value> LaneReduction::withVector(Value index, ValueRange sofar, bool small) {
  auto [ctx, b, l, m] = wide.parts();
  const bool isComparable = isReal && !resolvesZerosLater(wide, op);
  SmallVector<Value> next;
  for (auto [value, sum] : llvm::zip(elementsAt(index, wide), sofar))
    next.push_back(
        small ? b.create<arith::AddIOp>(l.loc, sum, smallOf(value)).getResult()
              : l.splat(combine(wide, sofarOf(sum), isComparable ? comparable(wide, value) : value)
                            .value));
  return next;
}

/// Vectors from `from` to `to`, added to what is there. Few of them are unrolled: a loop of one to
/// four costs more than what it does.
SmallVector<Value> LaneReduction::run(Value from, Value to, ValueRange sofar, bool small) {
  const auto first = Lanes::constantOf(from), end = Lanes::constantOf(to);
  if (first && end && *end - *first <= fewVectors * lanes && isPlain(op.getValue())) {
    SmallVector<Value> sums(sofar);
    for (int64_t at = *first; at < *end; at += lanes)
      sums = withVector(l.i64(at), sums, small);
    return sums;
  }
  OpBuilder::InsertionGuard guard(b);
  auto loop = openLoop(b, l, from, to, lanes, sofar);
  b.create<scf::YieldOp>(
      l.loc, withVector(loop.getInductionVar(), ValueRange(loop.getRegionIterArgs()), small));
  return SmallVector<Value>(loop.getResults());
}

/// In 32 bits as many vectors at a time as fit.
SmallVector<Value> LaneReduction::runInChunks(Value whole, int64_t most, ValueRange sofar) {
  const int64_t chunk = lanes * most;
  OpBuilder::InsertionGuard guard(b);
  auto chunks = openLoop(b, l, l.i64(0), whole, chunk, sofar);
  Value from = chunks.getInductionVar();
  SmallVector<Value> next;
  for (auto [part, sum] : llvm::zip(run(from, l.minS(l.add(from, l.i64(chunk)), whole),
                                        SmallVector<Value>(count, zeros(smallType)), true),
                                    chunks.getRegionIterArgs()))
    next.push_back(b.create<arith::AddIOp>(l.loc, sum, widened(part)));
  b.create<scf::YieldOp>(l.loc, next);
  return SmallVector<Value>(chunks.getResults());
}

/// The last elements of a row, of which it has as many as there are lanes. Some of them are there
/// already, which a minimum or maximum does not mind; sums add 0 in place of those.
SmallVector<Value> LaneReduction::withLastVector(int64_t size, ValueRange sofar, bool small) {
  const Lanes &l = wide.m.l;
  const bool isComparable = isReal && !resolvesZerosLater(wide, op);
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane)
    order.push_back(lane < lanes - size % lanes ? lanes : lane);
  SmallVector<Value> next;
  for (auto [value, sum] : llvm::zip(elementsAt(l.i64(size - lanes), wide), sofar)) {
    if (repeats(op.getKind())) {
      next.push_back(l.splat(
          combine(wide, sofarOf(sum), isComparable ? comparable(wide, value) : value).value));
      continue;
    }
    Value each = small ? smallOf(value) : l.splat(l.cast(CastMode::value, value, sumType).value);
    Value none = b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(each.getType()));
    each = wide.m.shuffle(each, none, order);
    next.push_back(b.create<arith::AddIOp>(l.loc, sum, each));
  }
  return next;
}

/// Elements from `whole` on, one by one.
SmallVector<Value> LaneReduction::runRest(Value whole, Value last, ValueRange sofar) {
  OpBuilder::InsertionGuard guard(b);
  auto rest = openLoop(b, l, whole, last, 1, sofar);
  SmallVector<Value> singles;
  for (auto [value, sum] :
       llvm::zip(elementsAt(rest.getInductionVar(), site), rest.getRegionIterArgs()))
    singles.push_back(combine(site, sofarOf(sum), value).value);
  b.create<scf::YieldOp>(l.loc, singles);
  return SmallVector<Value>(rest.getResults());
}

/// Combines all lanes, and the elements that came after them. Counts are sums by now, which may be
/// in 32 bits.
LaneValue LaneReduction::ofLanes(Value all, Value single) {
  const bool isSmall = adds && sumType != smallType &&
                       llvm::cast<VectorType>(all.getType()).getElementType() == smallType;
  auto merge = [&](Value x, Value y) -> Value {
    if (x.getType() != sumType && isSmall)
      return b.create<arith::AddIOp>(l.loc, x, y);
    LaneValue a = sofarOf(x), c = sofarOf(y);
    return (adds ? l.binary(BinaryKind::add, a, c) : combine(site, a, c)).value;
  };
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < half; ++lane) {
      low.push_back(lane);
      high.push_back(lane + half);
    }
    all = merge(m.shuffle(all, all, low), m.shuffle(all, all, high));
  }
  Value sum = b.create<vector::ExtractOp>(l.loc, all, 0);
  if (isSmall)
    sum = b.create<arith::ExtSIOp>(l.loc, sumType, sum);
  return l.wrap(merge(single, sum), sumType);
}

SmallVector<LaneValue> penstock::conversion::reduceLanes(const Site &site, ReduceOp op,
                                                         SmallVector<Index> &at,
                                                         ArrayRef<int64_t> over, int64_t beside,
                                                         ArrayRef<Value> extents, LaneValue start,
                                                         Combine combine) {
  LaneReduction r{site, op, at, over, beside, extents, start, combine};
  auto [ctx, b, l, m] = site.parts();
  Value last = extents.back(), whole = l.andInt(last, l.i64(-r.lanes));
  const auto known = Lanes::constantOf(last);
  if (known)
    whole = l.i64(*known & -r.lanes);
  const int64_t most = reductionOf(op).getSmall(), count = r.count;
  int64_t total = 1; // vectors in all, where known
  for (Value extent : extents)
    total = total && Lanes::constantOf(extent) ? total * *Lanes::constantOf(extent) : 0;
  total = total / r.lanes + (known && *known % r.lanes ? total / *known : 0);
  const bool narrow = most > 0, narrowThroughout = narrow && total > 0 && total <= most;
  SmallVector<Value> state(count,
                           narrowThroughout ? r.zeros(r.smallType) : r.wide.m.l.splat(start.value));
  state.append(count, start.value); // of single elements
  auto loops =
      carriedNest(b, l, extents.drop_back(), state, [&](ArrayRef<Value> inner, ValueRange sofar) {
        r.bind(inner);
        ValueRange vectors = sofar.take_front(count), singles = sofar.drop_front(count);
        SmallVector<Value> next = narrow && !narrowThroughout
                                      ? r.runInChunks(whole, most, vectors)
                                      : r.run(l.i64(0), whole, vectors, narrow);
        const bool overlaps = known && *known >= r.lanes && (!narrow || narrowThroughout) &&
                              (repeats(op.getKind()) || op.getKind() == ReduceKind::sum);
        if (overlaps && *known % r.lanes)
          next = r.withLastVector(*known, next, narrow);
        if (overlaps || (known && *known % r.lanes == 0))
          llvm::append_range(next, singles);
        else
          llvm::append_range(next, r.runRest(whole, last, singles));
        return next;
      });
  SmallVector<LaneValue> results;
  const bool widens = narrowThroughout && reducedElements(op).value_or(most + 1) > most;
  for (int64_t c = 0; c < count; ++c)
    results.push_back(r.ofLanes(widens ? r.widened(loops[c]) : loops[c], loops[count + c]));
  return results;
}
