// SPDX-License-Identifier: Apache-2.0
//
// The sums of a matrix product. Their order is that of any sum of floats, 32 partial sums and a
// tree; `#schedule.contract` says where those are.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Contract.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Dialect/ScheduleDialect.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {

/// The products of results that are made together.
struct Products {
  Products(const Site &site, ContractOp op, const ContractShape &shape,
           ArrayRef<SmallVector<Index>> at);

  LaneValue one(const Index &i, size_t result) const;
  LaneValue add(LaneValue sofar, LaneValue value) const {
    return site.m.l.binary(BinaryKind::add, sofar, value);
  }
  Value splat(Value value) const { return site.m.l.lanes > 1 ? site.m.l.splat(value) : value; }
  LaneValue tree(ArrayRef<LaneValue> partial) const {
    return treeOfPartials(site.m.l, element, static_cast<int64_t>(partial.size()),
                          [&](int64_t lane) { return partial[lane]; });
  }

  SmallVector<LaneValue> unrolled() const;
  SmallVector<LaneValue> inRegisters() const;
  SmallVector<LaneValue> stored() const;
  SmallVector<LaneValue> inMemory() const;
  /// Room for partial sum `lane` of a result.
  Value place(Value lane, size_t result) const;
  Value loaded(Value lane, size_t result) const {
    return site.m.loadPlain(splat(zero.value).getType(), place(lane, result));
  }
  /// One partial sum of each result, of `count` products.
  SmallVector<Value> partial(Value lane, int64_t count) const;
  SmallVector<LaneValue> treesOfStored(int64_t sums) const;

  const Site &site;
  const ContractShape &shape;
  ArrayRef<SmallVector<Index>> at;
  Value value, matrix;
  Type element;
  int64_t from, to; ///< what is summed, an axis of the value; the matrix's columns, of the result
  const Axis &summed;
  LaneValue zero;
};

} // namespace

Products::Products(const Site &site, ContractOp op, const ContractShape &shape,
                   ArrayRef<SmallVector<Index>> at)
    : site(site), shape(shape), at(at), value(op.getValue()), matrix(op.getMatrix()),
      element(typeOf(op.getResult()).getElementType()),
      from(typeOf(op.getValue()).axisIndex(typeOf(op.getMatrix()).getAxes()[0].name)),
      to(typeOf(op.getResult()).axisIndex(typeOf(op.getMatrix()).getAxes()[1].name)),
      summed(typeOf(op.getValue()).getAxes()[from]),
      zero(neutral(site.m.l, ReduceKind::sum, element)) {}

LaneValue Products::one(const Index &i, size_t result) const {
  // The value's axes but `from` are the result's but `to`, in the same order.
  SmallVector<Index> inner(at[result]);
  inner.erase(inner.begin() + to);
  inner.insert(inner.begin() + from, i);
  LaneValue x = emit(site, value, inner), y = emit(site, matrix, {i, at[result][to]});
  return site.m.l.binary(BinaryKind::mul, x, y);
}

SmallVector<LaneValue> Products::unrolled() const {
  SmallVector<LaneValue> sums;
  for (size_t result = 0; result < at.size(); ++result) {
    SmallVector<LaneValue> partial;
    for (int64_t i = 0; i < summed.extent; ++i) {
      LaneValue product = one(site.m.constant(i), result);
      if (i < partialSums)
        partial.push_back(product);
      else
        partial[i % partialSums] = add(partial[i % partialSums], product);
    }
    sums.push_back(tree(partial));
  }
  return sums;
}

SmallVector<LaneValue> Products::inRegisters() const {
  auto [ctx, b, l, m] = site.parts();
  const size_t results = at.size();
  const int64_t together =
      std::max<int64_t>(l.has.registers / 2 / static_cast<int64_t>(results), 1);
  const int64_t groups = partialSums / together, whole = summed.extent / partialSums;
  SmallVector<SmallVector<LaneValue>> partial(results, SmallVector<LaneValue>(partialSums));
  for (int64_t group = 0; group < groups; ++group) {
    auto laneOf = [&](int64_t i) { return group + i * groups; };
    SmallVector<Value> zeros(results * together, splat(zero.value));
    auto loops = carryLoop(site, l.i64(0), l.i64(whole), zeros, [&](Value k, ValueRange sofar) {
      SmallVector<Value> next;
      Value first = l.mul(k, l.i64(partialSums));
      for (int64_t i = 0; i < together; ++i)
        for (size_t result = 0; result < results; ++result)
          next.push_back(splat(add(l.wrap(sofar[next.size()], element),
                                   one(m.uniform(l.add(first, l.i64(laneOf(i)))), result))
                                   .value));
      return next;
    });
    for (int64_t i = 0; i < together; ++i)
      for (size_t result = 0; result < results; ++result) {
        LaneValue sum = l.wrap(loops[i * results + result], element);
        if (laneOf(i) < summed.extent % partialSums)
          sum = add(sum, one(m.constant(whole * partialSums + laneOf(i)), result));
        partial[result][laneOf(i)] = sum;
      }
    for (int64_t half = partialSums / 2; half >= groups; half /= 2)
      for (int64_t lane = group; lane < half; lane += groups)
        for (auto &mine : partial)
          mine[lane] = add(mine[lane], mine[lane + half]);
  }
  SmallVector<LaneValue> sums;
  for (auto &mine : partial) {
    mine.resize(groups);
    sums.push_back(tree(mine));
  }
  return sums;
}

Value Products::place(Value lane, size_t result) const {
  const Lanes &l = site.m.l;
  const int64_t bytes = shape.lanes * scalarBytes(element);
  return site.m.address(site.partialSums,
                        l.add(l.mul(lane, l.i64(bytes * static_cast<int64_t>(at.size()))),
                              l.i64(bytes * static_cast<int64_t>(result))));
}

SmallVector<LaneValue> Products::treesOfStored(int64_t sums) const {
  SmallVector<LaneValue> results;
  for (size_t result = 0; result < at.size(); ++result)
    results.push_back(treeOfPartials(
        site.m.l, element, sums,
        [&](int64_t lane) { return site.m.l.wrap(loaded(site.m.l.i64(lane), result), element); },
        sums));
  return results;
}

/// Products of a partial sum that are unrolled.
static constexpr int64_t unrolledOfPartial = 8;

SmallVector<Value> Products::partial(Value lane, int64_t count) const {
  auto [ctx, b, l, m] = site.parts();
  auto product = [&](Value k, size_t result) {
    return one(m.uniform(l.add(l.mul(k, l.i64(partialSums)), lane)), result);
  };
  auto next = [&](Value k, ValueRange sofar) {
    SmallVector<Value> sums;
    for (auto [result, sum] : llvm::enumerate(sofar))
      sums.push_back(splat(add(l.wrap(sum, element), product(k, result)).value));
    return sums;
  };
  SmallVector<Value> sums;
  for (size_t result = 0; result < at.size(); ++result)
    sums.push_back(splat(product(l.i64(0), result).value));
  if (count > unrolledOfPartial)
    sums = carryLoop(site, l.i64(1), l.i64(count), sums, next);
  else
    for (int64_t k = 1; k < count; ++k)
      sums = next(l.i64(k), sums);
  ctx.elements.clear();
  return sums;
}

SmallVector<LaneValue> Products::stored() const {
  auto [ctx, b, l, m] = site.parts();
  overHalves(summed.extent, [&](int64_t from, int64_t to, int64_t low, int64_t high) {
    forLoop(site, l.i64(from), l.i64(to), 1, [&](Value lane) {
      ctx.elements.clear();
      for (auto [result, sum] : llvm::enumerate(partial(lane, low)))
        m.storePlain(sum, place(lane, result));
      for (auto [result, sum] : llvm::enumerate(partial(l.add(lane, l.i64(halfOfSums)), high))) {
        LaneValue before = l.wrap(loaded(lane, result), element);
        m.storePlain(splat(add(before, l.wrap(sum, element)).value), place(lane, result));
      }
    });
  });
  return treesOfStored(halfOfSums);
}

/// As many as are known when running.
SmallVector<LaneValue> Products::inMemory() const {
  auto [ctx, b, l, m] = site.parts();
  const size_t results = at.size();
  for (int64_t lane = 0; lane < partialSums; ++lane)
    for (size_t result = 0; result < results; ++result)
      m.storePlain(splat(zero.value), place(l.i64(lane), result));
  forLoop(site, l.i64(0), extent(site, value, from), 1, [&](Value i) {
    Value lane = l.andInt(i, l.i64(partialSums - 1));
    for (size_t result = 0; result < results; ++result) {
      LaneValue sofar = l.wrap(loaded(lane, result), element);
      m.storePlain(splat(add(sofar, one(m.uniform(i), result)).value), place(lane, result));
    }
  });
  return treesOfStored(partialSums);
}

SmallVector<LaneValue> penstock::conversion::contractAt(const Site &site, ContractOp op,
                                                        const ContractShape &shape,
                                                        ArrayRef<SmallVector<Index>> at) {
  const Products products(site, op, shape, at);
  switch (contractOf(op).getSums()) {
  case ProductSums::unrolled:
    return products.unrolled();
  case ProductSums::registers:
    return products.inRegisters();
  case ProductSums::stored:
    return products.stored();
  case ProductSums::memory:
    return products.inMemory();
  }
  llvm_unreachable("unknown sums");
}
