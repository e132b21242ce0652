// SPDX-License-Identifier: Apache-2.0
//
// Loops.
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

Value penstock::conversion::forLoop(const Site &site, Value low, Value high, int64_t step,
                                    llvm::function_ref<void(Value)> body) {
  auto [ctx, b, l, m] = site.parts();
  auto loop = b.create<scf::ForOp>(l.loc, low, high, l.i64(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
  return {};
}

SmallVector<Value>
penstock::conversion::carryLoop(const Site &site, Value low, Value high, ValueRange inits,
                                llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto [ctx, b, l, m] = site.parts();
  auto loop = b.create<scf::ForOp>(l.loc, low, high, l.i64(1), inits);
  OpBuilder::InsertionGuard guard(b);
  Block *block = loop.getBody();
  if (!block->empty()) // a loop without carried values comes with its end
    block->back().erase();
  b.setInsertionPointToEnd(block);
  b.create<scf::YieldOp>(l.loc, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

void penstock::conversion::overLanes(const Site &site, Value from, Value size, int64_t lanes,
                                     llvm::function_ref<void(const Site &, Index)> use, Tail tail) {
  auto [ctx, b, l, m] = site.parts();
  auto known = Lanes::constantOf(size);
  const bool fromZero = Lanes::constantOf(from) == 0;
  auto body = [&](int64_t count, Value index) {
    use(site.withLanes(count), {index, count == 1 ? 0 : 1, {}, {}});
  };
  if (known && fromZero) {
    while (lanes > *known)
      lanes /= 2;
    if (lanes < 2) {
      forLoop(site, from, size, 1, [&](Value i) { body(1, i); });
      return;
    }
    if (lanes == *known)
      return body(lanes, from);
    if (tail == Tail::single && *known % lanes) {
      Value whole = l.i64(*known - *known % lanes);
      forLoop(site, from, whole, lanes, [&](Value i) { body(lanes, i); });
      forLoop(site, whole, size, 1, [&](Value i) { body(1, i); });
      return;
    }
    const int64_t rest = *known % lanes;
    if (tail == Tail::narrow && rest) {
      forLoop(site, from, l.i64(*known - rest), lanes, [&](Value i) { body(lanes, i); });
      while (lanes / 2 >= rest && lanes > 4)
        lanes /= 2;
      return body(lanes, l.i64(*known - lanes));
    }
    // The last vector overlaps the one before it: everything is pure, so
    // elements may be computed twice.
    forLoop(site, from, size, lanes,
            [&](Value i) { body(lanes, rest ? l.minS(i, l.i64(*known - lanes)) : i); });
    return;
  }
  if (tail == Tail::single) {
    Value rest = l.remS(l.maxS(l.sub(size, from), l.i64(0)), l.i64(lanes));
    Value whole = l.sub(size, rest);
    forLoop(site, from, whole, lanes, [&](Value i) { body(lanes, i); });
    forLoop(site, whole, size, 1, [&](Value i) { body(1, i); });
    return;
  }
  Value enough = l.cmp(CmpIPredicate::sge, l.sub(size, from), l.i64(lanes));
  auto choice = b.create<scf::IfOp>(l.loc, enough, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Value last = l.sub(size, l.i64(lanes));
  forLoop(site, from, size, lanes, [&](Value i) { body(lanes, l.minS(i, last)); });
  b.setInsertionPointToStart(choice.elseBlock());
  forLoop(site, from, size, 1, [&](Value i) { body(1, i); });
}
