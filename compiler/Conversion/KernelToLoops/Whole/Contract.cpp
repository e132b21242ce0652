// SPDX-License-Identifier: Apache-2.0
//
// Matrix products.
//
// Lanes lie along the matrix's rows, or along an axis of the value that stays; several
// results share what they read: rows of the value in the one case, columns of the matrix
// in the other. The order of additions is that of a sum, so it does not depend on any of
// that. Each result has 32 partial sums; those of a few at a time are in registers.
//
// Matrices of bands, of filters that overlap, are 0 but near a diagonal. A product with 0 changes
// no sum, unless it is with what is not finite: so of all rows of the matrix only those from the
// first to the last that has another number in the columns at hand are gone through, in runs
// of 32, where the rows of the value are finite.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "runtime/abi/scalar.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {
struct ContractShape {
  int64_t lane = -1, lanes = 1;   ///< axis of the result along which lanes lie
  int64_t block = -1, blocks = 1; ///< axis of the result of which so many are made at a time
};

/// Of runs of 32 rows of the matrix, the first that is gone through, and the one behind the last.
struct Runs {
  Value first, last;
};
} // namespace

static SmallVector<LaneValue> contractAt(const Site &site, ContractOp op,
                                         const ContractShape &shape,
                                         ArrayRef<SmallVector<Index>> at, std::optional<Runs> runs);

/// From so many runs of rows on, and vectors along a row, it is worth to know what is 0: a few
/// in a hundred of the time of a matrix where nothing is.
static constexpr int64_t fewestRuns = 4, fewestSteps = 3;

/// Products that are unrolled.
static constexpr int64_t unrolledProducts = 256;

static ContractShape contractShape(const Site &site, ContractOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult()),
                  matrix = typeOf(op.getMatrix());
  const int64_t to = out.axisIndex(matrix.getAxes()[1].name),
                size = scalarBytes(out.getElementType());
  ContractShape shape;
  auto isRun = [](std::optional<int64_t> apart) { return apart && *apart == 1; };
  auto longEnough = [](const Axis &axis) { return axis.isStatic() && axis.extent >= 4; };
  for (int64_t axis = 0; axis < out.getRank(); ++axis)
    if (axis != to && longEnough(out.getAxes()[axis]) &&
        isRun(elementsApart(site, op.getValue(), in.axisIndex(out.getAxes()[axis].name))))
      shape.lane = axis;
  // The longer run.
  const bool hasRows =
      out.getAxes()[to].isStatic() && isRun(elementsApart(site, op.getMatrix(), 1));
  if (hasRows && (shape.lane < 0 || out.getAxes()[to].extent > out.getAxes()[shape.lane].extent))
    shape.lane = to;
  if (shape.lane >= 0) {
    shape.lanes = l.has.lanesOf(size);
    while (shape.lanes > 1 && shape.lanes > out.getAxes()[shape.lane].extent)
      shape.lanes /= 2;
  }
  if (shape.lanes < 2)
    shape = {};
  shape.block = shape.lane == to ? -1 : to;
  for (int64_t axis = out.getRank() - 1; axis >= 0 && shape.block < 0; --axis)
    if (axis != to)
      shape.block = axis;
  // All columns of a small matrix, where they share what is read of the value.
  const Axis &summed = matrix.getAxes()[0];
  const bool isSmall = shape.block == to && summed.isStatic() && summed.extent <= 16;
  if (shape.block >= 0 && out.getAxes()[shape.block].isStatic())
    while (2 * shape.blocks <=
           std::min<int64_t>(isSmall ? 8 : 4, out.getAxes()[shape.block].extent))
      shape.blocks *= 2;
  return shape;
}

/// Returns whether lanes lie along rows of a matrix that is long enough, and elements of a row of
/// the value are neighbours.
static bool looksForZeros(const Site &site, ContractOp op, const ContractShape &shape) {
  NamedTensorType in = typeOf(op.getValue()), matrix = typeOf(op.getMatrix());
  const int64_t to = typeOf(op.getResult()).axisIndex(matrix.getAxes()[1].name),
                from = in.axisIndex(matrix.getAxes()[0].name);
  const Axis &summed = in.getAxes()[from];
  return llvm::isa<FloatType>(in.getElementType()) && shape.lane == to && shape.lanes >= 4 &&
         summed.isStatic() && matrix.getAxes()[1].extent >= fewestSteps * shape.lanes &&
         summed.extent / partialSums >= fewestRuns && elementsApart(site, op.getValue(), from) == 1;
}

/// Writes the runs for each step along the matrix's columns: two numbers for each.
static LogicalResult storeRuns(const Site &site, ContractOp op, const ContractShape &shape,
                               Value to) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType matrix = typeOf(op.getMatrix());
  const int64_t columns = matrix.getAxes()[1].extent,
                whole = matrix.getAxes()[0].extent / partialSums;
  auto numberAt = [&](Value step, int64_t which) {
    return m.address(to, l.add(l.mul(step, l.i64(16)), l.i64(8 * which)));
  };
  forLoop(site, l.i64(0), l.i64((columns + shape.lanes - 1) / shape.lanes), 1, [&](Value step) {
    Value column = l.minS(l.mul(step, l.i64(shape.lanes)), l.i64(columns - shape.lanes));
    auto bounds = carryLoop(
        site, l.i64(0), l.i64(whole), ValueRange{l.i64(whole), l.i64(0)},
        [&](Value run, ValueRange sofar) {
          Type element = matrix.getElementType(),
               word = b.getIntegerType(element.getIntOrFloatBitWidth());
          auto vector = VectorType::get({shape.lanes}, word);
          Value none = b.create<arith::ConstantOp>(
              l.loc, DenseElementsAttr::get(vector, b.getIntegerAttr(word, 0)));
          Value bits =
              carryLoop(site, l.i64(0), l.i64(partialSums), none, [&](Value row, ValueRange sofar) {
                ctx.elements.clear();
                const Site wide = site.withLanes(shape.lanes);
                Value place = l.add(l.mul(run, l.i64(partialSums)), row);
                Value value = wide.m.l.splat(
                    emit(wide, op.getMatrix(), {m.uniform(place), Index{column, 1, {}, {}}}).value);
                return SmallVector<Value>{
                    l.orInt(sofar[0], b.create<arith::BitcastOp>(l.loc, vector, value))};
              })[0];
          Value any = l.anyLane(bits, [&](Value some) -> Value {
            Value zero = b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(some.getType()));
            return b.create<arith::CmpIOp>(l.loc, arith::CmpIPredicate::ne, some, zero);
          });
          return SmallVector<Value>{l.pick(any, l.minS(sofar[0], run), sofar[0]),
                                    l.pick(any, l.add(run, l.i64(1)), sofar[1])};
        });
    m.storePlain(bounds[0], numberAt(step, 0));
    m.storePlain(bounds[1], numberAt(step, 1));
  });
  ctx.elements.clear();
  return success();
}

/// Returns whether rows of the value hold what is not finite.
static Value anyInfinite(const Site &site, ContractOp op, ArrayRef<SmallVector<Index>> rows,
                         int64_t from, int64_t lanes) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t count = typeOf(op.getValue()).getAxes()[from].extent;
  const Site wide = site.withLanes(lanes);
  Value zero =
      wide.m.l.splat(neutral(l, ReduceKind::sum, typeOf(op.getValue()).getElementType()).value);
  OpBuilder::InsertionGuard guard(b);
  auto loop = openLoop(b, l, l.i64(0), l.i64(count), lanes, zero);
  Value place = l.minS(loop.getInductionVar(), l.i64(count - lanes)),
        sum = loop.getRegionIterArg(0);
  for (const SmallVector<Index> &row : rows) {
    SmallVector<Index> at(row);
    at[from] = {place, 1, {}, {}};
    ctx.elements.clear();
    Value value = wide.m.l.splat(emit(wide, op.getValue(), at).value);
    sum = b.create<arith::AddFOp>(l.loc, sum,
                                  b.create<arith::SubFOp>(l.loc, value, value)); // 0, or NaN
  }
  b.create<scf::YieldOp>(l.loc, sum);
  b.setInsertionPointAfter(loop);
  ctx.elements.clear();
  Value result = loop.getResult(0);
  return l.anyLane(result, [&](Value some) -> Value {
    return b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::UNO, some, some);
  });
}

static LogicalResult emitContract(const Site &site, ContractOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType out = typeOf(op.getResult());
  auto buffer = bufferFor(site, op.getResult());
  if (failed(buffer))
    return failure();
  const ContractShape shape = contractShape(site, op);
  auto partial = scratchBytes(
      site, partialSums * shape.lanes * shape.blocks * scalarBytes(out.getElementType()), {});
  if (failed(partial))
    return failure();
  Site summing = site;
  summing.partialSums = *partial;
  NamedTensorType matrix = typeOf(op.getMatrix());
  const int64_t from = typeOf(op.getValue()).axisIndex(matrix.getAxes()[0].name),
                whole =
                    matrix.getAxes()[0].isStatic() ? matrix.getAxes()[0].extent / partialSums : 0;
  const bool looks = looksForZeros(site, op, shape);
  Value runsAt, infinite; // of the rows at hand
  if (looks) {
    auto room =
        scratchBytes(site, 16 * ((matrix.getAxes()[1].extent + shape.lanes - 1) / shape.lanes), {});
    if (failed(room) || failed(storeRuns(site, op, shape, *room)))
      return failure();
    runsAt = *room;
  }
  SmallVector<Index> at(out.getRank());
  auto placesFrom = [&](Value first) {
    SmallVector<SmallVector<Index>> places;
    for (int64_t i = 0; i < shape.blocks; ++i) {
      places.push_back(at);
      if (shape.blocks > 1)
        places.back()[shape.block] = m.uniform(l.add(first, l.i64(i)));
    }
    return places;
  };
  auto runsAtColumn = [&](Value column) -> std::optional<Runs> {
    if (!looks)
      return std::nullopt;
    Value step = l.divS(l.add(column, l.i64(shape.lanes - 1)), l.i64(shape.lanes));
    auto number = [&](int64_t which, int64_t all) -> Value {
      Value known = m.loadPlain(b.getI64Type(),
                                m.address(runsAt, l.add(l.mul(step, l.i64(16)), l.i64(8 * which))));
      return l.pick(infinite, l.i64(all), known);
    };
    return Runs{number(0, 0), number(1, whole)};
  };
  auto results = [&](const Site &site, Value first, std::optional<Runs> runs = {}) {
    auto [ctx, b, l, m] = site.parts();
    SmallVector<SmallVector<Index>> places = placesFrom(first);
    ctx.elements.clear();
    SmallVector<LaneValue> sums = contractAt(site, op, shape, places, runs);
    for (auto [place, sum] : llvm::zip(places, sums))
      m.store(*buffer, place, sum);
  };
  // The last ones overlap those before them, along lanes and among results that are made together.
  auto steps = [&](int64_t axis, int64_t step, llvm::function_ref<void(Value)> body) {
    Value size = extent(site, op.getResult(), axis);
    auto known = Lanes::constantOf(size);
    if (known == step) // what does not change in a loop of one turn leaves it, and its registers
      return body(l.i64(0));
    forLoop(site, l.i64(0), size, step, [&](Value first) {
      body(step > 1 && *known % step ? l.minS(first, l.i64(*known - step)) : first);
    });
  };
  std::function<void(int64_t)> nest = [&](int64_t axis) {
    if (axis == shape.lane || (axis == shape.block && shape.blocks > 1))
      return nest(axis + 1);
    if (axis < out.getRank())
      return steps(axis, 1, [&](Value index) {
        at[axis] = m.uniform(index);
        nest(axis + 1);
      });
    auto inLanes = [&](Value first) {
      if (shape.lane < 0)
        return results(summing, first);
      if (looks) {
        SmallVector<SmallVector<Index>> rows = placesFrom(first);
        for (SmallVector<Index> &row : rows) { // the value's places of the result's
          row.erase(row.begin() + shape.lane);
          row.insert(row.begin() + from, Index{});
        }
        infinite = anyInfinite(site, op, rows, from, shape.lanes);
      }
      steps(shape.lane, shape.lanes, [&](Value column) {
        at[shape.lane] = {column, shape.lanes > 1, {}, {}};
        const std::optional<Runs> runs = runsAtColumn(column);
        results(summing.withLanes(shape.lanes), first, runs);
      });
    };
    shape.blocks > 1 ? steps(shape.block, shape.blocks, inLanes) : inLanes({});
  };
  nest(0);
  return success();
}

/// Partial sums that have no element are left out; see treeOf() of reductions.
static LaneValue treeOf(const Lanes &l, ArrayRef<LaneValue> partial, int64_t lane = 0,
                        int64_t step = 1) {
  const int64_t count = static_cast<int64_t>(partial.size());
  if (step >= count)
    return partial[lane];
  LaneValue low = treeOf(l, partial, lane, 2 * step);
  return lane + step < count
             ? l.binary(BinaryKind::add, low, treeOf(l, partial, lane + step, 2 * step))
             : low;
}

static SmallVector<LaneValue> contractAt(const Site &site, ContractOp op,
                                         const ContractShape &shape,
                                         ArrayRef<SmallVector<Index>> at,
                                         std::optional<Runs> runs) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult()),
                  matrix = typeOf(op.getMatrix());
  Type element = out.getElementType();
  const int64_t from = in.axisIndex(matrix.getAxes()[0].name),
                to = out.axisIndex(matrix.getAxes()[1].name);
  const Axis &summed = in.getAxes()[from];
  const LaneValue zero = neutral(l, ReduceKind::sum, element);
  const size_t results = at.size();
  auto product = [&](const Index &i, size_t result) {
    // The value's axes but `from` are the result's but `to`, in the same order.
    SmallVector<Index> inner(at[result]);
    inner.erase(inner.begin() + to);
    inner.insert(inner.begin() + from, i);
    LaneValue x = emit(site, op.getValue(), inner),
              y = emit(site, op.getMatrix(), {i, at[result][to]});
    return l.binary(BinaryKind::mul, x, y);
  };
  auto finished = [&](LaneValue sum) { return l.binary(BinaryKind::add, sum, zero); };
  SmallVector<LaneValue> sums;
  if (summed.isStatic() && summed.extent > 0 && summed.extent <= 2 * partialSums &&
      summed.extent * static_cast<int64_t>(results) <= unrolledProducts) {
    for (size_t result = 0; result < results; ++result) {
      SmallVector<LaneValue> partial;
      for (int64_t i = 0; i < summed.extent; ++i) {
        LaneValue value = product(m.constant(i), result);
        if (i < partialSums)
          partial.push_back(value);
        else
          partial[i % partialSums] = l.binary(BinaryKind::add, partial[i % partialSums], value);
      }
      partial.resize(std::min<int64_t>(summed.extent, partialSums));
      sums.push_back(finished(treeOf(l, partial)));
    }
    return sums;
  }
  SmallVector<SmallVector<LaneValue>> partial(results, SmallVector<LaneValue>(partialSums));
  auto splat = [&](Value value) { return l.lanes > 1 ? l.splat(value) : value; };
  if (summed.isStatic() && summed.extent >= partialSums) {
    const int64_t together =
        std::max<int64_t>(l.has.registers / 2 / static_cast<int64_t>(results), 1);
    const int64_t groups = partialSums / together, whole = summed.extent / partialSums;
    for (int64_t group = 0; group < groups; ++group) {
      auto laneOf = [&](int64_t i) { return group + i * groups; };
      SmallVector<Value> zeros(results * together, splat(zero.value));
      auto loops =
          carryLoop(site, runs ? runs->first : l.i64(0), runs ? runs->last : l.i64(whole), zeros,
                    [&](Value k, ValueRange sofar) {
                      SmallVector<Value> next;
                      Value first = l.mul(k, l.i64(partialSums));
                      for (int64_t i = 0; i < together; ++i)
                        for (size_t result = 0; result < results; ++result)
                          next.push_back(splat(
                              l.binary(BinaryKind::add, l.wrap(sofar[next.size()], element),
                                       product(m.uniform(l.add(first, l.i64(laneOf(i)))), result))
                                  .value));
                      return next;
                    });
      for (int64_t i = 0; i < together; ++i)
        for (size_t result = 0; result < results; ++result) {
          LaneValue sum = l.wrap(loops[i * results + result], element);
          if (laneOf(i) < summed.extent % partialSums)
            sum = l.binary(BinaryKind::add, sum,
                           product(m.constant(whole * partialSums + laneOf(i)), result));
          partial[result][laneOf(i)] = sum;
        }
      for (int64_t half = partialSums / 2; half >= groups; half /= 2)
        for (int64_t lane = group; lane < half; lane += groups)
          for (auto &mine : partial)
            mine[lane] = l.binary(BinaryKind::add, mine[lane], mine[lane + half]);
    }
    for (auto &mine : partial) {
      mine.resize(groups);
      sums.push_back(finished(treeOf(l, mine)));
    }
    return sums;
  }
  // As many as are known when running: the partial sums are in memory.
  const int64_t bytes = shape.lanes * scalarBytes(element);
  auto place = [&](Value lane, size_t result) {
    return m.address(site.partialSums,
                     l.add(l.mul(lane, l.i64(bytes * static_cast<int64_t>(results))),
                           l.i64(bytes * static_cast<int64_t>(result))));
  };
  Type type = splat(zero.value).getType();
  for (int64_t lane = 0; lane < partialSums; ++lane)
    for (size_t result = 0; result < results; ++result)
      m.storePlain(splat(zero.value), place(l.i64(lane), result));
  forLoop(site, l.i64(0), extent(site, op.getValue(), from), 1, [&](Value i) {
    Value lane = l.andInt(i, l.i64(partialSums - 1));
    for (size_t result = 0; result < results; ++result) {
      LaneValue sofar = l.wrap(m.loadPlain(type, place(lane, result)), element);
      m.storePlain(splat(l.binary(BinaryKind::add, sofar, product(m.uniform(i), result)).value),
                   place(lane, result));
    }
  });
  for (size_t result = 0; result < results; ++result) {
    for (int64_t lane = 0; lane < partialSums; ++lane)
      partial[result][lane] = l.wrap(m.loadPlain(type, place(l.i64(lane), result)), element);
    sums.push_back(finished(treeOf(l, partial[result])));
  }
  return sums;
}

namespace penstock::conversion {
void registerContract(WholeOps &all);
}
void penstock::conversion::registerContract(WholeOps &all) { all.add<ContractOp>(emitContract); }
