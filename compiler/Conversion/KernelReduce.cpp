//===- KernelReduce.cpp - reductions, scans, histograms, contractions ------===//
//
// A floating-point sum adds element i to lane i mod 32 of 32 partial sums,
// which are then added pairwise (scalar.h, reductionLanes): the partial sums
// live in memory, and no vector width can change the result.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/scalar.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static NamedTensorType typeOf(Value tensor) { return llvm::cast<NamedTensorType>(tensor.getType()); }

static scf::ForOp openLoop(OpBuilder &b, Lanes &l, Value low, Value high, int64_t step, ValueRange carried) {
  auto loop = b.create<scf::ForOp>(l.loc, low, high, l.i64(step), carried);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  b.setInsertionPointToEnd(loop.getBody());
  return loop;
}

/// Runs `body` once per index of the axes `axes` of `at`, in row-major order,
/// carrying values from one to the next. The last axis may go in vectors: then
/// `width` elements at a time, and the rest one by one.
static SmallVector<Value> carriedNest(OpBuilder &b, Lanes &l, ArrayRef<Value> extents,
                                      SmallVector<Value> state,
                                      llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> body) {
  SmallVector<Value> at(extents.size());
  std::function<SmallVector<Value>(size_t, SmallVector<Value>)> nest = [&](size_t level, SmallVector<Value> in) {
    if (level == extents.size())
      return body(at, in);
    OpBuilder::InsertionGuard guard(b);
    auto loop = openLoop(b, l, l.i64(0), extents[level], 1, in);
    at[level] = loop.getInductionVar();
    SmallVector<Value> inner(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    SmallVector<Value> next = nest(level + 1, inner);
    b.create<scf::YieldOp>(l.loc, next);
    return SmallVector<Value>(loop.getResults());
  };
  return nest(0, std::move(state));
}

/// What a reduction of no elements gives.
static LaneValue neutral(Lanes &l, ReduceKind kind, Type type) {
  OpBuilder &b = l.b;
  auto integer = [&](double value) {
    APInt bits = type.isSignlessInteger(64)
                     ? (value < 0 ? APInt::getSignedMinValue(64) : value == 0 ? APInt(64, 0) : APInt::getSignedMaxValue(64))
                     : APInt(type.getIntOrFloatBitWidth(), static_cast<uint64_t>(static_cast<int64_t>(value)), true);
    return l.wrap(b.create<arith::ConstantOp>(l.loc, b.getIntegerAttr(registerType(type), bits)), type);
  };
  const bool isFloat = llvm::isa<FloatType>(type);
  const double inf = std::numeric_limits<double>::infinity();
  switch (kind) {
  case ReduceKind::min:
    return isFloat ? l.constant(b.getFloatAttr(type, inf)) : integer(rangeOfType(type).high);
  case ReduceKind::max:
    return isFloat ? l.constant(b.getFloatAttr(type, -inf)) : integer(rangeOfType(type).low);
  case ReduceKind::all:
    return integer(1);
  case ReduceKind::sum:
    return isFloat ? l.constant(b.getFloatAttr(type, 0.0)) : integer(0);
  default:
    return integer(0);
  }
}

/// What is computed with: f16 and bf16 are for storage.
static Type computeType(Type element) {
  return element.isF16() || element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

LogicalResult KernelEmitter::emitReduce(ReduceOp op) {
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  auto buffer = bufferFor(op.getResult());
  if (failed(buffer))
    return failure();
  const ReduceKind kind = op.getKind();
  SmallVector<int64_t> kept, over;
  for (int64_t axis = 0; axis < in.getRank(); ++axis)
    (out.axisIndex(in.getAxes()[axis].name) >= 0 ? kept : over).push_back(axis);
  SmallVector<Value> keptExtents, overExtents;
  for (int64_t axis : kept)
    keptExtents.push_back(extent(op.getValue(), axis));
  for (int64_t axis : over)
    overExtents.push_back(extent(op.getValue(), axis));
  Type element = computeType(in.getElementType()), result = out.getElementType();
  const bool floatSum = kind == ReduceKind::sum && llvm::isa<FloatType>(element);
  const bool argument = kind == ReduceKind::argmin || kind == ReduceKind::argmax;

  Value partial; // the 32 sums
  const int64_t size = floatSum ? scalarBytes(element) : 8;
  if (floatSum) {
    auto bytes = scratchBytes(scalar::reductionLanes * size, {});
    if (failed(bytes))
      return failure();
    partial = *bytes;
  }
  // Integer kinds are exact in any order: lanes along the last reduced axis,
  // where it is the tensor's last.
  const bool exact = !floatSum && !argument && llvm::isa<IntegerType>(element);
  const bool vector = exact && !over.empty() && over.back() == in.getRank() - 1;

  auto perResult = [&](ArrayRef<Value> where) {
    SmallVector<Index> at(in.getRank());
    for (auto [i, axis] : llvm::enumerate(kept))
      at[axis] = m.uniform(where[i]);
    auto bind = [&](ArrayRef<Value> inner) {
      for (auto [i, index] : llvm::enumerate(inner)) // without the last, for lanes
        at[over[i]] = m.uniform(index);
    };
    auto read = [&] { return l.cast(CastMode::value, emit(op.getValue(), at), element); };
    auto combine = [&](LaneValue sofar, LaneValue value) {
      switch (kind) {
      case ReduceKind::min:
        return l.binary(BinaryKind::min, sofar, value);
      case ReduceKind::max:
        return l.binary(BinaryKind::max, sofar, value);
      case ReduceKind::any:
        return l.binary(BinaryKind::bit_or, sofar, value);
      case ReduceKind::all:
        return l.binary(BinaryKind::bit_and, sofar, value);
      case ReduceKind::count:
        return l.binary(BinaryKind::add, sofar, l.cast(CastMode::value, value, b.getI64Type()));
      default:
        return l.binary(BinaryKind::add, sofar, value);
      }
    };
    LaneValue final;
    if (floatSum) {
      for (int64_t lane = 0; lane < scalar::reductionLanes; ++lane)
        m.storePlain(neutral(l, kind, element).value, m.address(partial, l.i64(lane * size)));
      carriedNest(b, l, overExtents, {l.i64(0)}, [&](ArrayRef<Value> inner, ValueRange state) {
        bind(inner);
        Value place = m.address(partial, l.mul(l.andInt(state[0], l.i64(scalar::reductionLanes - 1)), l.i64(size)));
        LaneValue sum = l.binary(BinaryKind::add, l.wrap(m.loadPlain(element, place), element),
                                 read());
        m.storePlain(sum.value, place);
        return SmallVector<Value>{l.add(state[0], l.i64(1))};
      });
      Value all = m.loadPlain(VectorType::get({scalar::reductionLanes}, element), partial);
      for (int64_t half = scalar::reductionLanes / 2; half >= 1; half /= 2) {
        SmallVector<int64_t> low, high;
        for (int64_t lane = 0; lane < half; ++lane) {
          low.push_back(lane);
          high.push_back(lane + half);
        }
        all = b.create<arith::AddFOp>(l.loc, m.shuffle(all, all, low), m.shuffle(all, all, high));
      }
      final = l.wrap(b.create<vector::ExtractOp>(l.loc, all, 0), element);
    } else if (argument) {
      auto loops = carriedNest(
          b, l, overExtents, {l.i64(0), l.i64(0), neutral(l, ReduceKind::sum, element).value},
          [&](ArrayRef<Value> inner, ValueRange state) {
            bind(inner);
            LaneValue value = read(), best = l.wrap(state[2], element);
            // The first element that no earlier one equals or beats; -0 lies
            // below +0, and a number beats a NaN.
            const bool smallest = kind == ReduceKind::argmin;
            Value better = l.compare(smallest ? Predicate::lt : Predicate::gt, value, best).value;
            if (llvm::isa<FloatType>(element)) {
              Type bits = b.getIntegerType(element.getIntOrFloatBitWidth());
              Value zeros = l.cmp(smallest ? CmpIPredicate::slt : CmpIPredicate::sgt,
                                  b.create<arith::BitcastOp>(l.loc, bits, value.value),
                                  b.create<arith::BitcastOp>(l.loc, bits, best.value));
              better = l.orInt(better, l.andInt(zeros, l.compare(Predicate::eq, value, best).value));
              Value number = l.compare(Predicate::eq, value, value).value;
              Value bestIsNan = l.compare(Predicate::ne, best, best).value;
              better = l.orInt(better, l.andInt(number, bestIsNan));
            }
            better = l.orInt(better, l.cmp(CmpIPredicate::eq, state[0], l.i64(0)));
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
          return SmallVector<Value>{combine(l.wrap(state[0], sumType), read()).value};
        });
        final = l.wrap(loops[0], sumType);
      } else {
        const int64_t lanes = std::min<int64_t>(vectorBytes, 32);
        Value last = outer.pop_back_val();
        Value whole = l.andInt(last, l.i64(-lanes));
        l.lanes = lanes;
        Value many = l.splat(start.value);
        l.lanes = 1;
        auto loops = carriedNest(b, l, outer, {many, start.value}, [&](ArrayRef<Value> inner, ValueRange state) {
          bind(inner);
          OpBuilder::InsertionGuard guard(b);
          auto wide = openLoop(b, l, l.i64(0), whole, lanes, state[0]);
          at[over.back()] = {wide.getInductionVar(), 1, {}, {}};
          l.lanes = lanes;
          LaneValue next = combine(l.wrap(wide.getRegionIterArg(0), sumType), read());
          b.create<scf::YieldOp>(l.loc, l.splat(next.value));
          l.lanes = 1;
          b.setInsertionPointAfter(wide);
          auto rest = openLoop(b, l, whole, last, 1, state[1]);
          at[over.back()] = m.uniform(rest.getInductionVar());
          next = combine(l.wrap(rest.getRegionIterArg(0), sumType), read());
          b.create<scf::YieldOp>(l.loc, next.value);
          b.setInsertionPointAfter(rest);
          return SmallVector<Value>{wide.getResult(0), rest.getResult(0)};
        });
        final = l.wrap(loops[1], sumType);
        for (int64_t lane = 0; lane < lanes; ++lane) {
          LaneValue one = l.wrap(b.create<vector::ExtractOp>(l.loc, loops[0], lane), sumType);
          // Counts are sums by now.
          final = kind == ReduceKind::count ? l.binary(BinaryKind::add, final, one) : combine(final, one);
        }
      }
    }
    SmallVector<Index> to;
    for (auto [i, axis] : llvm::enumerate(kept))
      to.push_back(m.uniform(where[i]));
    m.store(*buffer, to, l.cast(CastMode::value, final, result));
  };
  carriedNest(b, l, keptExtents, {}, [&](ArrayRef<Value> where, ValueRange) {
    perResult(where);
    return SmallVector<Value>{};
  });
  return success();
}

//===--- along one axis ---------------------------------------------------------------===//

LogicalResult KernelEmitter::emitScan(ScanOp op) {
  NamedTensorType type = typeOf(op.getResult());
  Type element = computeType(type.getElementType());
  auto buffer = bufferFor(op.getResult());
  if (failed(buffer))
    return failure();
  const int64_t axis = type.axisIndex(op.getAxis());
  SmallVector<Value> others;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis)
      others.push_back(extent(op.getValue(), i));
  LaneValue factor;
  if (op.getFactor())
    factor = l.cast(CastMode::value, l.constant(op.getFactorAttr()), element);
  const ReduceKind start = op.getKind() == ScanKind::max ? ReduceKind::max : ReduceKind::sum;
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    OpBuilder::InsertionGuard guard(b);
    auto loop = openLoop(b, l, l.i64(0), extent(op.getValue(), axis), 1, neutral(l, start, element).value);
    SmallVector<Index> at;
    for (int64_t i = 0, other = 0; i < type.getRank(); ++i)
      at.push_back(m.uniform(i == axis ? loop.getInductionVar() : where[other++]));
    LaneValue value = l.cast(CastMode::value, emit(op.getValue(), at), element);
    LaneValue sofar = l.wrap(loop.getRegionIterArg(0), element);
    if (op.getKind() == ScanKind::recurrence)
      value = l.binary(BinaryKind::add, value, l.binary(BinaryKind::mul, factor, sofar));
    else
      value = l.binary(op.getKind() == ScanKind::max ? BinaryKind::max : BinaryKind::add, sofar, value);
    m.store(*buffer, at, l.cast(CastMode::value, value, type.getElementType()));
    b.create<scf::YieldOp>(l.loc, value.value);
    return SmallVector<Value>{};
  });
  return success();
}

LogicalResult KernelEmitter::emitHistogram(HistogramOp op) {
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  auto buffer = bufferFor(op.getResult());
  if (failed(buffer))
    return failure();
  SmallVector<Value> kept, all;
  for (int64_t axis = 0; axis < out.getRank(); ++axis)
    kept.push_back(extent(op.getResult(), axis));
  carriedNest(b, l, kept, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at;
    for (Value index : where)
      at.push_back(m.uniform(index));
    m.store(*buffer, at, l.constant(b.getI32IntegerAttr(0)));
    return SmallVector<Value>{};
  });
  for (int64_t axis = 0; axis < in.getRank(); ++axis)
    all.push_back(extent(op.getValue(), axis));
  Value bins = kept.back();
  carriedNest(b, l, all, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> from, to(out.getRank());
    for (auto [axis, index] : llvm::enumerate(where)) {
      from.push_back(m.uniform(index));
      const int64_t place = out.axisIndex(in.getAxes()[axis].name);
      if (place >= 0)
        to[place] = m.uniform(index);
    }
    LaneValue bin = l.cast(CastMode::value, emit(op.getValue(), from), b.getI64Type());
    Value counted = l.andInt(l.cmp(CmpIPredicate::sge, bin.value, l.i64(0)),
                             l.cmp(CmpIPredicate::slt, bin.value, bins));
    auto branchOp = b.create<scf::IfOp>(l.loc, counted, false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branchOp.thenBlock());
    to.back() = m.uniform(bin.value);
    LaneValue sofar = m.load(*buffer, to);
    m.store(*buffer, to, l.binary(BinaryKind::add, sofar, l.constant(b.getI32IntegerAttr(1))));
    return SmallVector<Value>{};
  });
  return success();
}

LogicalResult KernelEmitter::emitContract(ContractOp op) {
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult()), matrix = typeOf(op.getMatrix());
  Type element = out.getElementType();
  auto buffer = bufferFor(op.getResult());
  if (failed(buffer))
    return failure();
  const int64_t size = scalarBytes(element);
  auto partial = scratchBytes(scalar::reductionLanes * size, {});
  if (failed(partial))
    return failure();
  const int64_t from = in.axisIndex(matrix.getAxes()[0].name), to = out.axisIndex(matrix.getAxes()[1].name);
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < out.getRank(); ++axis)
    extents.push_back(extent(op.getResult(), axis));
  Value zero = neutral(l, ReduceKind::sum, element).value;
  carriedNest(b, l, extents, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at, result;
    for (Value index : where)
      result.push_back(m.uniform(index));
    // The result has the matrix's second axis where the value had its first.
    at = result;
    if (from != to) {
      Index moved = at[to];
      at.erase(at.begin() + to);
      at.insert(at.begin() + from, moved);
    }
    for (int64_t lane = 0; lane < scalar::reductionLanes; ++lane)
      m.storePlain(zero, m.address(*partial, l.i64(lane * size)));
    forLoop(l.i64(0), extent(op.getValue(), from), 1, [&](Value i) {
      at[from] = m.uniform(i);
      Value place = m.address(*partial, l.mul(l.andInt(i, l.i64(scalar::reductionLanes - 1)), l.i64(size)));
      LaneValue product = l.binary(BinaryKind::mul, emit(op.getValue(), at),
                                   emit(op.getMatrix(), {m.uniform(i), result[to]}));
      LaneValue sum = l.binary(BinaryKind::add, l.wrap(m.loadPlain(element, place), element), product);
      m.storePlain(sum.value, place);
    });
    Value all = m.loadPlain(VectorType::get({scalar::reductionLanes}, element), *partial);
    for (int64_t half = scalar::reductionLanes / 2; half >= 1; half /= 2) {
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < half; ++lane) {
        low.push_back(lane);
        high.push_back(lane + half);
      }
      all = b.create<arith::AddFOp>(l.loc, m.shuffle(all, all, low), m.shuffle(all, all, high));
    }
    m.store(*buffer, result, l.wrap(b.create<vector::ExtractOp>(l.loc, all, 0), element));
    return SmallVector<Value>{};
  });
  return success();
}
