// SPDX-License-Identifier: Apache-2.0
//
// Rows of a tile, some at a time: as many as those fit that they read.
#include "compiler/Conversion/KernelToGpu/GpuCopies.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static GpuPart partOf(const GpuSite &site, const GpuPart &part, int64_t rowAxis, RowRange rows) {
  GpuPart now = part;
  now.low[rowAxis] = rows.low;
  now.count[rowAxis] = site.x.sub(rows.high, rows.low);
  return now;
}

/// Returns whether the number of rows tells how many fit, `reads.together`: as many are copied.
bool GpuCopies::isTogether(const GpuSite &site, const Reads &reads, Value value, int64_t rowAxis,
                           const GpuPart &part) const {
  return reads.together &&
         layOutRows(site, reads, value, part).front().count[0] == part.count[rowAxis];
}

void GpuCopies::fill(const GpuSite &site, Value value, int64_t rowAxis, const GpuPart &part,
                     const GpuBuffer &to) const {
  auto [ctx, b, x, s] = site.parts();
  auto found = readBy.find(value);
  if (found == readBy.end())
    return conversion::fill(site, value, to, part);
  const Reads &reads = found->second;
  if (reads.rows.empty())
    return fillSome(site, reads, {}, value, part, to);
  Held columns = columnsOf(site, value, part);
  auto hold = [&] {
    return columns && isHeld(site, *columns) && holdTaps(site.of(value), *columns, to);
  };
  const RowRange all{part.low[rowAxis], x.add(part.low[rowAxis], part.count[rowAxis])};
  if (isTogether(site, reads, value, rowAxis, part)) {
    Value isSome = x.compare(arith::CmpIPredicate::sgt, reads.together, x.constant(0));
    auto op = b.create<scf::IfOp>(site.loc, isSome, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    {
      IndexMath::Scope scope(x);
      b.setInsertionPointToStart(op.thenBlock());
      hold(); // no row is stored before a barrier behind the first copies
      Value rows = part.count[rowAxis];
      auto steps = b.create<scf::ForOp>(site.loc, x.constant(0), rows, reads.together);
      IndexMath::Scope inStep(x);
      b.setInsertionPoint(steps.getBody()->getTerminator());
      Value done = steps.getInductionVar(), count = x.min(x.sub(rows, done), reads.together);
      GpuPart now = part;
      now.low[rowAxis] = x.add(all.low, done);
      now.count[rowAxis] = count;
      fillFromCopies(site, reads, columns, value, now, to);
    }
    IndexMath::Scope scope(x);
    b.setInsertionPointToStart(op.elseBlock());
    return conversion::fill(site, value, to, part);
  }
  if (hold())
    barrier(site); // rows go where the taps were
  auto endOf = [&](RowRange rows) {
    return layOutRows(site, reads, value, partOf(site, part, rowAxis, rows)).back().end;
  };
  // All at once where a single row does not fit.
  auto isDone = [&](RowRange rows) -> Value {
    Value alone = endOf({rows.low, x.add(rows.low, x.constant(1))});
    return b.create<arith::OrIOp>(site.loc, fits(site, endOf(rows)),
                                  x.compare(arith::CmpIPredicate::sgt, alone, x.constant(room)));
  };
  inSteps(site, all, isDone, [&](RowRange now) {
    fillSome(site, reads, columns, value, partOf(site, part, rowAxis, now), to);
  });
}

/// From copies, which are made here unless they are tables.
void GpuCopies::fillFromCopies(const GpuSite &site, const Reads &reads, const Held &columns,
                               Value value, const GpuPart &part, const GpuBuffer &to) const {
  const SmallVector<Copy> copies = layOutRows(site, reads, value, part);
  GpuBuffers copied = *site.tile;
  GpuSite inCopy = site;
  inCopy.tile = &copied;
  for (auto &[input, buffer] : reads.tables)
    copied[input] = buffer;
  for (const Copy &one : copies) {
    copied[one.input] = place(site, one);
    copyInto(site, one, copied[one.input]);
  }
  if (!copies.empty())
    barrier(site); // for whoever reads the copies
  auto byElements = [&] { conversion::fill(inCopy, value, to, part); };
  if (!columns || !fillColumns(inCopy.of(value), *columns, to, part, byElements)) {
    for (Value input : reads.ofManyTaps)
      copied.erase(input);
    byElements();
  }
  if (!copies.empty())
    barrier(site); // the next ones go where these were
}

/// From copies where they fit.
void GpuCopies::fillSome(const GpuSite &site, const Reads &reads, const Held &columns, Value value,
                         const GpuPart &part, const GpuBuffer &to) const {
  auto [ctx, b, x, s] = site.parts();
  const SmallVector<Copy> copies = layOutRows(site, reads, value, part);
  auto fromCopies = [&] { fillFromCopies(site, reads, columns, value, part, to); };
  Value doFit = fits(site, copies.empty() ? tablesEnd : copies.back().end);
  if (auto known = IndexMath::constantOf(doFit))
    return *known ? fromCopies() : conversion::fill(site, value, to, part);
  auto op = b.create<scf::IfOp>(site.loc, doFit, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  {
    IndexMath::Scope scope(x);
    b.setInsertionPointToStart(op.thenBlock());
    fromCopies();
  }
  IndexMath::Scope scope(x);
  b.setInsertionPointToStart(op.elseBlock());
  conversion::fill(site, value, to, part);
}
