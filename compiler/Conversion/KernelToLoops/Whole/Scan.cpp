// SPDX-License-Identifier: Apache-2.0
//
// Scans.
//
// With lanes along an axis that stays, with rows in the lanes (ScanTransposed.cpp), or element by
// element: `#schedule.scan` says which.
#include "compiler/Conversion/KernelToLoops/Whole/Scan.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static void scanLanes(const Site &site, ScanOp op, const Buffer &to, LaneValue factor);
static void scanRows(const Site &site, ScanOp op, const Buffer &to, LaneValue factor);

LaneValue penstock::conversion::scanStep(const Site &site, ScanOp op, LaneValue sofar,
                                         LaneValue value, LaneValue factor) {
  auto [ctx, b, l, m] = site.parts();
  if (op.getKind() == ScanKind::recurrence)
    return l.binary(BinaryKind::add, value, l.binary(BinaryKind::mul, factor, sofar));
  if (op.getKind() != ScanKind::max)
    return l.binary(BinaryKind::add, sofar, value);
  if (!llvm::isa<FloatType>(sofar.type))
    return l.binary(BinaryKind::max, sofar, value);
  // A maximum begins with the canonical NaN, and of two NaN the first operand is kept: no other
  // one comes in. An instruction for numbers wants none that signals.
  sofar.range.quiet = true;
  if (fillsRegisters(l, value.value))
    value = l.canonical(value);
  LaneValue largest = l.binary(BinaryKind::max, sofar, value);
  largest.canonical = largest.value;
  return largest;
}

LaneValue penstock::conversion::scanStart(const Lanes &l, ScanOp op, Type element) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (op.getKind() == ScanKind::max && llvm::isa<FloatType>(element))
    return l.constant(l.b.getFloatAttr(element, nan)); // any number takes its place
  return neutral(l, op.getKind() == ScanKind::max ? ReduceKind::max : ReduceKind::sum, element);
}

/// The factor of the element at `at`: its own, or the one for all.
static LaneValue factorAt(const Site &site, ScanOp op, LaneValue ofAll, ArrayRef<Index> at) {
  return op.getFactors() ? emit(site, op.getFactors(), at) : ofAll;
}

static LogicalResult emitScan(const Site &site, ScanOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto buffer = bufferFor(site, op.getResult());
  if (failed(buffer))
    return failure();
  LaneValue factor;
  if (op.getFactor())
    factor = l.cast(CastMode::value, scalarOf(site, op.getFactor()),
                    computeType(typeOf(op.getResult()).getElementType()));
  switch (scanOf(op).getWay()) {
  case ScanWay::across:
    scanLanes(site, op, *buffer, factor);
    break;
  case ScanWay::transposed:
    scanTransposed(site, op, *buffer, factor);
    break;
  case ScanWay::single:
    scanRows(site, op, *buffer, factor);
    break;
  }
  return success();
}

/// Returns whether pixels are two or four elements, and one run where they are read and written.
static bool isRunOfPixels(const Site &site, ScanOp op, int64_t laneAxis) {
  NamedTensorType type = typeOf(op.getResult());
  const int64_t along = type.axisIndex(op.getAxis()), count = type.getAxes()[along].extent;
  return (count == 2 || count == 4) && laneAxis + 1 == along &&
         type.getAxes()[laneAxis].isStatic() &&
         isOneRun(site, op.getValue(), {type.getAxes()[laneAxis].name, type.getAxes()[along].name});
}

/// Elements as they lie: at each step those at one place of their pixels take what the ones
/// before them have.
static void scanPixels(const Site &site, ScanOp op, const Buffer &to, SmallVector<Index> at,
                       int64_t laneAxis, LaneValue factor) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  Type element = computeType(type.getElementType());
  const int64_t along = laneAxis + 1, count = type.getAxes()[along].extent, lanes = l.lanes;
  Value first = l.mul(at[laneAxis].base, l.i64(count));
  for (int64_t part = 0; part < count; ++part) {
    at[laneAxis] = m.constant(0);
    at[along] = {l.add(first, l.i64(part * lanes)), 1, {}, {}};
    LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), at), element);
    value.value = l.splat(value.value);
    LaneValue sofar = scanStep(site, op, scanStart(l, op, element), value, factor);
    for (int64_t place = 1; place < count; ++place) {
      SmallVector<int64_t> before(lanes);
      SmallVector<bool> here(lanes);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        here[lane] = lane % count == place;
        before[lane] = here[lane] ? lane - 1 : lane;
      }
      LaneValue seen = l.wrap(m.shuffle(sofar.value, sofar.value, before), element);
      auto mask = VectorType::get({lanes}, b.getI1Type());
      Value isHere =
          b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(mask, ArrayRef<bool>(here)));
      sofar =
          l.select(l.wrap(isHere, b.getI1Type()), scanStep(site, op, seen, value, factor), sofar);
    }
    m.store(to, at, l.cast(CastMode::value, sofar, type.getElementType()));
  }
}

/// Stores all elements along an axis; `interleaved`: they are neighbours, and so are lanes.
static void storeRow(const Memory &m, const Buffer &to, SmallVector<Index> at, int64_t along,
                     ArrayRef<LaneValue> made, bool interleaved) {
  at[along] = m.constant(0);
  if (interleaved && m.l.lanes > 1)
    return m.storeInterleaved(to, at, made);
  for (auto [i, value] : llvm::enumerate(made)) {
    at[along] = m.constant(static_cast<int64_t>(i));
    m.store(to, at, value);
  }
}

/// Scans rows side by side, the values so far a vector; the few elements of a pixel are unrolled.
static void scanLanes(const Site &site, ScanOp op, const Buffer &to, LaneValue factor) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  const ScanAttr scan = scanOf(op);
  const int64_t laneAxis = type.axisIndex(scan.getAlong());
  Type element = computeType(type.getElementType());
  const int64_t along = type.axisIndex(op.getAxis());
  const Axis &own = type.getAxes()[along];
  const int64_t size = scalarBytes(type.getElementType());
  const bool mostUnrolled = scan.getUnrolled();
  const bool interleaved = mostUnrolled && to.known[along] == size &&
                           to.known[laneAxis] == size * own.extent && along == type.getRank() - 1;
  SmallVector<Value> others;
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (axis != along && axis != laneAxis) {
      axes.push_back(axis);
      others.push_back(extent(site, op.getValue(), axis));
    }
  const LaneValue start = scanStart(l, op, element);
  const Value room = scan.getBand() ? roomOfBand(site, scan, 1, start.value.getType()) : Value();
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at(type.getRank());
    for (auto [axis, index] : llvm::zip(axes, where))
      at[axis] = m.uniform(index);
    auto splat = [](const Site &site, LaneValue value) {
      return site.lanes() > 1 ? site.m.l.splat(value.value) : value.value;
    };
    auto step = [&](const Site &site, LaneValue sofar, SmallVector<LaneValue> *made) {
      auto [ctx, b, l, m] = site.parts();
      LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), at), element);
      value = scanStep(site, op, sofar, value, factorAt(site, op, factor, at));
      LaneValue stored = l.cast(CastMode::value, value, type.getElementType());
      if (made)
        made->push_back(stored);
      else
        m.store(to, at, stored);
      return value;
    };
    if (room) {
      scanBands(site, scan, *extentInCode(op, laneAxis), extent(site, op.getValue(), along), room,
                start.value,
                [&](const Site &lanes, Index row, Value i, MutableArrayRef<Value> sofar) {
                  at[laneAxis] = row;
                  at[along] = lanes.m.uniform(i);
                  sofar[0] = splat(lanes, step(lanes, lanes.m.l.wrap(sofar[0], element), nullptr));
                });
      return SmallVector<Value>{};
    }
    overLanes(site, l.i64(0), extent(site, op.getValue(), laneAxis), scan.getLanes(),
              [&](const Site &lanes, Index index) {
                auto [ctx, b, l, m] = lanes.parts();
                at[laneAxis] = index;
                ctx.elements.clear();
                if (l.lanes >= own.extent && interleaved && !op.getFactors() &&
                    isRunOfPixels(site, op, laneAxis))
                  return scanPixels(lanes, op, to, at, laneAxis, factor);
                if (mostUnrolled) {
                  SmallVector<LaneValue> made;
                  LaneValue sofar = start;
                  for (int64_t i = 0; i < own.extent; ++i) {
                    at[along] = m.constant(i);
                    sofar = step(lanes, sofar, &made);
                  }
                  return storeRow(m, to, at, along, made, interleaved);
                }
                carryLoop(site, l.i64(0), extent(site, op.getValue(), along), splat(lanes, start),
                          [&](Value i, ValueRange sofar) {
                            at[along] = m.uniform(i);
                            const LaneValue next = step(lanes, l.wrap(sofar[0], element), nullptr);
                            return SmallVector<Value>{splat(lanes, next)};
                          });
              });
    return SmallVector<Value>{};
  });
}

/// Stores rows once more where one of them has a NaN.
void penstock::conversion::storeCanonical(const Site &site, const Buffer &to,
                                          SmallVector<Index> &at, int64_t along, Value columns,
                                          Value any, int64_t rows,
                                          llvm::function_ref<void(int64_t)> moveToRow) {
  auto [ctx, b, l, m] = site.parts();
  Buffer plain = to;
  plain.written.reset();
  auto branchOp = b.create<scf::IfOp>(l.loc, any, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branchOp.thenBlock());
  auto eachColumn = [&](Value i) {
    at[along] = m.uniform(i);
    for (int64_t row = 0; row < rows; ++row) {
      moveToRow(row);
      m.store(to, at, m.load(plain, at));
    }
  };
  forLoop(site, l.i64(0), columns, 1, eachColumn);
}

/// Element by element. The last rows overlap those before them: all is pure.
static void scanRows(const Site &site, ScanOp op, const Buffer &to, LaneValue factor) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  Type element = computeType(type.getElementType());
  const int64_t along = type.axisIndex(op.getAxis());
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (axis != along)
      axes.push_back(axis);
  const int64_t rows = scanOf(op).getBeside();
  SmallVector<Value> others;
  for (int64_t axis : axes)
    others.push_back(extent(site, op.getValue(), axis));
  const LaneValue start = scanStart(l, op, element);
  // A NaN stays one to the end of the row: which one is looked at there.
  const bool looksLater = op.getKind() != ScanKind::max &&
                          (type.getElementType().isF32() || type.getElementType().isF64());
  auto scanSome = [&](SmallVector<Index> at, Value first) {
    SmallVector<Value> state(rows, start.value);
    auto move = [&](int64_t row) {
      if (rows > 1)
        at[axes.back()] = m.uniform(l.add(first, l.i64(row)));
    };
    auto ends = carryLoop(
        site, l.i64(0), extent(site, op.getValue(), along), state, [&](Value i, ValueRange sofar) {
          at[along] = m.uniform(i);
          ctx.elements.clear();
          SmallVector<LaneValue> made;
          for (auto [row, carried] : llvm::enumerate(sofar)) {
            move(static_cast<int64_t>(row));
            LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), at), element);
            made.push_back(scanStep(site, op, l.wrap(carried, element), value,
                                    factorAt(site, op, factor, at)));
          }
          SmallVector<Value> next;
          for (auto [row, value] : llvm::enumerate(made)) {
            move(static_cast<int64_t>(row));
            next.push_back(value.value);
            if (looksLater)
              value.range.nan = false;
            m.store(to, at, l.cast(CastMode::value, value, type.getElementType()));
          }
          return next;
        });
    if (!looksLater)
      return;
    Value any;
    for (Value end : ends) {
      Value isNan = b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::UNO, end, end);
      any = any ? l.orInt(any, isNan) : isNan;
    }
    storeCanonical(site, to, at, along, extent(site, op.getValue(), along), any, rows, move);
  };
  Value last = others.empty() ? Value() : others.back();
  carriedNest(b, l, rows > 1 ? ArrayRef(others).drop_back() : ArrayRef(others), {},
              [&](ArrayRef<Value> where, ValueRange) {
                SmallVector<Index> at(type.getRank());
                for (auto [axis, index] : llvm::zip(axes, where))
                  at[axis] = m.uniform(index);
                if (rows == 1) {
                  scanSome(at, {});
                  return SmallVector<Value>{};
                }
                forLoop(site, l.i64(0), last, rows, [&](Value first) {
                  if (type.getAxes()[axes.back()].extent % rows)
                    first = l.minS(first, l.i64(type.getAxes()[axes.back()].extent - rows));
                  scanSome(at, first);
                });
                return SmallVector<Value>{};
              });
}

namespace penstock::conversion {
void registerScan(WholeOps &all);
}
void penstock::conversion::registerScan(WholeOps &all) { all.add<ScanOp>(emitScan); }
