// SPDX-License-Identifier: Apache-2.0
//
// Rows that are sorted side by side.
//
// Each lane has a row of its own. A network of comparisons, the same for all rows (Batcher's
// odd-even merge sort), puts them in order in scratch memory, which has a vector for each place. A
// key and its place are one number: an exchange is a minimum and a maximum, and equal elements
// stay in their order.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/Transposed.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Sort.h"
#include "compiler/Dialect/ScheduleDialect.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Of a number the bits that are a place: rows are no longer than that.
static constexpr int64_t placeBits = sortedPlaceBits, longestRow = 1 << placeBits;

namespace {
struct SortInLanes {
  SortInLanes(const Site &site, SortOp op, const Buffer &to);
  LogicalResult emitAll();

private:
  Value keyOf(const Site &wide, ArrayRef<Index> at, Value place) const;
  Value entry(Value place) const { return m.address(keys, l.mul(place, l.i64(rows * bytes))); }
  Value read(Value place) const {
    return m.loadPlain(VectorType::get({rows}, number), entry(place));
  }
  LaneValue placeOf(const Site &wide, Value entry) const;
  void forSquares(llvm::function_ref<void(Value)> body) const;
  void readRows(SmallVector<Index> at, Value first) const;
  void sortKeys() const;
  void exchange(Value low, Value apart) const;
  void storePlaces(SmallVector<Index> at, Value first) const;

  const Site &site;
  const Value input;
  const Buffer &to;
  const SortAttr sort;
  OpBuilder &b = site.ctx.b;
  const Lanes &l = site.m.l;
  const Memory &m = site.m;
  const NamedTensorType type = typeOf(input);
  const int64_t rank = type.getRank(), along;
  /// Of a key and its place.
  const int64_t bytes;
  const Type number = b.getIntegerType(static_cast<unsigned>(8 * bytes));
  const int64_t rows = sort.getLanes(), count = type.getAxes()[along].extent;
  const int64_t side = type.axisIndex(sort.getAlong()); ///< the axis of the lanes
  /// Elements lie along the sorted axis, and so do results.
  const bool transposes = sort.getWay() == SortWay::transposed;
  Value keys;
};
} // namespace

SortInLanes::SortInLanes(const Site &site, SortOp op, const Buffer &to)
    : site(site), input(op.getValue()), to(to), sort(sortOf(op)),
      along(type.axisIndex(op.getAxis())), bytes(bytesOfKey(op)) {}

/// The elements and their places, as numbers that order as they do.
Value SortInLanes::keyOf(const Site &wide, ArrayRef<Index> at, Value place) const {
  auto [ctx, b, l, m] = wide.parts();
  ctx.elements.clear();
  LaneValue value = emit(wide, input, at);
  if (llvm::isa<FloatType>(value.type)) {
    value = l.cast(CastMode::value, value, b.getF32Type());
    Value isNumber = l.compare(Predicate::eq, value, value).value;
    Value bits =
        b.create<arith::BitcastOp>(l.loc, l.like(value.value, b.getI32Type()), value.value);
    // Below zero a larger magnitude is a smaller number.
    Value sign = b.create<arith::ShRSIOp>(l.loc, bits, l.integerLike(bits, 31));
    bits = l.xorInt(bits, l.andInt(sign, l.integerLike(bits, INT32_MAX)));
    value = l.wrap(l.pick(isNumber, bits, l.integerLike(bits, INT32_MAX)), b.getI32Type());
  }
  Value key = l.splat(l.cast(CastMode::value, value, number).value);
  Value places = l.cast(CastMode::value, l.wrap(place, b.getI64Type()), number).value;
  return l.add(l.shl(key, placeBits), l.splat(places));
}

LaneValue SortInLanes::placeOf(const Site &wide, Value entry) const {
  const Lanes &l = wide.m.l;
  Value place = l.andInt(entry, l.integerLike(entry, longestRow - 1));
  return l.cast(CastMode::value, l.wrap(place, number), b.getI64Type());
}

/// Runs `body` with the first place of as many as there are rows; the last ones overlap.
void SortInLanes::forSquares(llvm::function_ref<void(Value)> body) const {
  forLoop(site, l.i64(0), l.i64(count), rows,
          [&](Value from) { body(count % rows ? l.minS(from, l.i64(count - rows)) : from); });
}

void SortInLanes::readRows(SmallVector<Index> at, Value first) const {
  const Site wide = site.withLanes(rows);
  if (!transposes) {
    at[side] = {first, 1, {}, {}};
    forLoop(site, l.i64(0), l.i64(count), 1, [&](Value place) {
      at[along] = m.uniform(place);
      m.storePlain(keyOf(wide, at, place), entry(place));
    });
    return;
  }
  forSquares([&](Value from) {
    at[along] = {from, 1, {}, {}};
    Value places = l.add(wide.m.l.splat(from), wide.m.l.iota());
    SmallVector<Value> square;
    for (int64_t row = 0; row < rows; ++row) {
      at[side] = m.uniform(l.add(first, l.i64(row)));
      square.push_back(keyOf(wide, at, places));
    }
    for (auto [column, all] : llvm::enumerate(transposed(wide.m, square, bytes)))
      m.storePlain(all, entry(l.add(from, l.i64(static_cast<int64_t>(column)))));
  });
}

void SortInLanes::exchange(Value low, Value apart) const {
  const Lanes wide = site.withLanes(rows).m.l;
  Value high = l.add(low, apart);
  LaneValue x = wide.wrap(read(low), number), y = wide.wrap(read(high), number);
  m.storePlain(wide.binary(BinaryKind::min, x, y).value, entry(low));
  m.storePlain(wide.binary(BinaryKind::max, x, y).value, entry(high));
}

/// Runs of 1, 2, 4 .. entries become runs of twice as many. Bounds that say nothing here tell that
/// the loops end soon.
void SortInLanes::sortKeys() const {
  const int64_t levels = llvm::Log2_64_Ceil(static_cast<uint64_t>(count));
  auto shifted = [&](Value value, Value by) -> Value {
    return b.create<arith::ShRSIOp>(l.loc, value, by);
  };
  forLoop(site, l.i64(0), l.i64(levels), 1, [&](Value level) {
    Value run = b.create<arith::ShLIOp>(l.loc, l.i64(1), level);
    Value last = l.minS(l.add(level, l.i64(1)), l.i64(levels));
    forLoop(site, l.i64(0), last, 1, [&](Value step) {
      Value apart = shifted(run, step), pair = l.shl(apart, 1);
      // Runs are compared from their beginnings, parts of them from the second one on.
      Value start = l.andInt(apart, l.sub(run, l.i64(1)));
      Value left = l.sub(l.sub(l.i64(count - 1), apart), start);
      Value groups = l.add(shifted(left, l.add(l.sub(level, step), l.i64(1))), l.i64(1));
      forLoop(site, l.i64(0), l.minS(groups, l.i64(count)), 1, [&](Value group) {
        Value from = l.add(start, l.mul(group, pair)), next = l.add(from, apart);
        // The last part of a run has none to be compared with.
        Value reached = l.andInt(next, l.sub(l.shl(run, 1), l.i64(1)));
        Value end = l.pick(l.cmp(CmpIPredicate::ne, reached, l.i64(0)),
                           l.minS(next, l.sub(l.i64(count), apart)), from);
        forLoop(site, from, l.minS(end, l.i64(count)), 1, [&](Value low) { exchange(low, apart); });
      });
    });
  });
}

void SortInLanes::storePlaces(SmallVector<Index> at, Value first) const {
  const Site wide = site.withLanes(rows);
  if (!transposes) {
    at[side] = {first, 1, {}, {}};
    forLoop(site, l.i64(0), l.i64(count), 1, [&](Value place) {
      at[along] = m.uniform(place);
      wide.m.store(to, at, placeOf(wide, read(place)));
    });
    return;
  }
  forSquares([&](Value from) {
    at[along] = {from, 1, {}, {}};
    SmallVector<Value> square;
    for (int64_t column = 0; column < rows; ++column)
      square.push_back(read(l.add(from, l.i64(column))));
    for (auto [row, all] : llvm::enumerate(transposed(wide.m, square, bytes))) {
      at[side] = m.uniform(l.add(first, l.i64(static_cast<int64_t>(row))));
      wide.m.store(to, at, placeOf(wide, all));
    }
  });
}

LogicalResult SortInLanes::emitAll() {
  auto room = scratchBytes(site, count * rows * bytes, {});
  if (failed(room))
    return failure();
  keys = *room;
  SmallVector<Value> others;
  SmallVector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != along && axis != side) {
      axes.push_back(axis);
      others.push_back(extent(site, input, axis));
    }
  const int64_t last = type.getAxes()[side].extent;
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at(rank);
    for (auto [axis, index] : llvm::zip(axes, where))
      at[axis] = m.uniform(index);
    forLoop(site, l.i64(0), l.i64(last), rows, [&](Value number) {
      Value first = last % rows ? l.minS(number, l.i64(last - rows)) : number;
      readRows(at, first);
      sortKeys();
      storePlaces(at, first);
    });
    return SmallVector<Value>{};
  });
  return success();
}

LogicalResult penstock::conversion::sortInLanes(const Site &site, SortOp op, const Buffer &to) {
  return SortInLanes(site, op, to).emitAll();
}
