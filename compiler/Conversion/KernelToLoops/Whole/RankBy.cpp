// SPDX-License-Identifier: Apache-2.0
//
// Places within groups.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Numbers.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// A counter for each group. There are no more groups than elements.
static LogicalResult emitRankBy(const Site &site, RankByOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto buffer = bufferFor(site, op.getResult());
  auto list = scratchBytes(site, 8, {{op.getGroup(), 0}});
  if (failed(buffer) || failed(list))
    return failure();
  const Numbers counts{l, m, *list};
  Type i64 = b.getI64Type();
  Value size = extent(site, op.getGroup(), 0), zero = l.i64(0);
  forLoop(site, zero, size, 1, [&](Value i) { counts.write(i, zero); });
  forLoop(site, zero, size, 1, [&](Value i) {
    ctx.elements.clear();
    Value group = emit(site, op.getGroup(), {m.uniform(i)}).value;
    Value inside =
        l.andInt(l.cmp(CmpIPredicate::sge, group, zero), l.cmp(CmpIPredicate::slt, group, size));
    auto choice = b.create<scf::IfOp>(l.loc, TypeRange{i64}, inside, true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(choice.thenBlock());
      Value count = counts.read(group);
      counts.write(group, l.add(count, l.i64(1)));
      b.create<scf::YieldOp>(l.loc, count);
      b.setInsertionPointToStart(choice.elseBlock());
      b.create<scf::YieldOp>(l.loc, l.i64(-1));
    }
    m.store(*buffer, {m.uniform(i)}, l.wrap(choice.getResult(0), i64));
  });
  return success();
}

namespace penstock::conversion {
void registerRankBy(WholeOps &all);
}
void penstock::conversion::registerRankBy(WholeOps &all) { all.add<RankByOp>(emitRankBy); }
