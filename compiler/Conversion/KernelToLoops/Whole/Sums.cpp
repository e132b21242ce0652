// SPDX-License-Identifier: Apache-2.0
//
// Sums of floats along rows.
//
// Element i goes to partial sum i mod 32, and those are added pairwise. A row
// gives 32 lanes at a time; rows, or channels that lie side by side, go together.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/scalar.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static SmallVector<Value> deinterleaved(const Site &site, ArrayRef<Value> run);

/// Adds the rows along the last axis to the 32 sums: as one vector where a row
/// begins or continues at element 0 of them, else one by one.
void penstock::conversion::sumRows(const Site &site, ReduceOp op, SmallVector<Index> &at,
                                   ArrayRef<int64_t> over, ArrayRef<Value> extents, Value partial,
                                   llvm::function_ref<void(Value)> addOne) {
  auto [ctx, b, l, m] = site.parts();
  constexpr int64_t lanes = penstock::scalar::reductionLanes;
  Type element = computeType(typeOf(op.getValue()).getElementType());
  auto type = VectorType::get({lanes}, element);
  Value last = extents.back();
  auto single = [&](Value from, Value to, Value number) {
    forLoop(site, from, to, 1, [&](Value i) {
      at[over.back()] = m.uniform(i);
      addOne(l.add(number, l.sub(i, from)));
    });
  };
  auto vectors = [&](Value from, Value to, Value sums) -> Value {
    OpBuilder::InsertionGuard guard(b);
    auto loop = openLoop(b, l, from, to, lanes, sums);
    at[over.back()] = {loop.getInductionVar(), 1, {}, {}};
    const Site wide = site.withLanes(lanes);
    auto [ctx, b, l, m] = wide.parts();
    LaneValue value = l.cast(CastMode::value, emit(wide, op.getValue(), at), element);
    Value sum = l.binary(BinaryKind::add, l.wrap(loop.getRegionIterArg(0), element), value).value;
    b.create<scf::YieldOp>(l.loc, sum);
    return loop.getResult(0);
  };
  carriedNest(b, l, extents.drop_back(), {l.i64(0)}, [&](ArrayRef<Value> inner, ValueRange state) {
    for (auto [i, index] : llvm::enumerate(inner))
      at[over[i]] = m.uniform(index);
    Value begun = l.andInt(state[0], l.i64(lanes - 1));
    Value head = l.minS(l.andInt(l.sub(l.i64(0), begun), l.i64(lanes - 1)), last);
    Value whole = l.add(head, l.andInt(l.sub(last, head), l.i64(-lanes)));
    single(l.i64(0), head, state[0]);
    m.storePlain(vectors(head, whole, m.loadPlain(type, partial)), partial);
    single(whole, last, l.add(state[0], whole));
    return SmallVector<Value>{l.add(state[0], last)};
  });
}

namespace {
/// Sums of rows of known length, 32 elements of a row at a time, for all results `beside` at once.
struct RowSums {
  const Site &site;
  ReduceOp op;
  SmallVector<Index> &at;
  int64_t axis; ///< the last reduced one
  const Beside &beside;
  int64_t size; ///< of a row
  OpBuilder &b = site.ctx.b;
  const Lanes &l = site.m.l;
  const Memory &m = site.m;
  static constexpr int64_t lanes = penstock::scalar::reductionLanes;
  const Type element = computeType(typeOf(op.getValue()).getElementType());
  const int64_t count = static_cast<int64_t>(beside.places.size());
  const int64_t rest = size % lanes, whole = size - rest;

  Value zeroOf(int64_t lanes) const {
    return b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(VectorType::get({lanes}, element)));
  }
  SmallVector<Value> elementsAt(const Site &site, Value index);
  SmallVector<Value> wholeVectors(ValueRange sofar);
  Value addedToFirst(Value sum, Value few) const;
  Value turned(Value sum, int64_t by) const;
};
} // namespace

/// As many neighbours as the site has lanes, for each result.
SmallVector<Value> RowSums::elementsAt(const Site &site, Value index) {
  auto [ctx, b, l, m] = site.parts();
  at[axis] = beside.isRun ? m.constant(0) : Index{index, 1, {}, {}};
  SmallVector<Value> values;
  for (int64_t c = 0; c < count; ++c) {
    if (beside.isRun)
      at[beside.axis] = {l.add(l.mul(index, l.i64(count)), l.i64(c * lanes)), 1, {}, {}};
    else if (beside.axis >= 0)
      at[beside.axis] = beside.places[c];
    LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), at), element);
    values.push_back(l.splat(value.value));
  }
  return values;
}

/// Adds the elements that fill vectors to the sums so far; without a loop where that is one vector.
/// Where there are no sums so far, it is the first, and zeros keep their signs.
SmallVector<Value> RowSums::wholeVectors(ValueRange sofar) {
  const Site wide = site.withLanes(lanes);
  auto added = [&](ValueRange sofar, Value index) {
    SmallVector<Value> values = elementsAt(wide, index);
    for (auto [value, sum] : llvm::zip(values, sofar))
      value = b.create<arith::AddFOp>(l.loc, sum, value);
    return values;
  };
  if (whole == lanes)
    return added(sofar, l.i64(0));
  OpBuilder::InsertionGuard guard(b);
  auto loop = openLoop(b, l, l.i64(0), l.i64(whole), lanes, sofar);
  b.create<scf::YieldOp>(l.loc, added(loop.getRegionIterArgs(), loop.getInductionVar()));
  return SmallVector<Value>(loop.getResults());
}

/// Adds a few values to the first of the 32 sums. Zeros fill the register up, others stay.
Value RowSums::addedToFirst(Value sum, Value few) const {
  const int64_t some = llvm::cast<VectorType>(few.getType()).getNumElements(),
                filled = llvm::alignTo(some, l.has.lanesOf(scalarBytes(element)));
  SmallVector<int64_t> fill, first, all;
  for (int64_t lane = 0; lane < filled; ++lane) {
    fill.push_back(std::min(lane, some));
    first.push_back(lane);
  }
  for (int64_t lane = 0; lane < lanes; ++lane)
    all.push_back(lane < filled ? lane : filled + lane);
  Value head = b.create<arith::AddFOp>(l.loc, m.shuffle(sum, sum, first),
                                       m.shuffle(few, zeroOf(some), fill));
  return m.shuffle(head, sum, all);
}

Value RowSums::turned(Value sum, int64_t by) const {
  SmallVector<int64_t> order(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    order[lane] = (lane + by + lanes) % lanes;
  return by ? m.shuffle(sum, sum, order) : sum;
}

/// As many partial sums as lanes, for each result. Where a row ends between two vectors, its last
/// one is moved to the front and filled up with zeros, and the sums turn by as much, so that the
/// next row begins at lane 0. The few last ones of one row alone are a shorter vector.
///
/// A sum begins with +0, so it is no -0. One of the 32 that is no -0 is enough for that: of one
/// row, the others begin with their first element.
SmallVector<Value> penstock::conversion::sumVectors(const Site &site, ReduceOp op,
                                                    SmallVector<Index> &at, ArrayRef<int64_t> over,
                                                    const Beside &beside, ArrayRef<Value> extents) {
  if (hasShortRows(op, reductionOf(op).getUnroll() ? 1 : reductionOf(op).getRun()))
    return sumShortRows(site, op, at, over, beside, extents);
  auto [ctx, b, l, m] = site.parts();
  RowSums r{site, op, at, over.back(), beside, *Lanes::constantOf(extents.back())};
  const int64_t lanes = RowSums::lanes, rest = r.rest;
  const bool isOneRow = extents.size() == 1,
             isFirst = isOneRow && !beside.isRun && r.whole == lanes;
  const bool isShort = isOneRow && !beside.isRun && rest <= lanes / 2 && rest > 1 &&
                       llvm::isPowerOf2_64(static_cast<uint64_t>(rest));
  int64_t rows = 1;
  for (Value extent : extents.drop_back())
    rows = rest ? rows * *Lanes::constantOf(extent) % lanes : 0;
  auto addRow = [&](ArrayRef<Value> inner, ValueRange state) {
    for (auto [i, index] : llvm::enumerate(inner))
      at[over[i]] = m.uniform(index);
    SmallVector<Value> sums = r.wholeVectors(isFirst ? ValueRange{} : state);
    const bool hasZeros = isShort ? rest % l.has.lanesOf(scalarBytes(r.element)) : rest;
    if (isFirst && !hasZeros)
      for (Value &sum : sums)
        sum = r.addedToFirst(sum, r.zeroOf(1));
    if (!rest)
      return sums;
    if (isShort) {
      for (auto [sum, few] : llvm::zip(sums, r.elementsAt(site.withLanes(rest), l.i64(r.whole))))
        sum = r.addedToFirst(sum, few);
      return sums;
    }
    SmallVector<int64_t> order(lanes);
    for (int64_t lane = 0; lane < lanes; ++lane)
      order[lane] = lanes - rest + lane; // beyond the vector there are zeros
    SmallVector<Value> last = r.elementsAt(site.withLanes(lanes), l.i64(r.size - lanes));
    for (auto [sum, value] : llvm::zip(sums, last))
      sum = r.turned(b.create<arith::AddFOp>(l.loc, sum, m.shuffle(value, r.zeroOf(lanes), order)),
                     rest);
    return sums;
  };
  auto sums =
      carriedNest(b, l, extents.drop_back(), SmallVector<Value>(r.count, r.zeroOf(lanes)), addRow);
  for (Value &sum : sums)
    sum = isShort ? sum : r.turned(sum, -(rows * rest % lanes));
  return beside.isRun ? deinterleaved(site, sums) : sums;
}

/// As many results as vectors, whose elements take turns through all of them.
static SmallVector<Value> deinterleaved(const Site &site, ArrayRef<Value> run) {
  auto [ctx, b, l, m] = site.parts();
  constexpr int64_t lanes = penstock::scalar::reductionLanes;
  const auto count = static_cast<int64_t>(run.size());
  SmallVector<Value> results;
  for (int64_t c = 0; c < count; ++c) {
    Value result;
    for (int64_t from = 0; from < count; ++from) {
      SmallVector<int64_t> order(lanes);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t place = lane * count + c - from * lanes;
        order[lane] = place >= 0 && place < lanes ? (from ? lanes : 0) + place : from ? lane : 0;
      }
      result = from ? m.shuffle(result, run[from], order) : m.shuffle(run[0], run[0], order);
    }
    results.push_back(result);
  }
  return results;
}

static int64_t lanesIn(Value vector) {
  return llvm::cast<VectorType>(vector.getType()).getNumElements();
}

LaneValue penstock::conversion::sumOfLanes(const Site &site, Value all, Type element) {
  auto [ctx, b, l, m] = site.parts();
  for (int64_t half = lanesIn(all) / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < half; ++lane) {
      low.push_back(lane);
      high.push_back(lane + half);
    }
    all = b.create<arith::AddFOp>(l.loc, m.shuffle(all, all, low), m.shuffle(all, all, high));
  }
  return l.wrap(b.create<vector::ExtractOp>(l.loc, all, 0), element);
}

/// Whole registers of each sum at first, then all trees at once: a register has lanes of several
/// sums at every step.
LaneValue penstock::conversion::sumsOfLanes(const Site &site, ArrayRef<Value> sums, Type element) {
  auto [ctx, b, l, m] = site.parts();
  const auto count = static_cast<int64_t>(sums.size());
  auto range = [](int64_t from, int64_t to) { return llvm::to_vector(llvm::seq(from, to)); };
  int64_t lanes = lanesIn(sums[0]);
  SmallVector<Value> each(sums);
  for (; lanes / 2 >= l.has.lanesOf(scalarBytes(element)); lanes /= 2)
    for (Value &sum : each)
      sum = b.create<arith::AddFOp>(l.loc, m.shuffle(sum, sum, range(0, lanes / 2)),
                                    m.shuffle(sum, sum, range(lanes / 2, lanes)));
  Value all = each[0];
  for (int64_t c = 1; c < count; ++c)
    all = m.shuffle(all, each[c], range(0, (c + 1) * lanes));
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < 2 * half * count; ++lane)
      (lane / half % 2 ? high : low).push_back(lane);
    all = b.create<arith::AddFOp>(l.loc, m.shuffle(all, all, low), m.shuffle(all, all, high));
  }
  return l.wrap(all, element);
}
