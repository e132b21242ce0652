//===- ScanTransposed.cpp - scans with rows in the lanes -------------------===//
//
// A square of elements is transposed, so that a vector has one of each row, and
// transposed back: each column is one step for all of them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Scan.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// The columns of as many rows as each has lanes, of elements of 4 or 8 bytes. Pieces of 128 bits first, then those as
/// wholes: each step is one instruction of two registers.
static SmallVector<Value> transposed(Memory &m, ArrayRef<Value> rows, int64_t bytes) {
  const auto size = static_cast<int64_t>(rows.size()), piece = 16 / bytes, pieces = size / piece;
  /// Runs of `unit` elements of both in turn, from the first or second half of each piece.
  auto unpack = [&](Value x, Value y, int64_t unit, int64_t half) {
    SmallVector<int64_t> order;
    for (int64_t from = half * piece / 2; from < size; from += piece)
      for (int64_t k = 0; k < piece / 2; k += unit)
        for (int64_t other : {int64_t{0}, size})
          for (int64_t i = 0; i < unit; ++i)
            order.push_back(other + from + k + i);
    return m.shuffle(x, y, order);
  };
  SmallVector<Value> now(rows);
  for (int64_t row = 0; row < size; row += piece) {
    auto pair = [&](int64_t first, int64_t second, int64_t unit) {
      Value x = now[row + first], y = now[row + second];
      return std::pair{unpack(x, y, unit, 0), unpack(x, y, unit, 1)};
    };
    auto [a, b] = pair(0, 1, 1);
    if (piece == 2) {
      now[row] = a;
      now[row + 1] = b;
      continue;
    }
    auto [c, d] = pair(2, 3, 1);
    now[row] = unpack(a, c, 2, 0);
    now[row + 1] = unpack(a, c, 2, 1);
    now[row + 2] = unpack(b, d, 2, 0);
    now[row + 3] = unpack(b, d, 2, 1);
  }
  // Whole pieces, counted through both registers.
  auto pick = [&](Value x, Value y, ArrayRef<int64_t> wanted) {
    SmallVector<int64_t> order;
    for (int64_t number : wanted)
      for (int64_t i = 0; i < piece; ++i)
        order.push_back(number * piece + i);
    return m.shuffle(x, y, order);
  };
  SmallVector<Value> columns(now);
  for (int64_t column = 0; column < piece; ++column) {
    auto of = [&](int64_t number) { return now[number * piece + column]; };
    auto to = [&](int64_t number) -> Value & { return columns[number * piece + column]; };
    if (pieces == 2) {
      to(0) = pick(of(0), of(1), {0, 2});
      to(1) = pick(of(0), of(1), {1, 3});
    }
    for (int64_t half = 0; half < 2 && pieces == 4; ++half) {
      Value x = pick(of(0), of(1), {2 * half, 2 * half + 1, 4 + 2 * half, 5 + 2 * half});
      Value y = pick(of(2), of(3), {2 * half, 2 * half + 1, 4 + 2 * half, 5 + 2 * half});
      to(2 * half) = pick(x, y, {0, 2, 4, 6});
      to(2 * half + 1) = pick(x, y, {1, 3, 5, 7});
    }
  }
  return columns;
}

int64_t penstock::conversion::rowsInLanes(const Site &site, ScanOp op) {
  auto [ctx, b, l, m] = site.parts();
  constexpr int64_t fewest = 8; // fewer are no faster than one by one
  NamedTensorType type = typeOf(op.getResult());
  const int64_t rank = type.getRank(), along = type.axisIndex(op.getAxis());
  const int64_t bytes = scalarBytes(computeType(type.getElementType()));
  const int64_t rows = l.has.lanesOf(bytes);
  if (rank < 2 || along != rank - 1 || rows < fewest || bytes < 4) // pieces of two or four elements
    return 0;
  auto holds = [&](const Axis &axis) { return axis.isStatic() && axis.extent >= rows; };
  return holds(type.getAxes()[along]) && holds(type.getAxes()[along - 1]) ? rows : 0;
}

/// The last rows overlap those before them, and so do the last columns, of which only the
/// new ones count.
void penstock::conversion::scanTransposed(const Site &site, ScanOp op, const Buffer &to, LaneValue factor, int64_t rows) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  Type element = computeType(type.getElementType());
  const int64_t along = type.axisIndex(op.getAxis()), side = along - 1, bytes = scalarBytes(element);
  const int64_t columns = type.getAxes()[along].extent, last = type.getAxes()[side].extent;
  const bool isMax = op.getKind() == ScanKind::max, isReal = llvm::isa<FloatType>(element);
  // A NaN stays one to the end of the row: which one is looked at there.
  const bool looksLater = !isMax && (type.getElementType().isF32() || type.getElementType().isF64());
  SmallVector<Value> others;
  for (int64_t axis = 0; axis < side; ++axis)
    others.push_back(extent(site, op.getValue(), axis));
  auto some = [&](SmallVector<Index> at, Value first) {
    auto row = [&](int64_t number) { at[side] = m.uniform(l.add(first, l.i64(number))); };
    /// Columns from `from` on, of which the first `old` ones have been seen.
    auto square = [&](Value from, Value sofar, int64_t old) {
      at[along] = {from, 1, {}, {}};
      l.lanes = rows;
      ctx.elements.clear();
      Interval range;
      SmallVector<Value> read;
      for (int64_t number = 0; number < rows; ++number) {
        row(number);
        LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), at), element);
        range = number ? hull(range, value.range) : value.range;
        read.push_back(l.splat(value.value));
      }
      SmallVector<Value> made = transposed(m, read, bytes);
      LaneValue stored;
      for (int64_t column = old; column < rows; ++column) {
        LaneValue value{made[column], element, range}, seen = l.wrap(sofar, element);
        if (isMax && isReal) {
          value = comparable(site, value, false);
          seen = numberSoFar(site, sofar, element);
        }
        stored = scanStep(site, op, seen, value, factor);
        made[column] = sofar = l.splat(stored.value);
      }
      made = transposed(m, made, bytes);
      if (looksLater)
        stored.range.nan = false;
      at[along] = {l.add(from, l.i64(old)), 1, {}, {}};
      SmallVector<int64_t> fresh;
      for (int64_t column = old; column < rows; ++column)
        fresh.push_back(column);
      for (int64_t number = 0; number < rows; ++number) {
        row(number);
        l.lanes = rows;
        stored.value = old ? m.shuffle(made[number], made[number], fresh) : made[number];
        l.lanes = rows - old;
        LaneValue narrowed = l.cast(CastMode::value, {stored.value, element, stored.range}, type.getElementType());
        if (l.lanes == 1)
          narrowed.value = b.create<vector::ExtractOp>(l.loc, narrowed.value, 0);
        m.store(to, at, narrowed);
      }
      l.lanes = 1;
      return sofar;
    };
    l.lanes = rows;
    Value state = l.splat(neutral(l, isMax ? ReduceKind::max : ReduceKind::sum, element).value);
    l.lanes = 1;
    {
      OpBuilder::InsertionGuard guard(b);
      auto squares = openLoop(b, l, l.i64(0), l.i64(columns - columns % rows), rows, state);
      b.create<scf::YieldOp>(l.loc, square(squares.getInductionVar(), squares.getRegionIterArg(0), 0));
      state = squares.getResult(0);
    }
    if (columns % rows)
      state = square(l.i64(columns - rows), state, rows - columns % rows);
    if (!looksLater)
      return;
    Value isNan = b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::UNO, state, state);
    Type word = b.getIntegerType(static_cast<unsigned>(rows));
    Value bits = b.create<vector::BitCastOp>(l.loc, VectorType::get({1}, word), isNan);
    Value any = l.cmp(arith::CmpIPredicate::ne, b.create<vector::ExtractOp>(l.loc, bits, 0),
                      b.create<arith::ConstantOp>(l.loc, b.getIntegerAttr(word, 0)));
    storeCanonical(site, to, at, along, l.i64(columns), any, rows, row);
  };
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Index> at(type.getRank());
    for (auto [axis, index] : llvm::enumerate(where))
      at[axis] = m.uniform(index);
    forLoop(site, l.i64(0), l.i64(last), rows, [&](Value first) {
      some(at, last % rows ? l.minS(first, l.i64(last - rows)) : first);
    });
    return SmallVector<Value>{};
  });
}
