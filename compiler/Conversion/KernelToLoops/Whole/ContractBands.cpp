// SPDX-License-Identifier: Apache-2.0
//
// Matrix products with bands: columns that are 0 but for a run of rows each, as those of filters
// that overlap are.
//
// A product with 0 changes no sum, unless it is with what is not finite. So of each column only the
// rows from the first to the last that is another number are gone through, or a few more. Partial
// sums go by row, modulo 32, and the tree above them is that of as many sums as there are rows,
// wherever these begin, for an addition does not tell its sides apart.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/Transposed.h"
#include "compiler/Conversion/KernelToLoops/Whole/Contract.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Rows of a column that go without a loop: the next of these.
static constexpr int64_t shortRuns[] = {2, 4, 8, 12, 16, 24, 32, 40, 48, 64};

Bands::Bands(ContractOp op, const ContractShape &shape, int64_t lanes)
    : value(op.getValue()), matrix(op.getMatrix()),
      element(typeOf(op.getResult()).getElementType()), lanes(lanes), size(scalarBytes(element)),
      axis(shape.block), column(shape.lane) {
  ArrayRef<Axis> axes = typeOf(op.getMatrix()).getAxes();
  from = typeOf(op.getValue()).axisIndex(axes[0].name);
  rows = axes[0].extent;
  columns = axes[1].extent;
}

Value Bands::place(const Site &site, Value array, Value number, int64_t each) const {
  return site.m.address(array, site.m.l.mul(number, site.m.l.i64(each)));
}

/// The last square overlaps those before it.
void Bands::forEachSquare(const Site &site, int64_t count,
                          llvm::function_ref<void(Value)> body) const {
  const Lanes &l = site.m.l;
  forLoop(site, l.i64(0), l.i64(count), lanes,
          [&](Value first) { body(count % lanes ? l.minS(first, l.i64(count - lanes)) : first); });
}

LogicalResult Bands::find(const Site &site) {
  auto [ctx, b, l, m] = site.parts();
  bool failedHere = false;
  auto room = [&](int64_t bytes) {
    auto made = scratchBytes(site, bytes, {});
    failedHere |= failed(made);
    return failed(made) ? Value() : *made;
  };
  ends = room(2 * columns * size);
  starts = room(columns * 8);
  counts = room(columns * 8);
  weightsAt = room(columns * 8);
  weights = room(rows * columns * size / 2);
  panel = room((rows + partialSums) * lanes * size);
  made = room(columns * lanes * size);
  if (failedHere)
    return failure();
  findEnds(site);
  // Else rows of the matrix are read as they lie: as many products, and nothing to transpose.
  isBanded = l.cmp(CmpIPredicate::sle, countRows(site), l.i64(rows * columns / 2));
  auto banded = b.create<scf::IfOp>(l.loc, isBanded, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(banded.thenBlock());
  copyRows(site);
  Value none = site.withLanes(lanes).m.l.splat(neutral(l, ReduceKind::sum, element).value);
  forLoop(site, l.i64(rows), l.i64(rows + partialSums), 1,
          [&](Value row) { m.storePlain(none, place(site, panel, row, lanes * size)); });
  return success();
}

/// The first row and the last one of each column that is not 0, as integers as wide as elements;
/// where there is none, the number of rows, and -1.
void Bands::findEnds(const Site &site) const {
  auto [ctx, b, l, m] = site.parts();
  Type word = b.getIntegerType(8 * size), vector = VectorType::get({lanes}, word);
  const Site wide = site.withLanes(lanes);
  auto all = [&](int64_t number) -> Value {
    return b.create<arith::ConstantOp>(
        l.loc,
        DenseElementsAttr::get(llvm::cast<VectorType>(vector), b.getIntegerAttr(word, number)));
  };
  Value none = all(rows), before = all(-1), zero = all(0);
  auto firstAt = [&](Value column) { return place(site, ends, column, size); };
  auto lastAt = [&](Value column) {
    return place(site, ends, l.add(column, l.i64(columns)), size);
  };
  forEachSquare(site, columns, [&](Value column) {
    m.storePlain(none, firstAt(column));
    m.storePlain(before, lastAt(column));
  });
  forLoop(site, l.i64(0), l.i64(rows), 1, [&](Value row) { // as the matrix lies
    Value number = size == 8 ? row : Value(b.create<arith::TruncIOp>(l.loc, word, row));
    number = b.create<vector::SplatOp>(l.loc, vector, number);
    forEachSquare(site, columns, [&](Value column) {
      ctx.elements.clear();
      Value weight =
          wide.m.l.splat(emit(wide, matrix, {m.uniform(row), {column, 1, {}, {}}}).value);
      Value some =
          l.cmp(CmpIPredicate::ne, b.create<arith::BitcastOp>(l.loc, vector, weight), zero);
      Value first = m.loadPlain(vector, firstAt(column)),
            last = m.loadPlain(vector, lastAt(column));
      m.storePlain(l.minS(first, l.pick(some, number, none)), firstAt(column));
      m.storePlain(l.pick(some, number, last), lastAt(column));
    });
  });
  ctx.elements.clear();
}

/// How many rows of each column are gone through, and where its weights begin. Returns how many
/// these are in all.
Value Bands::countRows(const Site &site) const {
  auto [ctx, b, l, m] = site.parts();
  Type word = b.getIntegerType(8 * size);
  return carryLoop(site, l.i64(0), l.i64(columns), l.i64(0), [&](Value band, ValueRange sofar) {
    auto end = [&](Value number) {
      Value value = m.loadPlain(word, place(site, ends, number, size));
      return size == 8 ? value : Value(b.create<arith::ExtSIOp>(l.loc, b.getI64Type(), value));
    };
    Value first = end(band), last = end(l.add(band, l.i64(columns)));
    Value count = l.add(l.sub(last, first), l.i64(1)); // below 0 where there is none
    first = l.minS(first, l.i64(rows - 1));
    Value turns = l.shl(l.divS(l.add(count, l.i64(partialSums - 1)), l.i64(partialSums)), 5);
    for (int64_t run : llvm::reverse(shortRuns))
      turns = l.pick(l.cmp(CmpIPredicate::sle, count, l.i64(run)), l.i64(run), turns);
    m.storePlain(first, place(site, starts, band, 8));
    m.storePlain(turns, place(site, counts, band, 8));
    m.storePlain(sofar[0], place(site, weightsAt, band, 8));
    return SmallVector<Value>{l.add(sofar[0], turns)};
  })[0];
}

/// Behind the matrix there are rows of 0.
void Bands::copyRows(const Site &site) const {
  auto [ctx, b, l, m] = site.parts();
  Value zero = neutral(l, ReduceKind::sum, element).value;
  forLoop(site, l.i64(0), l.i64(columns), 1, [&](Value band) {
    Value first = m.loadPlain(b.getI64Type(), place(site, starts, band, 8));
    Value count = m.loadPlain(b.getI64Type(), place(site, counts, band, 8));
    Value to = m.loadPlain(b.getI64Type(), place(site, weightsAt, band, 8));
    forLoop(site, l.i64(0), count, 1, [&](Value i) {
      ctx.elements.clear();
      Value row = l.add(first, i), there = l.minS(row, l.i64(rows - 1));
      Value value = emit(site, matrix, {m.uniform(there), m.uniform(band)}).value;
      m.storePlain(l.pick(l.cmp(CmpIPredicate::slt, row, l.i64(rows)), value, zero),
                   place(site, weights, l.add(to, i), size));
    });
  });
  ctx.elements.clear();
}

Value Bands::read(const Site &site, ArrayRef<Index> at, Value first) const {
  auto [ctx, b, l, m] = site.parts();
  auto choice = b.create<scf::IfOp>(l.loc, TypeRange{b.getI1Type()}, isBanded, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.elseBlock());
  b.create<scf::YieldOp>(l.loc, isBanded);
  b.setInsertionPointToStart(choice.thenBlock());
  const Site wide = site.withLanes(lanes);
  Value zero = wide.m.l.splat(neutral(l, ReduceKind::sum, element).value);
  Value sum = carryLoop(
      site, l.i64(0), l.i64((rows + lanes - 1) / lanes), zero, [&](Value number, ValueRange sofar) {
        Value begin = l.mul(number, l.i64(lanes)), sum = sofar[0];
        if (rows % lanes) // the last square overlaps the one before it
          begin = l.minS(begin, l.i64(rows - lanes));
        SmallVector<Value> square;
        for (int64_t row = 0; row < lanes; ++row) {
          // The value's axes but `from` are the result's but `column`, in the same order.
          SmallVector<Index> inner(at);
          inner[axis] = m.uniform(l.add(first, l.i64(row)));
          inner.erase(inner.begin() + column);
          inner.insert(inner.begin() + from, Index{begin, 1, {}, {}});
          ctx.elements.clear();
          square.push_back(wide.m.l.splat(emit(wide, value, inner).value));
          Value none = b.create<arith::SubFOp>(l.loc, square.back(), square.back()); // 0, or NaN
          sum = b.create<arith::AddFOp>(l.loc, sum, none);
        }
        for (auto [lane, made] : llvm::enumerate(transposed(m, square, size)))
          m.storePlain(made, place(site, panel, l.add(begin, l.i64(static_cast<int64_t>(lane))),
                                   lanes * size));
        return SmallVector<Value>{sum};
      })[0];
  ctx.elements.clear();
  Value infinite = anyLane(l, sum, [&](Value some) -> Value {
    return b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::UNO, some, some);
  });
  b.create<scf::YieldOp>(
      l.loc,
      ValueRange{l.xorInt(infinite, b.create<arith::ConstantOp>(l.loc, b.getBoolAttr(true)))});
  return choice.getResult(0);
}

/// Of `count` rows from `first` on, at most 64, whose weights begin at `from`.
Value Bands::shortSum(const Site &site, Value first, Value from, int64_t count) const {
  auto [ctx, b, l, m] = site.parts();
  const Lanes wide = site.withLanes(lanes).m.l;
  Type vector = VectorType::get({lanes}, element);
  auto product = [&](int64_t row) {
    Value i = l.i64(row);
    Value x = m.loadPlain(vector, place(site, panel, l.add(first, i), lanes * size));
    Value y = m.loadPlain(element, place(site, weights, l.add(from, i), size));
    return wide.binary(BinaryKind::mul, wide.wrap(x, element), wide.wrap(wide.splat(y), element));
  };
  auto partial = [&](int64_t lane) {
    const int64_t next = lane + partialSums;
    return next < count ? wide.binary(BinaryKind::add, product(lane), product(next))
                        : product(lane);
  };
  return wide.splat(treeOfPartials(wide, element, std::min(count, partialSums), partial).value);
}

/// Of `count` rows, a multiple of 32: as many partial sums at a time as there are registers for,
/// which are every so many.
Value Bands::longSum(const Site &site, Value first, Value from, Value count) const {
  auto [ctx, b, l, m] = site.parts();
  const Lanes wide = site.withLanes(lanes).m.l;
  Type vector = VectorType::get({lanes}, element);
  const int64_t together = l.has.registers / 2, groups = partialSums / together;
  Value zero = wide.splat(neutral(l, ReduceKind::sum, element).value);
  SmallVector<LaneValue> partial(partialSums);
  for (int64_t group = 0; group < groups; ++group) {
    auto sums = carryLoop(
        site, l.i64(0), l.divS(count, l.i64(partialSums)), SmallVector<Value>(together, zero),
        [&](Value turn, ValueRange sofar) {
          SmallVector<Value> next;
          for (int64_t i = 0; i < together; ++i) {
            Value row = l.add(l.mul(turn, l.i64(partialSums)), l.i64(group + i * groups));
            Value x = m.loadPlain(vector, place(site, panel, l.add(first, row), lanes * size));
            Value y = m.loadPlain(element, place(site, weights, l.add(from, row), size));
            LaneValue product = wide.binary(BinaryKind::mul, wide.wrap(x, element),
                                            wide.wrap(wide.splat(y), element));
            next.push_back(wide.splat(
                wide.binary(BinaryKind::add, wide.wrap(sofar[i], element), product).value));
          }
          return next;
        });
    for (auto [i, sum] : llvm::enumerate(sums))
      partial[group + static_cast<int64_t>(i) * groups] = wide.wrap(sum, element);
  }
  return wide.splat(treeOfPartials(wide, element, partialSums, [&](int64_t lane) {
                      return partial[lane];
                    }).value);
}

Value Bands::sum(const Site &site, Value band) const {
  auto [ctx, b, l, m] = site.parts();
  Value first = m.loadPlain(b.getI64Type(), place(site, starts, band, 8));
  Value count = m.loadPlain(b.getI64Type(), place(site, counts, band, 8));
  Value from = m.loadPlain(b.getI64Type(), place(site, weightsAt, band, 8));
  Type vector = VectorType::get({lanes}, element);
  // The one of `runs` that is taken, or, with all, the loop.
  std::function<Value(ArrayRef<int64_t>, bool)> ofRuns = [&](ArrayRef<int64_t> runs,
                                                             bool all) -> Value {
    if (runs.empty())
      return longSum(site, first, from, count);
    if (runs.size() == 1 && !all)
      return shortSum(site, first, from, runs.front());
    const size_t half = all && runs.size() == 1 ? 1 : runs.size() / 2;
    Value isShort = l.cmp(CmpIPredicate::sle, count, l.i64(runs[half - 1]));
    auto choice = b.create<scf::IfOp>(l.loc, TypeRange{vector}, isShort, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    b.create<scf::YieldOp>(l.loc, ValueRange{ofRuns(runs.take_front(half), false)});
    b.setInsertionPointToStart(choice.elseBlock());
    b.create<scf::YieldOp>(l.loc, ValueRange{ofRuns(runs.drop_front(half), all)});
    return choice.getResult(0);
  };
  return ofRuns(shortRuns, true);
}

void Bands::write(const Site &site, const Buffer &to, ArrayRef<Index> at, Value first) const {
  auto [ctx, b, l, m] = site.parts();
  Type vector = VectorType::get({lanes}, element);
  const Site wide = site.withLanes(lanes);
  SmallVector<Index> place(at);
  const bool isRun = to.known[axis] == size;
  place[axis] = {first, 1, {}, {}};
  forLoop(site, l.i64(0), l.i64(columns), 1, [&](Value band) {
    Value value = sum(site, band);
    place[column] = m.uniform(band);
    if (isRun)
      wide.m.store(to, place, l.wrap(value, element));
    else
      m.storePlain(value, this->place(site, made, band, lanes * size));
  });
  if (isRun)
    return;
  forEachSquare(site, columns, [&](Value begin) {
    SmallVector<Value> square;
    for (int64_t number = 0; number < lanes; ++number)
      square.push_back(
          m.loadPlain(vector, this->place(site, made, l.add(begin, l.i64(number)), lanes * size)));
    for (auto [number, row] : llvm::enumerate(transposed(m, square, size))) {
      place[axis] = m.uniform(l.add(first, l.i64(static_cast<int64_t>(number))));
      place[column] = {begin, 1, {}, {}};
      wide.m.store(to, place, l.wrap(row, element));
    }
  });
}
