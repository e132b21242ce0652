// SPDX-License-Identifier: Apache-2.0
//
// How often each number occurs.
//
// Neighbours take turns among several tables (`#schedule.histogram`), which are added up at
// the end, and the channels of a pixel, whose tables are others anyway, are unrolled.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Counts the element at `from`, in `table`.
static void count(const Site &site, HistogramOp op, const Buffer &table, ArrayRef<Index> from,
                  Value bins) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  SmallVector<Index> to(out.getRank());
  for (auto [axis, index] : llvm::enumerate(from))
    if (const int64_t place = out.axisIndex(in.getAxes()[axis].name); place >= 0)
      to[place] = index;
  LaneValue bin = l.cast(CastMode::value, emit(site, op.getValue(), from), b.getI64Type());
  Value counted = l.andInt(l.cmp(CmpIPredicate::sge, bin.value, l.i64(0)),
                           l.cmp(CmpIPredicate::slt, bin.value, bins));
  auto branchOp = b.create<scf::IfOp>(l.loc, counted, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branchOp.thenBlock());
  to.back() = m.uniform(bin.value);
  m.store(table, to,
          l.binary(BinaryKind::add, m.load(table, to), l.constant(b.getI32IntegerAttr(1))));
}

static LogicalResult emitHistogram(const Site &site, HistogramOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  SmallVector<Buffer> tables;
  for (int64_t i = 0; i < histogramOf(op).getTables(); ++i) {
    auto table = i == 0 ? bufferFor(site, op.getResult()) : scratchBuffer(site, op.getResult());
    if (failed(table))
      return failure();
    tables.push_back(*table);
  }
  SmallVector<Value> rows;
  for (int64_t axis = 0; axis + 1 < out.getRank(); ++axis)
    rows.push_back(extent(site, op.getResult(), axis));
  const Axis &binAxis = out.getAxes().back();
  Value bins = extent(site, op.getResult(), out.getRank() - 1);
  const int64_t fitting = l.has.lanesOf(scalarBytes(out.getElementType()));
  const int64_t lanes = binAxis.isStatic() && binAxis.extent % fitting == 0 ? fitting : 1;
  auto forCounts = [&](llvm::function_ref<void(const Site &, ArrayRef<Index>)> body) {
    carriedNest(b, l, rows, {}, [&](ArrayRef<Value> where, ValueRange) {
      forLoop(site, l.i64(0), bins, lanes, [&](Value bin) {
        SmallVector<Index> at(
            llvm::map_range(where, [&](Value index) { return m.uniform(index); }));
        at.push_back({bin, lanes > 1, {}, {}});
        body(site.withLanes(lanes), at);
      });
      return SmallVector<Value>{};
    });
  };
  forCounts([&](const Site &lanes, ArrayRef<Index> at) {
    auto [ctx, b, l, m] = lanes.parts();
    for (const Buffer &table : tables)
      m.store(table, at, l.constant(b.getI32IntegerAttr(0)));
  });
  const int64_t rank = in.getRank();
  if (rank == 0) {
    count(site, op, tables[0], {}, bins);
    return success();
  }
  const bool hasPixels =
      rank > 1 && in.getAxes().back().isStatic() && in.getAxes().back().extent <= unrollBound;
  const int64_t channels = hasPixels ? in.getAxes().back().extent : 1,
                along = rank - (hasPixels ? 2 : 1);
  SmallVector<Value> outer;
  for (int64_t axis = 0; axis < along; ++axis)
    outer.push_back(extent(site, op.getValue(), axis));
  carriedNest(b, l, outer, {}, [&](ArrayRef<Value> where, ValueRange) {
    auto countPixel = [&](Value index, const Buffer &table) {
      SmallVector<Index> from(
          llvm::map_range(where, [&](Value outside) { return m.uniform(outside); }));
      from.push_back(m.uniform(index));
      for (int64_t channel = 0; channel < channels; ++channel) {
        if (hasPixels) {
          from.truncate(along + 1);
          from.push_back(m.constant(channel));
        }
        count(site, op, table, from, bins);
      }
    };
    Value size = extent(site, op.getValue(), along), turns = l.i64(0);
    const int64_t each = static_cast<int64_t>(tables.size());
    if (each > 1) {
      turns = l.i64(in.getAxes()[along].extent / each * each);
      forLoop(site, l.i64(0), turns, each, [&](Value index) {
        for (auto [i, table] : llvm::enumerate(tables))
          countPixel(l.add(index, l.i64(static_cast<int64_t>(i))), table);
      });
    }
    forLoop(site, turns, size, 1, [&](Value index) { countPixel(index, tables[0]); });
    return SmallVector<Value>{};
  });
  if (tables.size() > 1)
    forCounts([&](const Site &lanes, ArrayRef<Index> at) {
      auto [ctx, b, l, m] = lanes.parts();
      LaneValue sum = m.load(tables[0], at);
      for (const Buffer &table : ArrayRef(tables).drop_front())
        sum = l.binary(BinaryKind::add, sum, m.load(table, at));
      m.store(tables[0], at, sum);
    });
  return success();
}

namespace penstock::conversion {
void registerHistogram(WholeOps &all);
}
void penstock::conversion::registerHistogram(WholeOps &all) { all.add<HistogramOp>(emitHistogram); }
