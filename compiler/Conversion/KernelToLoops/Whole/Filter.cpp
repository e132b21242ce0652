// SPDX-License-Identifier: Apache-2.0
//
// Filters by rational transfer functions.
//
// The state of a row is carried from element to element in registers. Each lane has a row, or rows
// go one by one, some at once: `#schedule.scan` says which.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Scan.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Numerator or denominator, with zeros behind, divided by the denominator's first number.
static SmallVector<LaneValue> coefficients(const Site &site, Value side, LaneValue by,
                                           int64_t count) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<LaneValue> result;
  for (int64_t j = 0; j < count; ++j) {
    LaneValue number = j < typeOf(side).getAxes()[0].extent ? emit(site, side, {m.constant(j)})
                                                            : l.constant(b.getF64FloatAttr(0.0));
    result.push_back(l.binary(BinaryKind::div, number, by));
  }
  return result;
}

namespace {

/// A filter's numbers, and its state as vectors of so many lanes.
class FilterRows {
public:
  FilterRows(const Site &site, FilterOp op, const Buffer &to);
  void emitAll();

private:
  /// Returns the filtered element at `at`, and stores the state behind it in `state`.
  LaneValue step(const Site &site, ArrayRef<Index> at, MutableArrayRef<Value> state);
  void row(const Site &site, SmallVector<Index> at);
  void rowsBeside(SmallVector<Index> at, int64_t side, Value first, int64_t rows);

  const Site &site;
  FilterOp op;
  const Buffer &to;
  NamedTensorType type;
  Type f64;
  int64_t along, count;
  SmallVector<LaneValue> above, below;
};

} // namespace

FilterRows::FilterRows(const Site &site, FilterOp op, const Buffer &to)
    : site(site), op(op), to(to), type(typeOf(op.getValue())), f64(site.m.l.b.getF64Type()),
      along(type.axisIndex(op.getAxis())),
      count(std::max(typeOf(op.getNumerator()).getAxes()[0].extent,
                     typeOf(op.getDenominator()).getAxes()[0].extent)) {
  const LaneValue by = emit(site, op.getDenominator(), {site.m.constant(0)});
  above = coefficients(site, op.getNumerator(), by, count);
  below = coefficients(site, op.getDenominator(), by, count);
}

LaneValue FilterRows::step(const Site &site, ArrayRef<Index> at, MutableArrayRef<Value> state) {
  auto [ctx, b, l, m] = site.parts();
  auto mul = [&](LaneValue x, LaneValue y) { return l.binary(BinaryKind::mul, x, y); };
  auto add = [&](LaneValue x, LaneValue y) { return l.binary(BinaryKind::add, x, y); };
  const LaneValue x = l.cast(CastMode::value, emit(site, op.getValue(), at), f64);
  const LaneValue y = count > 1 ? add(l.wrap(state[0], f64), mul(above[0], x)) : mul(x, above[0]);
  for (int64_t j = 1; j < count; ++j) {
    LaneValue sum = mul(x, above[j]);
    if (j + 1 < count)
      sum = add(l.wrap(state[j], f64), sum);
    Value next = l.binary(BinaryKind::sub, sum, mul(y, below[j])).value;
    state[j - 1] = l.lanes > 1 ? l.splat(next) : next;
  }
  return l.cast(CastMode::value, y, type.getElementType());
}

/// As many rows as there are lanes.
void FilterRows::row(const Site &site, SmallVector<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  const SmallVector<Value> silence(count - 1, l.lanes > 1 ? l.splat(l.f64(0)) : l.f64(0));
  carryLoop(site, l.i64(0), extent(site, op.getValue(), along), silence,
            [&](Value i, ValueRange before) {
              at[along] = m.uniform(i);
              ctx.elements.clear();
              SmallVector<Value> state(before);
              const LaneValue y = step(site, at, state);
              m.store(to, at, y);
              return state;
            });
}

/// Each step of a row waits for the one before it, and not for those of other rows.
void FilterRows::rowsBeside(SmallVector<Index> at, int64_t side, Value first, int64_t rows) {
  auto [ctx, b, l, m] = site.parts();
  const SmallVector<Value> silence(rows * (count - 1), l.f64(0));
  carryLoop(site, l.i64(0), extent(site, op.getValue(), along), silence,
            [&](Value i, ValueRange before) {
              at[along] = m.uniform(i);
              ctx.elements.clear();
              SmallVector<Value> state(before);
              SmallVector<LaneValue> made;
              auto move = [&](int64_t row) { at[side] = m.uniform(l.add(first, l.i64(row))); };
              for (int64_t row = 0; row < rows; ++row) {
                move(row);
                made.push_back(
                    step(site, at, MutableArrayRef(state).slice(row * (count - 1), count - 1)));
              }
              for (int64_t row = 0; row < rows; ++row) {
                move(row);
                m.store(to, at, made[row]);
              }
              return state;
            });
}

/// The last rows overlap those before them: all is pure.
void FilterRows::emitAll() {
  auto [ctx, b, l, m] = site.parts();
  const ScanAttr scan = scanOf(op);
  int64_t side = -1;
  if (scan.getWay() == ScanWay::across)
    side = type.axisIndex(scan.getAlong());
  else if (scan.getBeside() > 1)
    side = besideAxisOf(type.getRank(), along);
  SmallVector<int64_t> axes;
  SmallVector<Value> others;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (axis != along && axis != side) {
      axes.push_back(axis);
      others.push_back(extent(site, op.getValue(), axis));
    }
  const Value room = scan.getBand() ? roomOfBand(site, scan, count - 1, f64) : Value();
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at(type.getRank());
    for (auto [axis, index] : llvm::zip(axes, where))
      at[axis] = m.uniform(index);
    if (side < 0) {
      row(site, at);
    } else if (room) {
      const SmallVector<Value> silence(count - 1, l.f64(0));
      scanBands(site, scan, *extentInCode(op, side), extent(site, op.getValue(), along), room,
                silence,
                [&](const Site &lanes, Index index, Value i, MutableArrayRef<Value> state) {
                  at[side] = index;
                  at[along] = lanes.m.uniform(i);
                  const LaneValue y = step(lanes, at, state);
                  lanes.m.store(to, at, y);
                });
    } else if (scan.getWay() == ScanWay::across) {
      overLanes(site, l.i64(0), extent(site, op.getValue(), side), scan.getLanes(),
                [&](const Site &lanes, Index index) {
                  at[side] = index;
                  row(lanes, at);
                });
    } else {
      const int64_t rows = scan.getBeside(), all = *extentInCode(op, side);
      forLoop(site, l.i64(0), l.i64(all), rows, [&](Value first) {
        rowsBeside(at, side, all % rows ? l.minS(first, l.i64(all - rows)) : first, rows);
      });
    }
    return SmallVector<Value>{};
  });
}

static LogicalResult emitFilter(const Site &site, FilterOp op) {
  auto buffer = bufferFor(site, op.getResult());
  if (failed(buffer))
    return failure();
  FilterRows(site, op, *buffer).emitAll();
  return success();
}

namespace penstock::conversion {
void registerFilter(WholeOps &all);
}
void penstock::conversion::registerFilter(WholeOps &all) { all.add<FilterOp>(emitFilter); }
