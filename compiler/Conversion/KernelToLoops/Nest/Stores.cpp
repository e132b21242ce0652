// SPDX-License-Identifier: Apache-2.0
//
// Rows and vectors that are stored.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static void storeVectors(const Site &site, ArrayRef<Stored> all, const LoopShape &shape,
                         ArrayRef<Index> at, Value low, Value high);

/// A row that a pad makes up holds no element of its input.
void penstock::conversion::storeRow(const Site &site, ArrayRef<Stored> all, const LoopShape &shape,
                                    ArrayRef<Index> at, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  llvm::MapVector<Operation *, PadRow> rows;
  if (shape.rows && shape.lanes > 1) {
    SmallVector<Index> any(at);
    for (int64_t axis : {shape.laneAxis, shape.unrollAxis})
      if (axis >= 0)
        any[axis] = {l.i64(0), 1, {}, {}};
    // What several read may be read in another row.
    for (const Stored &stored : all)
      if (all.size() == 1 || stored.tensor.hasOneUse())
        rowConditions(site.withLanes(shape.lanes), stored.tensor, any, rows);
  }
  if (rows.empty())
    return storeVectors(site, all, shape, at, low, high);
  Value exist;
  for (auto &[pad, row] : rows)
    exist = exist ? l.andInt(exist, row.exists) : row.exists;
  auto choice = b.create<scf::IfOp>(l.loc, exist, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  auto store = [&](const PadRows &known) {
    Site inRow = site;
    inRow.padRows = &known;
    storeVectors(inRow, all, shape, at, low, high);
  };
  PadRows existing, missing;
  for (auto &[pad, row] : rows)
    existing[pad] = row.axes;
  store(existing);
  b.setInsertionPointToStart(choice.elseBlock());
  if (rows.size() == 1)
    missing[rows.front().first] = std::nullopt;
  store(missing);
}

static void storeVectors(const Site &site, ArrayRef<Stored> all, const LoopShape &shape,
                         ArrayRef<Index> at, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t lane = shape.laneAxis;
  overLanes(
      site, lane == 0 ? low : l.i64(0), lane == 0 ? high : extent(site, all.front().tensor, lane),
      shape.lanes,
      [&](const Site &lanes, Index index) {
        SmallVector<Index> here(at);
        here[lane] = index;
        storeLanes(lanes, all, shape, here);
      },
      shape.tail);
}

void penstock::conversion::noteWritten(const std::optional<Interval> &written, Buffer &to) {
  // Of 16 bits, what is known is known before they are rounded.
  if (!written || to.element.isF16() || to.element.isBF16())
    return;
  to.written = written;
  to.written->quiet = true;
}

static void note(const Site &site, const LaneValue &value) {
  if (site.written)
    *site.written = *site.written ? hull(**site.written, value.range) : value.range;
}

/// Stores pixels, whose channels are made side by side.
static void storePixels(const Site &site, const Stored &stored, const LoopShape &shape,
                        SmallVector<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  const auto &[tensor, to] = stored;
  const int64_t count = typeOf(tensor).getAxes()[shape.unrollAxis].extent;
  const int64_t size = scalarBytes(to.element);
  const bool interleaved =
      l.lanes > 1 && to.known[shape.unrollAxis] == size && to.known[shape.laneAxis] == size * count;
  // Where channels share what they read, all are made before the first is stored: a
  // store in between might change it, as far as LLVM can tell. Otherwise each is
  // stored at once, which keeps fewer of them in registers.
  SmallVector<LaneValue> values;
  SmallVector<Operation *> lastOf; // of each value's operations
  bool readsShared = false;
  Site inChannel = site;
  inChannel.readsShared = &readsShared;
  for (int64_t c = 0; c < count; ++c) {
    at[shape.unrollAxis] = m.constant(c);
    inChannel.channel = c;
    values.push_back(emit(inChannel, tensor, at));
    note(site, values.back());
    lastOf.push_back(b.getInsertionPoint() == b.getInsertionBlock()->begin()
                         ? nullptr
                         : &*std::prev(b.getInsertionPoint()));
  }
  for (int64_t c = 0; c < count && !interleaved; ++c) {
    OpBuilder::InsertionGuard guard(b);
    if (!readsShared && lastOf[c])
      b.setInsertionPointAfter(lastOf[c]);
    at[shape.unrollAxis] = m.constant(c);
    m.store(to, at, values[c]);
  }
  if (interleaved) {
    at[shape.unrollAxis] = m.constant(0);
    m.storeInterleaved(to, at, values);
  }
}

void penstock::conversion::storeLanes(const Site &site, ArrayRef<Stored> all,
                                      const LoopShape &shape, ArrayRef<Index> at) {
  site.ctx.elements.clear();
  if (shape.unrollAxis >= 0) {
    for (const Stored &stored : all)
      storePixels(site, stored, shape, SmallVector<Index>(at));
    return;
  }
  // Each is made before the first is stored: what they share is read once.
  SmallVector<LaneValue> values;
  for (const Stored &stored : all) {
    values.push_back(emit(site, stored.tensor, at));
    note(site, values.back());
  }
  for (auto [stored, value] : llvm::zip(all, values))
    site.m.store(stored.to, at, value);
}
