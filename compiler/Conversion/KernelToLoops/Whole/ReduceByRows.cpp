// SPDX-License-Identifier: Apache-2.0
//
// Long reductions whose results are rows of memory.
//
// Rows are read as they lie, a few of them at a time, and what they give so far lives in
// memory that the first cache holds. Sums of floats have 32 partial sums there: element i of
// each lane goes to sum i mod 32, and these meet in a tree at the end. The last rows of two sums
// are read together, so that half as many go through memory once more. Places of what is best have
// its rank there, and its number.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Dialect/SmallReduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {
/// Results side by side, in strips of as many as there are lanes, some of which are made at a time.
/// Each strip has room of its own: the last one overlaps the one before it.
struct Strips {
  int64_t extent, lanes, together;
  int64_t count() const { return (extent + lanes - 1) / lanes; }
};
} // namespace

/// Bytes kept for the results that are made at a time. All of a row, if the first cache holds them:
/// rows that are read to their ends are streams, which go on with the next row. Else as much of
/// that cache as leaves room for the rows, which may share its sets with each other.
static constexpr int64_t roomOfWholeRow = 32768, roomOfRows = 16384;

static bool isArgument(ReduceOp op) {
  return op.getKind() == ReduceKind::argmin || op.getKind() == ReduceKind::argmax;
}

/// Returns the type of a row's partial results; counts fit 32 bits.
static Type rowElement(ReduceOp op) {
  if (op.getKind() == ReduceKind::count)
    return IntegerType::get(op.getContext(), 32);
  return computeType(llvm::cast<NamedTensorType>(op.getValue().getType()).getElementType());
}

namespace {
/// One reduction by rows. Code is emitted with the lanes of a strip.
struct RowReduction {
  const Site &site;
  ReduceOp op;
  const LaneValue worst; ///< of ranks
  Context &ctx = site.ctx;
  OpBuilder &b = ctx.b;
  const Lanes &l = site.m.l;
  const Memory &m = site.m;
  const ReducedAxes axes = ReducedAxes(op);
  const NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  const ReduceKind kind = op.getKind();
  const Type element = rowElement(op);
  const bool isReal = llvm::isa<FloatType>(element), isSum = isReal && kind == ReduceKind::sum,
             adds = isSum || kind == ReduceKind::count;
  const int64_t count = *reducedElements(op), partials = isSum ? partialSums : 1;
  const int64_t rowsTogether = reductionOf(op).getBeside(); ///< rows that are read side by side
  const int64_t whole = count / partials, ///< rows of each partial sum, but for the first few
      last = (whole - 1) / rowsTogether * rowsTogether; ///< where the last ones begin
  /// Partial sums that stay at the end, and those that there is room for.
  const int64_t ends = isSum ? halfOfSums : 1, inMemory = last > 0 ? partials : ends;
  Strips strips{1, reductionOf(op).getLanes(), 0};
  const int64_t step = strips.lanes * scalarBytes(element),
                numbers = isArgument(op) ? 4 * strips.lanes : 0; ///< bytes
  Value room = {};
  Buffer to = {};
  int64_t lastInside = -1;    ///< the axis that lanes lie along
  SmallVector<Index> at = {}; ///< of the elements at hand
  Value first = {}, end = {}; ///< of the strips at hand

  Value roomOf(Value partial, Value strip) {
    Value number = l.add(l.mul(partial, l.i64(strips.together)), strip);
    return m.address(room, l.mul(number, l.i64(step)));
  }
  LaneValue sofarAt(Value address) {
    Type vector = l.splat(neutral(l, kind, element).value).getType();
    LaneValue sofar = l.wrap(m.loadPlain(vector, address), element);
    return isReal && !isSum ? numberSoFar(site, sofar.value, element) : sofar;
  }
  Value numbersOf(Value strip) {
    return m.address(room, l.add(l.mul(strip, l.i64(numbers)), l.i64(strips.together * step)));
  }
  void moveTo(Value number);
  void eachStrip(llvm::function_ref<void(Value)> body);
  void takeBest(Value k, ArrayRef<SmallVector<Index>> rows, Value strip, bool begins);
  void addRows(Value k, int64_t from, int64_t to, ArrayRef<int64_t> rows, bool begins);
  void addAllRows();
  void finish(Value strip);
};
} // namespace

/// Where element `number` of each lane lies.
void RowReduction::moveTo(Value number) {
  for (size_t i = axes.over.size(); i-- > 0;) {
    const int64_t size = in.getAxes()[axes.over[i]].extent;
    at[axes.over[i]] = m.uniform(
        i > 0 ? b.create<arith::RemUIOp>(l.loc, number, l.i64(size)).getResult() : number);
    if (i > 0)
      number = b.create<arith::DivUIOp>(l.loc, number, l.i64(size));
  }
}

void RowReduction::eachStrip(llvm::function_ref<void(Value)> body) {
  forLoop(site, first, end, 1, [&](Value strip) {
    Value column = l.mul(strip, l.i64(strips.lanes));
    if (strips.extent % strips.lanes)
      column = l.minS(column, l.i64(strips.extent - strips.lanes));
    at[lastInside] = {column, 1, {}, {}};
    ctx.elements.clear();
    body(l.sub(strip, first));
    ctx.elements.clear();
  });
}

/// The best of `rows`, the first of which has number k.
void RowReduction::takeBest(Value k, ArrayRef<SmallVector<Index>> rows, Value strip, bool begins) {
  Value rankAt = roomOf(l.i64(0), strip), numberAt = numbersOf(strip);
  Value rank = l.splat(worst.value), number = l.splat(l.i32(0));
  if (!begins) {
    rank = m.loadPlain(rank.getType(), rankAt);
    number = m.loadPlain(number.getType(), numberAt);
  }
  for (auto [row, place] : llvm::enumerate(rows)) {
    LaneValue value =
        rankOf(l, kind, l.cast(CastMode::value, emit(site, op.getValue(), place), element));
    Value better = l.splat(isBetter(l, value, l.wrap(rank, worst.type)));
    Value here = b.create<arith::TruncIOp>(l.loc, b.getI32Type(),
                                           l.add(k, l.i64(static_cast<int64_t>(row))));
    number = l.pick(better, l.splat(here), number);
    rank = l.pick(better, l.splat(value.value), rank);
  }
  m.storePlain(rank, rankAt);
  m.storePlain(number, numberAt);
}

/// For each partial sum in `from` .. `to` its elements from number k on, as many as `rows` says
/// first. Where it says another number, so many of the sum `ends` further on are added to it.
void RowReduction::addRows(Value k, int64_t from, int64_t to, ArrayRef<int64_t> rows, bool begins) {
  forLoop(site, l.i64(from), l.i64(to), 1, [&](Value partial) {
    SmallVector<SmallVector<SmallVector<Index>>> places(rows.size());
    for (auto [sum, mine] : llvm::enumerate(places))
      for (int64_t row = 0; row < rows[sum]; ++row) {
        Value number = l.add(partial, l.i64(static_cast<int64_t>(sum) * ends));
        moveTo(l.add(l.mul(l.add(k, l.i64(row)), l.i64(partials)), number));
        mine.push_back(at);
      }
    eachStrip([&](Value strip) {
      for (auto &mine : places)
        for (SmallVector<Index> &row : mine)
          row[lastInside] = at[lastInside];
      if (isArgument(op))
        return takeBest(k, places[0], strip, begins);
      SmallVector<LaneValue> sums;
      for (auto [sum, mine] : llvm::enumerate(places)) {
        Value number = l.add(partial, l.i64(static_cast<int64_t>(sum) * ends));
        LaneValue all = begins && !isSum ? neutral(l, kind, element) : LaneValue();
        if (!begins)
          all = sofarAt(roomOf(number, strip));
        for (SmallVector<Index> &row : mine) {
          LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), row), element);
          if (!all.value) // of a sum: the tree adds 0
            all = value;
          else
            all = adds ? l.binary(BinaryKind::add, all, value) : withElement(site, op, all, value);
        }
        sums.push_back(all);
      }
      LaneValue all = sums.size() > 1 ? l.binary(BinaryKind::add, sums[0], sums[1]) : sums[0];
      m.storePlain(l.splat(all.value), roomOf(partial, strip));
    });
  });
}

void RowReduction::addAllRows() {
  if (last > 0)
    addRows(l.i64(0), 0, partials, {rowsTogether}, true);
  if (last > rowsTogether)
    forLoop(site, l.i64(rowsTogether), l.i64(last), rowsTogether,
            [&](Value k) { addRows(k, 0, partials, {rowsTogether}, false); });
  if (!isSum)
    return addRows(l.i64(last), 0, 1, {whole - last}, last == 0);
  overHalves(count - last * partials, [&](int64_t from, int64_t to, int64_t low, int64_t high) {
    addRows(l.i64(last), from, to, {low, high}, last == 0);
  });
}

/// Stores what the rows have given for a strip.
void RowReduction::finish(Value strip) {
  SmallVector<Index> place(out.getRank());
  for (auto [index, axis] : llvm::zip(place, axes.kept))
    index = at[axis];
  if (isArgument(op)) {
    Value number = m.loadPlain(l.splat(l.i32(0)).getType(), numbersOf(strip));
    return m.store(to, place,
                   l.cast(CastMode::value, l.wrap(number, b.getI32Type()), out.getElementType()));
  }
  LaneValue all = isSum
                      ? treeOfPartials(
                            l, element, ends,
                            [&](int64_t lane) { return sofarAt(roomOf(l.i64(lane), strip)); }, ends)
                      : sofarAt(roomOf(l.i64(0), strip));
  if (isExtreme(op))
    all = resolveInLoops(site, op, all, at, axes.over, extentsOver(site, op, axes.over));
  m.store(to, place, l.cast(CastMode::value, all, out.getElementType()));
}

LogicalResult penstock::conversion::reduceByRows(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t inRun = reductionOf(op).getRun();
  if (failed(checkRun(site, op, ArrayRef(ReducedAxes(op).kept).take_back(inRun))))
    return failure();
  auto result = wholeBuffer(site, op.getResult(), /*aligned=*/true);
  if (failed(result))
    return failure();
  const Site wide = site.withLanes(reductionOf(op).getLanes());
  RowReduction r{wide, op, isArgument(op) ? worstRank(l, rowElement(op)) : LaneValue()};
  Strips &strips = r.strips;
  r.to = *result;
  const bool aside = axesInRun(r.out, r.to) < inRun; // an output's outermost axis may lie anywhere
  if (aside) {
    auto dense = scratchBuffer(site, op.getResult());
    if (failed(dense))
      return failure();
    r.to = *dense;
  }
  for (const Axis &axis : r.out.getAxes().take_back(inRun))
    strips.extent *= axis.extent;
  const int64_t bytes = r.inMemory * r.step + r.numbers,
                most = (strips.count() * bytes <= roomOfWholeRow ? roomOfWholeRow : roomOfRows) /
                       bytes,
                blocks = (strips.count() + most - 1) / most;
  strips.together = (strips.count() + blocks - 1) / blocks;
  auto room = scratchBytes(site, strips.together * bytes, {});
  if (failed(room))
    return failure();
  r.room = *room;
  SmallVector<int64_t> others(ArrayRef(r.axes.kept).drop_back(inRun)),
      inside(ArrayRef(r.axes.kept).take_back(inRun));
  r.lastInside = inside.back();
  carriedNest(b, l, extentsOver(site, op, others), {}, [&](ArrayRef<Value> where, ValueRange) {
    r.at.assign(r.in.getRank(), Index());
    for (int64_t axis : inside)
      r.at[axis] = m.constant(0);
    for (auto [axis, index] : llvm::zip(others, where))
      r.at[axis] = m.uniform(index);
    forLoop(site, l.i64(0), l.i64(strips.count()), strips.together, [&](Value first) {
      r.first = first;
      r.end = l.add(first, l.i64(strips.together));
      if (strips.count() % strips.together)
        r.end = l.minS(r.end, l.i64(strips.count()));
      r.addAllRows();
      r.eachStrip([&](Value strip) { r.finish(strip); });
    });
    return SmallVector<Value>{};
  });
  if (aside)
    copyTensor(site, op.getResult(), r.to, *result);
  ctx.buffers[op.getResult()] = *result;
  return success();
}
