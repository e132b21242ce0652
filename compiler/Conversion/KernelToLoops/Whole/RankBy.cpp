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

/// A counter for each group. Most often there are far fewer groups than elements, and never more:
/// counters are cleared when a group is met that is beyond those that are, some at once.
static LogicalResult emitRankBy(const Site &site, RankByOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto buffer = bufferFor(site, op.getResult());
  auto list = scratchBytes(site, 8, {{op.getGroup(), 0}});
  if (failed(buffer) || failed(list))
    return failure();
  const Numbers counts{l, m, *list};
  Type i64 = b.getI64Type();
  Value size = extent(site, op.getGroup(), 0), zero = l.i64(0), one = l.i64(1);
  carryLoop(site, zero, size, {zero}, [&](Value i, ValueRange cleared) {
    ctx.elements.clear();
    Value group = emit(site, op.getGroup(), {m.uniform(i)}).value;
    Value inside =
        l.andInt(l.cmp(CmpIPredicate::sge, group, zero), l.cmp(CmpIPredicate::slt, group, size));
    auto choice = b.create<scf::IfOp>(l.loc, TypeRange{i64, i64}, inside, true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(choice.thenBlock());
      Value isNew = l.cmp(CmpIPredicate::sge, group, cleared[0]);
      Value next = l.pick(isNew, l.minS(l.add(group, l.i64(1024)), size), cleared[0]);
      forLoop(site, cleared[0], next, 1, [&](Value j) { counts.write(j, zero); });
      Value count = counts.read(group);
      counts.write(group, l.add(count, one));
      b.create<scf::YieldOp>(l.loc, ValueRange{count, next});
      b.setInsertionPointToStart(choice.elseBlock());
      b.create<scf::YieldOp>(l.loc, ValueRange{l.i64(-1), cleared[0]});
    }
    m.store(*buffer, {m.uniform(i)}, l.wrap(choice.getResult(0), i64));
    return SmallVector<Value>{choice.getResult(1)};
  });
  return success();
}

namespace penstock::conversion {
void registerRankBy(WholeOps &all);
}
void penstock::conversion::registerRankBy(WholeOps &all) { all.add<RankByOp>(emitRankBy); }
