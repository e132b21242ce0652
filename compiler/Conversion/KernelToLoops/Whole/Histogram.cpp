// SPDX-License-Identifier: Apache-2.0
//
// How often each number occurs.
//
// Neighbours take turns among several tables, and the channels of a pixel, whose tables are others
// anyway, are unrolled.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Turns.h"
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
  NamedTensorType in = typeOf(op.getValue());
  auto tables = Turns::of(site, op);
  if (failed(tables))
    return failure();
  tables->clear(0);
  Value bins = extent(site, op.getResult(), typeOf(op.getResult()).getRank() - 1);
  const int64_t rank = in.getRank();
  if (rank == 0) {
    count(site, op, tables->first(), {}, bins);
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
    tables->forEach(l.i64(0), extent(site, op.getValue(), along), in.getAxes()[along].extent,
                    countPixel);
    return SmallVector<Value>{};
  });
  tables->addUp();
  return success();
}

namespace penstock::conversion {
void registerHistogram(WholeOps &all);
}
void penstock::conversion::registerHistogram(WholeOps &all) { all.add<HistogramOp>(emitHistogram); }
