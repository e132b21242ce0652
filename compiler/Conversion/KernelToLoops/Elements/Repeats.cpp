// SPDX-License-Identifier: Apache-2.0
//
// Loops that carry tensors.
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/KernelBody.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Returns whether all arms around the builder's place are the chosen ones; null where
/// there are none.
static Value isTaken(const Site &site) {
  auto [ctx, b, l, m] = site.parts();
  Value all;
  for (const Arm &arm : site.arms) {
    if (arm.count == 1)
      continue;
    // Indices outside are clamped.
    const auto predicate = arm.number == 0               ? CmpIPredicate::sle
                           : arm.number + 1 == arm.count ? CmpIPredicate::sge
                                                         : CmpIPredicate::eq;
    Value here = l.cmp(predicate, arm.index, l.i64(arm.number));
    all = all ? l.andInt(all, here) : here;
  }
  return all;
}

/// Two buffers for each tensor: the first of both, and the pointers of both, the one to read first.
static FailureOr<std::pair<SmallVector<Buffer>, SmallVector<Value>>> copiesOf(const Site &site,
                                                                              RepeatOp op) {
  SmallVector<Buffer> copies;
  SmallVector<Value> pointers;
  for (auto [init, result] : llvm::zip(op.getInits(), op.getResults())) {
    if (!holdsTensor(init))
      continue;
    for (int copy = 0; copy < 2; ++copy) {
      auto buffer = scratchBuffer(site, result);
      if (failed(buffer))
        return failure();
      pointers.push_back(buffer->pointer);
      if (copy == 0)
        copies.push_back(*buffer);
    }
  }
  return std::pair(copies, pointers);
}

/// Binds results or arguments to what the state `now` holds: pointers of both copies of each
/// tensor, then scalars.
static void bind(const Site &site, ValueRange values, ValueRange now, ArrayRef<Buffer> copies) {
  size_t tensor = 0, number = 2 * copies.size();
  for (Value value : values) {
    if (!holdsTensor(value)) {
      site.ctx.scalars[value] = site.m.l.wrap(now[number++], value.getType());
      continue;
    }
    Buffer buffer = copies[tensor];
    buffer.pointer = now[2 * tensor++];
    site.ctx.buffers[value] = buffer;
  }
}

/// A loop that carries tensors: stores the first ones, then runs. In an arm
/// that is not taken it does nothing.
LogicalResult penstock::conversion::materialiseRepeat(const Site &site, RepeatOp op) {
  auto [ctx, b, l, m] = site.parts();
  Block &body = op.getBody().front();
  auto two = copiesOf(site, op);
  if (failed(two))
    return failure();
  auto &[copies, pointers] = *two;
  SmallVector<Value> state = pointers;
  for (Value init : op.getInits())
    if (!holdsTensor(init))
      state.push_back(scalarOf(site, init).value);
  auto pointed = [&](Value pointer, size_t tensor) {
    Buffer buffer = copies[tensor];
    buffer.pointer = pointer;
    return buffer;
  };
  auto store = [&](const Site &site, Value value, Value result, const Buffer &to) {
    const bool isPoint = typeOf(result).getRank() == 0;
    storeTensor(site, value, to, shapeOf(result), l.i64(0),
                isPoint ? l.i64(1) : extent(site, result, 0));
  };
  LogicalResult done = success();
  auto iteration = [&](const Site &around, Value number, ValueRange now) {
    const Site inside = around.withOp(op.getLoc(), b.getInsertionBlock());
    ctx.scalars[body.getArgument(0)] = l.wrap(number, b.getI64Type());
    bind(site, body.getArguments().drop_front(), now, copies);
    for (Operation &inner : body.without_terminator())
      if (failed(emitTopLevel(inside, inner)))
        done = failure();
    SmallVector<Value> next, scalarsLast;
    size_t tensor = 0;
    for (auto [value, result] : llvm::zip(body.getTerminator()->getOperands(), op.getResults())) {
      if (!holdsTensor(value)) {
        scalarsLast.push_back(scalarOf(site, value).value);
        continue;
      }
      store(inside, value, result, pointed(now[2 * tensor + 1], tensor));
      next.append({now[2 * tensor + 1], now[2 * tensor]});
      ++tensor;
    }
    next.append(scalarsLast);
    return next;
  };
  // Scratch memory of the iterations is not read after them.
  Value used = ctx.scratchUsed;
  auto all = [&](const Site &site) -> SmallVector<Value> {
    size_t tensor = 0;
    for (auto [init, result] : llvm::zip(op.getInits(), op.getResults()))
      if (holdsTensor(init)) {
        store(site, init, result, pointed(pointers[2 * tensor], tensor));
        ++tensor;
      }
    Value count =
        l.minS(l.maxS(scalarOf(site, op.getCount()).value, l.i64(0)), l.i64(op.getBound()));
    return carryLoop(site, l.i64(0), count, state,
                     [&](Value number, ValueRange now) { return iteration(site, number, now); });
  };
  SmallVector<Value> last;
  if (Value taken = isTaken(site)) {
    auto branchOp = b.create<scf::IfOp>(l.loc, ValueRange(state).getTypes(), taken, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branchOp.thenBlock());
    Site inside = site;
    inside.arms.clear();
    b.create<scf::YieldOp>(l.loc, all(inside));
    b.setInsertionPointToStart(branchOp.elseBlock());
    b.create<scf::YieldOp>(l.loc, state);
    last.assign(branchOp.result_begin(), branchOp.result_end());
  } else {
    last = all(site);
  }
  ctx.scratchUsed = used;
  bind(site, op.getResults(), last, copies);
  return done;
}
