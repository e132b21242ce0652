// SPDX-License-Identifier: Apache-2.0
//
// Scans with rows in the lanes.
//
// A square of elements is transposed, so that a vector has one of each row, and
// transposed back: each column is one step for all of them.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/Transposed.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Scan.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Returns whether one of so many floats is a NaN.
static Value hasNan(const Lanes &l, Value floats, int64_t count) {
  OpBuilder &b = l.b;
  Value isNan = b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::UNO, floats, floats);
  Type word = b.getIntegerType(static_cast<unsigned>(count));
  Value bits = b.create<vector::BitCastOp>(l.loc, VectorType::get({1}, word), isNan);
  return l.cmp(arith::CmpIPredicate::ne, b.create<vector::ExtractOp>(l.loc, bits, 0),
               b.create<arith::ConstantOp>(l.loc, b.getIntegerAttr(word, 0)));
}

namespace {

/// A scan along the last axis, with as many rows in the lanes as there are lanes.
class TransposedScan {
public:
  TransposedScan(const Site &site, ScanOp op, const Buffer &to, LaneValue factor)
      : site(site), wide(site.withLanes(scanOf(op).getLanes())), op(op), to(to), factor(factor),
        type(typeOf(op.getResult())), element(computeType(type.getElementType())),
        along(type.axisIndex(op.getAxis())), side(along - 1), bytes(scalarBytes(element)),
        rows(scanOf(op).getLanes()), columns(type.getAxes()[along].extent),
        looksLater(op.getKind() != ScanKind::max &&
                   (type.getElementType().isF32() || type.getElementType().isF64())) {}

  void emitAll();

private:
  void emitRows(SmallVector<Index> at, Value first);
  Value square(SmallVector<Index> at, Value first, Value from, Value sofar, int64_t old);
  void moveToRow(SmallVector<Index> &at, Value first, int64_t number) {
    at[side] = site.m.uniform(site.m.l.add(first, site.m.l.i64(number)));
  }

  const Site &site;
  const Site wide;
  ScanOp op;
  const Buffer &to;
  LaneValue factor;
  NamedTensorType type;
  Type element;
  int64_t along, side, bytes, rows, columns;
  bool looksLater; ///< a NaN stays one to the end of the row: which one is looked at there
};

} // namespace

/// Columns from `from` on, of which the first `old` ones have been seen. Returns what the last
/// column has.
Value TransposedScan::square(SmallVector<Index> at, Value first, Value from, Value sofar,
                             int64_t old) {
  at[along] = {from, 1, {}, {}};
  auto [ctx, b, l, m] = wide.parts();
  ctx.elements.clear();
  Interval range;
  SmallVector<Value> read;
  for (int64_t number = 0; number < rows; ++number) {
    moveToRow(at, first, number);
    LaneValue value = l.cast(CastMode::value, emit(wide, op.getValue(), at), element);
    range = number ? hull(range, value.range) : value.range;
    read.push_back(l.splat(value.value));
  }
  SmallVector<Value> made = transposed(m, read, bytes);
  LaneValue stored;
  for (int64_t column = old; column < rows; ++column) {
    stored =
        scanStep(wide, op, l.wrap(sofar, element), LaneValue{made[column], element, range}, factor);
    made[column] = sofar = l.splat(stored.value);
  }
  made = transposed(m, made, bytes);
  if (looksLater)
    stored.range.nan = false;
  at[along] = {l.add(from, l.i64(old)), 1, {}, {}};
  const auto fresh = llvm::to_vector(llvm::seq<int64_t>(old, rows));
  for (int64_t number = 0; number < rows; ++number) {
    moveToRow(at, first, number);
    stored.value = old ? m.shuffle(made[number], made[number], fresh) : made[number];
    const Site some = site.withLanes(rows - old);
    LaneValue moved{stored.value, element, stored.range};
    moved.canonical = stored.canonical ? stored.value : Value();
    LaneValue narrowed = some.m.l.cast(CastMode::value, moved, type.getElementType());
    if (rows - old == 1)
      narrowed =
          some.m.l.wrap(b.create<vector::ExtractOp>(l.loc, narrowed.value, 0), narrowed.type);
    some.m.store(to, at, narrowed);
  }
  return sofar;
}

/// Rows from `first` on. The last columns overlap those before them, and only the new ones count.
void TransposedScan::emitRows(SmallVector<Index> at, Value first) {
  auto [ctx, b, l, m] = site.parts();
  Value state = wide.m.l.splat(scanStart(l, op, element).value);
  {
    OpBuilder::InsertionGuard guard(b);
    auto squares = openLoop(b, l, l.i64(0), l.i64(columns - columns % rows), rows, state);
    b.create<scf::YieldOp>(
        l.loc, square(at, first, squares.getInductionVar(), squares.getRegionIterArg(0), 0));
    state = squares.getResult(0);
  }
  if (columns % rows)
    state = square(at, first, l.i64(columns - rows), state, rows - columns % rows);
  if (!looksLater)
    return;
  Value any = hasNan(l, state, rows);
  storeCanonical(site, to, at, along, l.i64(columns), any, rows,
                 [&](int64_t number) { moveToRow(at, first, number); });
}

/// The last rows overlap those before them.
void TransposedScan::emitAll() {
  auto [ctx, b, l, m] = site.parts();
  const int64_t last = type.getAxes()[side].extent;
  SmallVector<Value> others;
  for (int64_t axis = 0; axis < side; ++axis)
    others.push_back(extent(site, op.getValue(), axis));
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at(type.getRank());
    for (auto [axis, index] : llvm::enumerate(where))
      at[axis] = m.uniform(index);
    forLoop(site, l.i64(0), l.i64(last), rows, [&](Value first) {
      emitRows(at, last % rows ? l.minS(first, l.i64(last - rows)) : first);
    });
    return SmallVector<Value>{};
  });
}

void penstock::conversion::scanTransposed(const Site &site, ScanOp op, const Buffer &to,
                                          LaneValue factor) {
  TransposedScan(site, op, to, factor).emitAll();
}
