// SPDX-License-Identifier: Apache-2.0
//
// A row that is reduced when it is read.
//
// Rows first and columns after that are two reductions. Stored as a whole, what the first one
// gives goes through the second cache; here a row of it is computed when the second one comes
// to that row, into the same room each time. The row is a buffer whose outer axes do not count.
// Short rows are made some at a time: a vector that reads what two stores have just written waits
// for them.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// The only op that reads `value`; null for several.
static Operation *onlyReader(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

namespace {
/// What is stored where rows of a reduction are read, and how many of its last axes are a row.
struct StoredByRows {
  Value stored;
  int64_t inRow = 1;
};
} // namespace

/// What is stored where rows of `op` are read, all at their own outer indices: the
/// reduction or
/// view that reads them, or what is computed of its elements alone. Null where they are read
/// otherwise.
static StoredByRows storedByRows(ReduceOp op) {
  auto rows = llvm::cast<NamedTensorType>(op.getResult().getType());
  auto view = llvm::dyn_cast_if_present<ViewOp>(onlyReader(op.getResult()));
  if (!view || rows.getRank() < 2)
    return {};
  auto reader = llvm::dyn_cast_if_present<ReduceOp>(onlyReader(view.getResult()));
  auto axes =
      llvm::cast<NamedTensorType>((reader ? reader.getResult() : view.getResult()).getType())
          .getAxes();
  auto read = llvm::cast<NamedTensorType>(view.getResult().getType()).getAxes();
  if (axes.size() != rows.getAxes().size() || axes != read.take_front(axes.size()))
    return {};
  auto isSame = [&](int64_t axis) {
    return rows.getAxes()[axis] == axes[axis] &&
           view.getMap().getResult(static_cast<unsigned>(axis)) ==
               getAffineDimExpr(static_cast<unsigned>(axis), op.getContext());
  };
  // Channels that stay are part of the row.
  const int64_t rank = rows.getRank(),
                inRow = rank > 2 && rows.isStatic() && isSame(rank - 1) ? 2 : 1;
  for (int64_t axis = 0; axis < rank - inRow; ++axis)
    if (!isSame(axis))
      return {};
  Value stored = reader ? reader.getResult() : view.getResult();
  if (reader && reader->getAttr("schedule") != StringAttr::get(op.getContext(), "inline"))
    return {stored, inRow};
  for (Operation *next = onlyReader(stored);; next = onlyReader(stored)) {
    if (llvm::isa_and_present<ReturnOp>(next))
      return {stored, inRow};
    if (inputAccessOf(next) != InputAccess::own ||
        llvm::cast<NamedTensorType>(next->getResult(0).getType()).getAxes() != axes)
      return {};
    stored = next->getResult(0);
    if (next->hasAttr("schedule"))
      return {stored, inRow};
  }
}

/// The room of a row: its outer axes do not count.
static Buffer rowOf(const Lanes &l, NamedTensorType type, int64_t inRow) {
  Buffer row;
  row.element = type.getElementType();
  int64_t bytes = scalarBytes(row.element);
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    const bool counts = axis >= type.getRank() - inRow;
    row.known.insert(row.known.begin(), counts ? bytes : 0);
    row.strides.insert(row.strides.begin(), l.i64(counts ? bytes : 0));
    bytes *= counts ? type.getAxes()[axis].extent : 1;
  }
  row.written = rangeOfType(row.element);
  row.written->quiet = true;
  row.roomy = true;
  return row;
}

/// Short rows that are made before the first of them is read; long ones are written by then.
static constexpr int64_t mostRowsAhead = 4;
static constexpr int64_t bytesAhead = 2048;

/// Bytes from row to row; null where they are not known.
static std::optional<int64_t> rowBytes(NamedTensorType type, int64_t inRow) {
  int64_t bytes = scalarBytes(type.getElementType());
  for (const Axis &axis : type.getAxes().take_back(inRow)) {
    if (!axis.isStatic())
      return std::nullopt;
    bytes *= axis.extent;
  }
  return static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(bytes), 64));
}

/// Returns whether `op` and what reads it go row by row. If so, it has a buffer without a place.
static bool goesByRows(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto [stored, inRow] = storedByRows(op);
  if (!stored || op->getBlock() != stored.getParentBlock())
    return false;
  NamedTensorType type = typeOf(op.getResult());
  const int64_t last = type.getRank() - 1;
  if (inRow == 1 ? laneAxisAcross(site, op) != last
                 : !isOneRun(site, op.getValue(),
                             {type.getAxes()[last - 1].name, type.getAxes()[last].name}))
    return false;
  ctx.buffers[op.getResult()] = rowOf(l, type, inRow);
  auto reduce = stored.getDefiningOp<ReduceOp>();
  const LoopShape shape = shapeOf(stored);
  bool fits = (reduce ? laneAxisAcross(site, reduce) : shape.laneAxis) == last;
  if (inRow == 2) {
    fits = reduce
               ? reduce->getAttr("schedule") == b.getStringAttr("ring") && goesByRows(site, reduce)
               : shape.laneAxis == last - 1 && shape.unrollAxis == last;
    if (fits && reduce)
      ctx.buffers.erase(stored); // its turn comes
  }
  if (!fits)
    ctx.buffers.erase(op.getResult());
  return fits;
}

/// False where rows are not read one after the other: they are stored then.
FailureOr<bool> penstock::conversion::prepareReducedRows(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  if (!goesByRows(site, op))
    return false;
  auto [stored, inRow] = storedByRows(op);
  NamedTensorType type = typeOf(op.getResult());
  const auto bytes = rowBytes(type, inRow);
  const int64_t first = type.getRank() - inRow,
                rows = bytes ? std::clamp<int64_t>(bytesAhead / std::max<int64_t>(*bytes, 1), 1,
                                                   mostRowsAhead)
                             : 1;
  auto room = rows > 1 ? scratchBytes(site, *bytes * rows, {})
                       : scratchBytes(site, *ctx.buffers[op.getResult()].known[first],
                                      {{op.getResult(), first}});
  if (failed(room))
    return failure();
  ctx.buffers[op.getResult()].pointer = *room;
  ctx.reducedRows[stored].push_back({op, *room, bytes.value_or(0), rows});
  return true;
}

/// Rows that may be made before `stored` reads the first of them.
int64_t penstock::conversion::reducedRowsAhead(const Site &site, Value stored) {
  auto [ctx, b, l, m] = site.parts();
  int64_t rows = mostRowsAhead;
  for (ReducedRows one : ctx.reducedRows.lookup(stored))
    rows = std::min({rows, one.together, reducedRowsAhead(site, one.op.getResult())});
  return rows;
}

/// From here on, what `stored` reads is row `number` of those that are made at a time.
void penstock::conversion::moveToReducedRow(const Site &site, Value stored, Value number) {
  auto [ctx, b, l, m] = site.parts();
  for (ReducedRows one : ctx.reducedRows.lookup(stored)) {
    ctx.buffers[one.op.getResult()].pointer = m.address(one.room, l.mul(number, l.i64(one.bytes)));
    moveToReducedRow(site, one.op.getResult(), number);
  }
}

/// The rows that `stored` reads where its outer axes have the indices `at`.
void penstock::conversion::storeReducedRows(const Site &site, Value stored, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  auto found = ctx.reducedRows.find(stored);
  if (found == ctx.reducedRows.end())
    return;
  for (ReducedRows &one : found->second) {
    ReduceOp op = one.op;
    storeReducedRows(site, op.getResult(), at);
    Buffer row = ctx.buffers.lookup(op.getResult());
    ctx.buffers.erase(op.getResult()); // else it would be read
    std::optional<Interval> written;
    Site storing = site;
    storing.written = &written;
    NamedTensorType type = typeOf(op.getResult());
    const int64_t last = type.getRank() - 1;
    LoopShape shape{last, -1,
                    lanesAcross(site, computeType(typeOf(op.getValue()).getElementType()))};
    // Twice as many share what follows a minimum or maximum, unless more of them overlap.
    if (const Axis &columns = type.getAxes()[last];
        isExtreme(op) && columns.isStatic() && columns.extent >= 2 * shape.lanes &&
        (columns.extent + shape.lanes - 1) / shape.lanes % 2 == 0)
      shape.lanes *= 2;
    if (*row.known[last - 1]) { // pixels
      SmallVector<Index> here(at);
      here[last - 1] = m.constant(0);
      const int64_t elements = type.getAxes()[last - 1].extent * type.getAxes()[last].extent;
      overLanes(storing, l.i64(0), l.i64(elements), shape.lanes,
                [&](const Site &lanes, Index index) {
                  here[last] = index;
                  storeLanes(lanes, op.getResult(), row, shape, here);
                });
    } else {
      storeRow(storing, op.getResult(), row, shape, at, l.i64(0),
               extent(site, op.getResult(), last));
    }
    noteWritten(written, row);
    ctx.buffers[op.getResult()] = row;
  }
}
