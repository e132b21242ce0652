//===- Reduce.cpp - reductions ----------------------------------------===//
//
// A floating-point sum adds element i to lane i mod 32 of 32 partial sums,
// which are then added pairwise (scalar.h, reductionLanes): the partial sums
// live in registers where it is known how they meet the rows, else in memory, and no vector
// width can change the result.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
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

static int64_t lanesOfPlaces(const Site &site, Type element);

/// Whether rows are as long as there are partial sums, and it is known where each begins among
/// those.
static bool fillsVectors(ArrayRef<Value> extents) {
  const auto last = Lanes::constantOf(extents.back());
  return last && *last >= penstock::scalar::reductionLanes &&
         (*last % penstock::scalar::reductionLanes == 0 || llvm::all_of(extents, [](Value extent) {
           return Lanes::constantOf(extent).has_value();
         }));
}

/// Results of which the partial sums fit the registers.
static int64_t rowsBeside(const penstock::lane::Features &has, Type element) {
  return std::max<int64_t>(has.registerBytes / 16 * 4 / scalarBytes(element), 1);
}

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

/// An exact reduction with lanes along the last reduced axis, for all values of
/// `beside` at once: a small axis further in, which is kept (-1: none). Sums of small
/// numbers are taken in 32 bits for as long as they fit.
SmallVector<LaneValue> penstock::conversion::reduceLanes(const Site &site, ReduceOp op, SmallVector<Index> &at, ArrayRef<int64_t> over,
                                                  int64_t beside, ArrayRef<Value> extents, LaneValue start,
                                                  llvm::function_ref<LaneValue(LaneValue, LaneValue)> combine) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t lanes = std::min<int64_t>(l.has.registerBytes, 32);
  const int64_t count = beside < 0 ? 1 : typeOf(op.getValue()).getAxes()[beside].extent;
  const bool adds = op.getKind() == ReduceKind::sum || op.getKind() == ReduceKind::count;
  Value last = extents.back(), whole = l.andInt(last, l.i64(-lanes));
  const auto known = Lanes::constantOf(last);
  const bool noRest = known && *known % lanes == 0;
  if (known)
    whole = l.i64(*known & -lanes);
  auto elementsAt = [&](Value index, bool vector) {
    at[over.back()] = {index, vector ? 1 : 0, {}, {}};
    SmallVector<LaneValue> values;
    for (int64_t c = 0; c < count; ++c) {
      if (beside >= 0)
        at[beside] = m.constant(c);
      LaneValue value = emit(site, op.getValue(), at);
      values.push_back(llvm::isa<FloatType>(start.type) ? l.cast(CastMode::value, value, start.type)
                                                        : value);
    }
    return values;
  };
  auto bind = [&](ArrayRef<Value> inner) {
    for (auto [i, index] : llvm::enumerate(inner))
      at[over[i]] = m.uniform(index);
  };
  // How large elements are is known once one was emitted.
  int64_t most = 0; // vectors whose sum fits i32
  if (adds && start.type.isInteger(64) && readsPlainly(site, op.getValue())) {
    OpBuilder::InsertionGuard guard(b);
    Region aside;
    b.createBlock(&aside);
    bind(SmallVector<Value>(extents.size() - 1, l.i64(0)));
    l.lanes = lanes;
    SmallVector<LaneValue> some = elementsAt(l.i64(0), true);
    l.lanes = 1;
    ctx.elements.clear(); // those go away
    double largest = 1.0;
    bool small = true;
    for (const LaneValue &one : some) {
      largest = std::max({largest, std::abs(one.range.low), std::abs(one.range.high)});
      small &= one.wide || op.getKind() == ReduceKind::count;
    }
    if (small && largest <= 0xFFFF)
      most = static_cast<int64_t>(0x7FFFFFFF / largest);
  }
  int64_t total = 1; // vectors in all, where known
  for (Value extent : extents)
    total = total && Lanes::constantOf(extent) ? total * *Lanes::constantOf(extent) : 0;
  total /= lanes;
  const bool narrow = most > 0, narrowThroughout = narrow && total > 0 && total <= most;
  Type sumType = start.type, smallType = b.getI32Type();
  const bool isReal = llvm::isa<FloatType>(sumType);
  auto sofarOf = [&](Value value) {
    return isReal ? numberSoFar(site, value, sumType) : l.wrap(value, sumType);
  };
  auto zeros = [&](Type type) -> Value {
    return b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(VectorType::get({lanes}, type)));
  };
  auto widened = [&](Value sums) -> Value {
    return b.create<arith::ExtSIOp>(l.loc, VectorType::get({lanes}, sumType), sums);
  };
  /// Vectors from `from` to `to`, added to what is there.
  auto run = [&](Value from, Value to, ValueRange sofar, bool small) -> SmallVector<Value> {
    OpBuilder::InsertionGuard guard(b);
    auto loop = openLoop(b, l, from, to, lanes, sofar);
    l.lanes = lanes;
    SmallVector<Value> next;
    for (auto [value, sum] : llvm::zip(elementsAt(loop.getInductionVar(), true), loop.getRegionIterArgs()))
      next.push_back(
          small ? b.create<arith::AddIOp>(l.loc, sum, l.splat(l.wideOf(value))).getResult()
                : l.splat(combine(sofarOf(sum), isReal && !resolvesZerosLater(site, op) ? comparable(site, value, op.getKind() == ReduceKind::min) : value).value));
    l.lanes = 1;
    b.create<scf::YieldOp>(l.loc, next);
    return SmallVector<Value>(loop.getResults());
  };
  l.lanes = lanes;
  SmallVector<Value> state(count, narrowThroughout ? zeros(smallType) : l.splat(start.value));
  l.lanes = 1;
  state.append(count, start.value); // of single elements
  const int64_t chunk = lanes * std::min<int64_t>(most, 1 << 14);
  auto loops = carriedNest(b, l, extents.drop_back(), state, [&](ArrayRef<Value> inner, ValueRange sofar) {
    bind(inner);
    SmallVector<Value> next;
    if (!narrow || narrowThroughout) {
      next = run(l.i64(0), whole, sofar.take_front(count), narrow);
    } else {
      OpBuilder::InsertionGuard guard(b);
      auto chunks = openLoop(b, l, l.i64(0), whole, chunk, sofar.take_front(count));
      Value from = chunks.getInductionVar();
      for (auto [part, sum] : llvm::zip(run(from, l.minS(l.add(from, l.i64(chunk)), whole),
                                            SmallVector<Value>(count, zeros(smallType)), true),
                                        chunks.getRegionIterArgs()))
        next.push_back(b.create<arith::AddIOp>(l.loc, sum, widened(part)));
      b.create<scf::YieldOp>(l.loc, next);
      next.assign(chunks.result_begin(), chunks.result_end());
    }
    if (noRest) {
      llvm::append_range(next, sofar.drop_front(count));
      return next;
    }
    OpBuilder::InsertionGuard guard(b);
    auto rest = openLoop(b, l, whole, last, 1, sofar.drop_front(count));
    SmallVector<Value> singles;
    for (auto [value, sum] : llvm::zip(elementsAt(rest.getInductionVar(), false), rest.getRegionIterArgs()))
      singles.push_back(combine(sofarOf(sum), value).value);
    b.create<scf::YieldOp>(l.loc, singles);
    llvm::append_range(next, rest.getResults());
    return next;
  });
  // Counts are sums by now.
  auto merge = [&](Value x, Value y) {
    LaneValue a = sofarOf(x), c = sofarOf(y);
    return (adds ? l.binary(BinaryKind::add, a, c) : combine(a, c)).value;
  };
  SmallVector<LaneValue> results;
  for (int64_t c = 0; c < count; ++c) {
    Value all = narrowThroughout ? widened(loops[c]) : loops[c];
    for (int64_t half = lanes / 2; half >= 1; half /= 2) {
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < half; ++lane) {
        low.push_back(lane);
        high.push_back(lane + half);
      }
      all = merge(m.shuffle(all, all, low), m.shuffle(all, all, high));
    }
    results.push_back(l.wrap(merge(loops[count + c], b.create<vector::ExtractOp>(l.loc, all, 0)), sumType));
  }
  return results;
}

/// Whether rows of known length have as many elements as placeInLanes() takes at a time, whose numbers fit 32 bits.
static bool fillsLanes(const Site &site, ReduceOp op, Value extent, Type element) {
  const auto known = Lanes::constantOf(extent), count = reducedElements(op);
  return known && *known >= lanesOfPlaces(site, element) && count && *count <= INT32_MAX;
}

/// Two registers of numbers.
static int64_t lanesOfPlaces(const Site &site, Type element) {
  auto [ctx, b, l, m] = site.parts();
  return l.has.registerBytes / std::max<int64_t>(scalarBytes(element), 4) * 2;
}

/// The place of what is best along the last axis: each lane finds one of its own, and the first of equal ones stays. The
/// last vector of a row overlaps the one before it.
static LaneValue placeInLanes(const Site &site, ReduceOp op, SmallVector<Index> &at, ArrayRef<int64_t> over, ArrayRef<Value> extents) {
  auto [ctx, b, l, m] = site.parts();
  Type element = computeType(typeOf(op.getValue()).getElementType()), i32 = b.getI32Type();
  const int64_t lanes = lanesOfPlaces(site, element), size = *Lanes::constantOf(extents.back());
  const LaneValue worst = worstRank(l, element);
  l.lanes = lanes;
  SmallVector<Value> start{l.splat(worst.value), l.splat(l.i32(0))};
  l.lanes = 1;
  start.push_back(l.i64(0));
  auto loops = carriedNest(b, l, extents.drop_back(), start, [&](ArrayRef<Value> inner, ValueRange state) {
    for (auto [i, index] : llvm::enumerate(inner))
      at[over[i]] = m.uniform(index);
    auto found = carryLoop(site, l.i64(0), l.i64((size + lanes - 1) / lanes), state.take_front(2), [&](Value step, ValueRange sofar) {
      Value first = l.mul(step, l.i64(lanes));
      if (size % lanes)
        first = l.minS(first, l.i64(size - lanes));
      at[over.back()] = {first, 1, {}, {}};
      l.lanes = lanes;
      ctx.elements.clear();
      LaneValue value = rankOf(l, op.getKind(), l.cast(CastMode::value, emit(site, op.getValue(), at), element));
      Value better = l.splat(isBetter(l, value, l.wrap(sofar[0], worst.type)));
      Value number = b.create<arith::TruncIOp>(l.loc, i32, l.add(state[2], first));
      SmallVector<Value> next{l.pick(better, l.splat(value.value), sofar[0]), l.pick(better, l.splat(number), sofar[1])};
      l.lanes = 1;
      return next;
    });
    found.push_back(l.add(state[2], l.i64(size)));
    return found;
  });
  l.lanes = lanes;
  Value rank = loops[0], number = l.add(loops[1], l.laneNumbers());
  l.lanes = 1;
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < half; ++lane) {
      low.push_back(lane);
      high.push_back(lane + half);
    }
    LaneValue x = l.wrap(m.shuffle(rank, rank, low), worst.type), y = l.wrap(m.shuffle(rank, rank, high), worst.type);
    Value p = m.shuffle(number, number, low), q = m.shuffle(number, number, high);
    Value sooner = l.andInt(l.compare(Predicate::eq, y, x).value, l.cmp(CmpIPredicate::slt, q, p));
    Value better = l.orInt(isBetter(l, y, x), sooner);
    rank = l.pick(better, y.value, x.value);
    number = l.pick(better, q, p);
  }
  Value place = b.create<vector::ExtractOp>(l.loc, number, 0);
  return l.cast(CastMode::value, l.wrap(place, i32), b.getI64Type());
}

static LogicalResult emitReduce(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto across = reduceAcross(site, op);
  if (failed(across) || *across)
    return success(succeeded(across));
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  auto buffer = bufferFor(site, op.getResult());
  if (failed(buffer))
    return failure();
  const ReduceKind kind = op.getKind();
  auto [kept, over] = ReducedAxes(op);
  SmallVector<Value> keptExtents, overExtents;
  for (int64_t axis : kept)
    keptExtents.push_back(extent(site, op.getValue(), axis));
  for (int64_t axis : over)
    overExtents.push_back(extent(site, op.getValue(), axis));
  Type element = computeType(in.getElementType()), result = out.getElementType();
  const bool floatSum = kind == ReduceKind::sum && llvm::isa<FloatType>(element);
  const bool argument = kind == ReduceKind::argmin || kind == ReduceKind::argmax;

  SmallVector<int64_t> still; // axes that are one run with the last one, which goes through all
  SmallVector<StringRef> names;
  for (int64_t axis : over)
    names.push_back(in.getAxes()[axis].name);
  const auto count = reducedElements(op);
  if (count && *count > 0 && over.size() > 1 && over.back() == in.getRank() - 1 &&
      isOneRun(site, op.getValue(), names)) {
    still.assign(over.begin(), over.end() - 1);
    over = {over.back()};
    overExtents = {l.i64(*count)};
  }

  Value partial; // the 32 sums
  const int64_t size = floatSum ? scalarBytes(element) : 8;
  if (floatSum) {
    auto bytes = scratchBytes(site, penstock::scalar::reductionLanes * size, {});
    if (failed(bytes))
      return failure();
    partial = *bytes;
  }
  // All kinds but sums of floats are exact in any order: lanes along the last reduced axis, where
  // it is the tensor's last but for channels, which go side by side.
  const bool exact = !floatSum && !argument;
  const bool alongLast = !over.empty() && over.back() == in.getRank() - 1;
  const bool vectors = floatSum && !over.empty() && fillsVectors(overExtents);
  const bool channels = (exact || vectors) && !alongLast && !over.empty() &&
                        over.back() == in.getRank() - 2 && in.getAxes().back().isStatic() &&
                        in.getAxes().back().extent > 0 && in.getAxes().back().extent <= unrollBound;
  const auto run = over.empty() ? std::nullopt : Lanes::constantOf(overExtents.back());
  if (count && *count > 0 && !over.empty() &&
      (!(alongLast || channels) || (run && *run < penstock::scalar::reductionLanes)) && isUnrolled(site, op)) {
    reduceOneByOne(site, op, *buffer);
    return success();
  }
  const bool vector = exact && (alongLast || channels);
  const bool later = vector && isExtreme(op) && (!l.has.numbers || !element.isF32()); // in all lanes
  if (channels)
    keptExtents.pop_back();
  // Additions to a partial sum wait for each other: results go side by side.
  int64_t rows = vectors && alongLast && !kept.empty() ? rowsBeside(l.has, element) : 1;
  const int64_t lastKept = rows > 1 && in.getAxes()[kept.back()].isStatic() ? in.getAxes()[kept.back()].extent : 1;
  while (rows > std::max<int64_t>(lastKept, 1))
    rows /= 2;

  auto perResult = [&](ArrayRef<Value> where) {
    SmallVector<Index> at(in.getRank()), to;
    for (int64_t axis : still)
      at[axis] = m.constant(0);
    for (auto [i, index] : llvm::enumerate(where)) {
      at[kept[i]] = m.uniform(index);
      to.push_back(m.uniform(index));
    }
    auto bind = [&](ArrayRef<Value> inner) {
      for (auto [i, index] : llvm::enumerate(inner)) // without the last, for lanes
        at[over[i]] = m.uniform(index);
    };
    auto read = [&] { return l.cast(CastMode::value, emit(site, op.getValue(), at), element); };
    auto combine = [&](LaneValue sofar, LaneValue value) {
      return later ? l.farther(kind == ReduceKind::min, sofar, value) : combined(l, kind, sofar, value);
    };
    LaneValue final;
    auto storeChannels = [&](ArrayRef<LaneValue> found) {
      for (auto [c, value] : llvm::enumerate(found.drop_back())) {
        to.push_back(m.constant(static_cast<int64_t>(c)));
        m.store(*buffer, to, l.cast(CastMode::value, value, result));
        to.pop_back();
      }
      if (channels)
        to.push_back(m.constant(static_cast<int64_t>(found.size()) - 1));
      return found.back();
    };
    const int64_t beside = channels ? in.getRank() - 1 : -1;
    if (rows > 1) {
      Beside next{kept.back(), {}};
      for (int64_t row = 0; row < rows; ++row)
        next.places.push_back(m.uniform(l.add(where.back(), l.i64(row))));
      final = sumsOfLanes(site, sumVectors(site, op, at, over, next, overExtents), element);
      to.back() = {where.back(), 1, {}, {}};
      l.lanes = rows;
      m.store(*buffer, to, l.cast(CastMode::value, final, result));
      l.lanes = 1;
      return;
    }
    if (vectors && (alongLast || channels)) {
      const int64_t count = channels ? in.getAxes()[beside].extent : 1;
      Beside all{beside, {}};
      for (int64_t c = 0; c < count; ++c)
        all.places.push_back(m.constant(c));
      // Channels that lie side by side are added as they lie, and told apart at the end.
      all.isRun = count > 1 && *run % penstock::scalar::reductionLanes == 0 &&
                  isOneRun(site, op.getValue(), {in.getAxes()[over.back()].name, in.getAxes()[beside].name});
      SmallVector<LaneValue> found;
      for (Value sums : sumVectors(site, op, at, over, all, overExtents))
        found.push_back(sumOfLanes(site, sums, element));
      final = storeChannels(found);
    } else if (floatSum) {
      for (int64_t lane = 0; lane < penstock::scalar::reductionLanes; ++lane)
        m.storePlain(neutral(l, kind, element).value, m.address(partial, l.i64(lane * size)));
      auto addOne = [&](Value number) {
        Value place = m.address(partial, l.mul(l.andInt(number, l.i64(penstock::scalar::reductionLanes - 1)), l.i64(size)));
        LaneValue sum = l.binary(BinaryKind::add, l.wrap(m.loadPlain(element, place), element),
                                 read());
        m.storePlain(sum.value, place);
      };
      if (alongLast)
        sumRows(site, op, at, over, overExtents, partial, addOne);
      else
        carriedNest(b, l, overExtents, {l.i64(0)}, [&](ArrayRef<Value> inner, ValueRange state) {
          bind(inner);
          addOne(state[0]);
          return SmallVector<Value>{l.add(state[0], l.i64(1))};
        });
      final = sumOfLanes(site, m.loadPlain(VectorType::get({penstock::scalar::reductionLanes}, element), partial), element);
    } else if (argument && alongLast && fillsLanes(site, op, overExtents.back(), element)) {
      final = placeInLanes(site, op, at, over, overExtents);
    } else if (argument) {
      LaneValue worst = worstRank(l, element);
      auto loops = carriedNest(
          b, l, overExtents, {l.i64(0), l.i64(0), worst.value},
          [&](ArrayRef<Value> inner, ValueRange state) {
            bind(inner);
            LaneValue value = rankOf(l, kind, read()), best = l.wrap(state[2], worst.type);
            Value better = isBetter(l, value, best);
            return SmallVector<Value>{l.add(state[0], l.i64(1)), l.pick(better, state[0], state[1]),
                                      l.pick(better, value.value, best.value)};
          });
      final = l.wrap(loops[1], b.getI64Type());
    } else {
      Type sumType = kind == ReduceKind::count ? Type(b.getI64Type()) : element;
      LaneValue start = neutral(l, kind, sumType);
      SmallVector<Value> outer(overExtents);
      if (!vector) {
        auto loops = carriedNest(b, l, outer, {start.value}, [&](ArrayRef<Value> inner, ValueRange state) {
          bind(inner);
          return SmallVector<Value>{withElement(site, op, isExtreme(op) ? numberSoFar(site, state[0], sumType) : l.wrap(state[0], sumType), read()).value};
        });
        final = isExtreme(op) ? resolveZerosInLoops(site, op, numberSoFar(site, loops[0], sumType), at, over, overExtents)
                              : l.wrap(loops[0], sumType);
      } else {
        SmallVector<LaneValue> found = reduceLanes(site, op, at, over, beside, overExtents, start, combine);
        if (later)
          resolveZerosOfLanes(site, op, found, at, over, beside, overExtents);
        final = storeChannels(found);
      }
    }
    m.store(*buffer, to, l.cast(CastMode::value, final, result));
  };
  if (rows > 1)
    keptExtents.pop_back();
  carriedNest(b, l, keptExtents, {}, [&](ArrayRef<Value> where, ValueRange) {
    if (rows == 1) {
      perResult(where);
      return SmallVector<Value>{};
    }
    // The last ones overlap those before them: all is pure.
    forLoop(site, l.i64(0), l.i64(lastKept), rows, [&](Value first) {
      SmallVector<Value> all(where);
      all.push_back(lastKept % rows ? l.minS(first, l.i64(lastKept - rows)) : first);
      perResult(all);
    });
    return SmallVector<Value>{};
  });
  return success();
}

namespace penstock::conversion {
void registerReduce(WholeOps &all);
}
void penstock::conversion::registerReduce(WholeOps &all) { all.add<ReduceOp>(emitReduce); }
