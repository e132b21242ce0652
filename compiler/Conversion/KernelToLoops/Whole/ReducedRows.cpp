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
#include "compiler/Dialect/RowStreams.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

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

LogicalResult penstock::conversion::prepareReducedRows(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto [stored, inRow] = storedByRows(op);
  SmallVector<int64_t> row;
  for (const Axis &axis : typeOf(op.getResult()).getAxes().take_back(inRow))
    row.push_back(typeOf(op.getValue()).axisIndex(axis.name));
  if (failed(checkRun(site, op, row)))
    return failure();
  NamedTensorType type = typeOf(op.getResult());
  const auto bytes = rowBytes(type, inRow);
  const int64_t first = type.getRank() - inRow,
                rows = bytes ? std::clamp<int64_t>(bytesAhead / std::max<int64_t>(*bytes, 1), 1,
                                                   mostRowsAhead)
                             : 1;
  Buffer buffer = rowOf(l, type, inRow);
  auto room = rows > 1 ? scratchBytes(site, *bytes * rows, {})
                       : scratchBytes(site, *buffer.known[first], {{op.getResult(), first}});
  if (failed(room))
    return failure();
  buffer.pointer = *room;
  ctx.buffers[op.getResult()] = buffer;
  ctx.reducedRows[stored].push_back({op, *room, bytes.value_or(0), rows});
  return success();
}

/// Rows that may be made before `stored` reads the first of them.
int64_t penstock::conversion::reducedRowsAhead(const Site &site, Value stored) {
  auto [ctx, b, l, m] = site.parts();
  int64_t rows = mostRowsAhead;
  for (ReducedRows one : ctx.reducedRows.lookup(stored))
    rows = std::min({rows, one.together, reducedRowsAhead(site, one.op.getResult())});
  return rows;
}

static void appendRows(const Site &site, Value stored, LocalBuffers &rows) {
  for (ReducedRows one : site.ctx.reducedRows.lookup(stored)) {
    rows.buffers.push_back({one.op.getResult(), site.ctx.buffers.lookup(one.op.getResult())});
    appendRows(site, one.op.getResult(), rows);
  }
}

LocalBuffers penstock::conversion::reducedRowsOf(const Site &site, Value stored) {
  LocalBuffers rows{{}, site.local};
  appendRows(site, stored, rows);
  return rows;
}

static Buffer &rowIn(LocalBuffers &rows, Value tensor) {
  return *llvm::find_if(rows.buffers, [&](auto &row) { return row.first == tensor; })->second;
}

void penstock::conversion::moveToReducedRows(const Site &site, Value stored, Value number,
                                             LocalBuffers &rows) {
  auto [ctx, b, l, m] = site.parts();
  for (ReducedRows one : ctx.reducedRows.lookup(stored)) {
    rowIn(rows, one.op.getResult()).pointer = m.address(one.room, l.mul(number, l.i64(one.bytes)));
    moveToReducedRows(site, one.op.getResult(), number, rows);
  }
}

static void storeReducedRow(const Site &site, ReduceOp op, Buffer &row, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  std::optional<Interval> written;
  Site storing = site;
  storing.written = &written;
  NamedTensorType type = typeOf(op.getResult());
  const int64_t last = type.getRank() - 1;
  const LoopShape shape{last, -1, reductionOf(op).getLanes()};
  if (*row.known[last - 1]) { // pixels
    SmallVector<Index> here(at);
    here[last - 1] = m.constant(0);
    const int64_t elements = type.getAxes()[last - 1].extent * type.getAxes()[last].extent;
    overLanes(storing, l.i64(0), l.i64(elements), shape.lanes, [&](const Site &lanes, Index index) {
      here[last] = index;
      storeLanes(lanes, Stored{op.getResult(), row}, shape, here);
    });
  } else {
    storeRow(storing, Stored{op.getResult(), row}, shape, at, l.i64(0),
             extent(site, op.getResult(), last));
  }
  noteWritten(written, row);
}

void penstock::conversion::storeReducedRows(const Site &site, Value stored, ArrayRef<Index> at,
                                            LocalBuffers &rows) {
  for (ReducedRows one : site.ctx.reducedRows.lookup(stored)) {
    ReduceOp op = one.op;
    storeReducedRows(site, op.getResult(), at, rows);
    const LocalBuffers making{{{op.getResult(), std::nullopt}}, &rows}; // else it would be read
    Site inRow = site;
    inRow.local = &making;
    storeReducedRow(inRow, op, rowIn(rows, op.getResult()), at);
  }
}
