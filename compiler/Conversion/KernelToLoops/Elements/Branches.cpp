// SPDX-License-Identifier: Apache-2.0
//
// Choices, loops and searches.
//
// Scalars are pure and total, so those of all arms may be computed. A choice
// between tensors is a branch around each read; a loop over tensors stores
// what it carries, twice: an iteration reads one copy and writes the other.
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

//===--- scalars -----------------------------------------------------------------===//

void penstock::conversion::emitChoose(const Site &site, ChooseOp op) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t arms = static_cast<int64_t>(op.getArms().size());
  Value index = scalarOf(site, op.getIndex()).value;
  auto yields = [&](Region &arm) {
    SmallVector<LaneValue> values;
    for (Value value : arm.front().getTerminator()->getOperands())
      values.push_back(scalarOf(site, value));
    return values;
  };
  // With lanes, all arms are computed and selected from: they are total.
  if (l.lanes > 1 || arms == 1) {
    SmallVector<LaneValue> result;
    for (int64_t arm = 0; arm < arms; ++arm) {
      emitBlock(site, op.getArms()[arm].front());
      SmallVector<LaneValue> values = yields(op.getArms()[arm]);
      if (arm == 0) {
        result = values;
        continue;
      }
      LaneValue taken =
          l.wrap(l.cmp(CmpIPredicate::sge, index, l.integerLike(index, arm)), b.getI1Type());
      for (auto [sofar, value] : llvm::zip(result, values))
        sofar = l.select(taken, value, sofar);
    }
    for (auto [value, computed] : llvm::zip(op.getResults(), result))
      ctx.scalars[value] = computed;
    return;
  }
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(registerType(type));
  std::function<SmallVector<Value>(int64_t)> from = [&](int64_t arm) -> SmallVector<Value> {
    auto values = [&](int64_t number) {
      emitBlock(site, op.getArms()[number].front());
      SmallVector<Value> plain;
      for (LaneValue value : yields(op.getArms()[number]))
        plain.push_back(value.value);
      return plain;
    };
    if (arm == arms - 1)
      return values(arm);
    Value here = l.cmp(CmpIPredicate::sle, index, l.i64(arm));
    auto branchOp = b.create<scf::IfOp>(l.loc, types, here, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branchOp.thenBlock());
    SmallVector<Value> taken = values(arm);
    b.create<scf::YieldOp>(l.loc, taken);
    b.setInsertionPointToStart(branchOp.elseBlock());
    SmallVector<Value> others = from(arm + 1);
    b.create<scf::YieldOp>(l.loc, others);
    return SmallVector<Value>(branchOp.getResults());
  };
  SmallVector<Value> results = from(0);
  for (auto [value, plain] : llvm::zip(op.getResults(), results))
    ctx.scalars[value] = l.wrap(plain, value.getType());
}

void penstock::conversion::emitRepeat(const Site &site, RepeatOp op) {
  auto [ctx, b, l, m] = site.parts();
  Value count = scalarOf(site, op.getCount()).value;
  Block &body = op.getBody().front();
  SmallVector<Value> inits;
  for (Value init : op.getInits())
    inits.push_back(l.splat(scalarOf(site, init).value));
  const bool vector = l.lanes > 1;
  Value bound = l.i64(op.getBound());
  // With lanes the count may differ between them: run to the bound and keep
  // the old value where a lane is done.
  Value end = vector ? bound : l.minS(l.maxS(count, l.i64(0)), bound);
  SmallVector<Value> results =
      carryLoop(site, l.i64(0), end, inits, [&](Value number, ValueRange carried) {
        ctx.scalars[body.getArgument(0)] = l.wrap(number, b.getI64Type());
        for (auto [argument, value] : llvm::zip(body.getArguments().drop_front(), carried))
          ctx.scalars[argument] = l.wrap(value, argument.getType());
        emitBlock(site, body);
        SmallVector<Value> next;
        Value active =
            vector ? l.cmp(CmpIPredicate::slt, l.splat(number), l.splat(count)) : Value();
        for (auto [value, sofar] : llvm::zip(body.getTerminator()->getOperands(), carried)) {
          Value now = l.splat(scalarOf(site, value).value);
          next.push_back(vector ? l.pick(active, now, sofar) : now);
        }
        return next;
      });
  for (auto [value, plain] : llvm::zip(op.getResults(), results))
    ctx.scalars[value] = l.wrap(plain, value.getType());
}

void penstock::conversion::emitSearch(const Site &site, SearchOp op) {
  auto [ctx, b, l, m] = site.parts();
  Block &body = op.getBody().front();
  Block &otherwise = op.getOtherwise().front();
  emitBlock(site, otherwise);
  SmallVector<Value> inits{l.splat(b.create<arith::ConstantIntOp>(l.loc, 0, 1))};
  for (Value value : otherwise.getTerminator()->getOperands())
    inits.push_back(l.splat(scalarOf(site, value).value));
  auto oneTry = [&](Value number, ValueRange state) {
    ctx.scalars[body.getArgument(0)] = l.wrap(number, b.getI64Type());
    emitBlock(site, body);
    auto accept = llvm::cast<AcceptOp>(body.getTerminator());
    Value fits = l.splat(scalarOf(site, accept.getCondition()).value);
    SmallVector<Value> next{l.orInt(state[0], fits)};
    Value take = l.andInt(fits, l.xorInt(state[0], l.integerLike(state[0], 1)));
    for (auto [value, sofar] : llvm::zip(accept.getValues(), state.drop_front()))
      next.push_back(l.pick(take, l.splat(scalarOf(site, value).value), sofar));
    return next;
  };
  auto finish = [&](ValueRange results) {
    for (auto [value, plain] : llvm::zip(op.getResults(), results))
      ctx.scalars[value] = l.wrap(plain, value.getType());
  };
  if (l.lanes > 1) {
    finish(ArrayRef<Value>(carryLoop(site, l.i64(0), l.i64(op.getTries()), inits, oneTry))
               .drop_front());
    return;
  }
  // One sample stops at its first accepted try.
  SmallVector<Value> state{l.i64(0)};
  state.append(inits);
  SmallVector<Type> types(llvm::map_range(state, [](Value v) { return v.getType(); }));
  SmallVector<Location> places(types.size(), l.loc);
  auto loop = b.create<scf::WhileOp>(l.loc, types, state);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, types, places);
    b.setInsertionPointToEnd(before);
    Value more = l.cmp(CmpIPredicate::slt, before->getArgument(0), l.i64(op.getTries()));
    Value found = before->getArgument(1);
    Value again = l.andInt(more, l.xorInt(found, l.integerLike(found, 1)));
    b.create<scf::ConditionOp>(l.loc, again, before->getArguments());
    Block *after = b.createBlock(&loop.getAfter(), {}, types, places);
    b.setInsertionPointToEnd(after);
    SmallVector<Value> next{l.add(after->getArgument(0), l.i64(1))};
    next.append(oneTry(after->getArgument(0), after->getArguments().drop_front()));
    b.create<scf::YieldOp>(l.loc, next);
  }
  finish(loop.getResults().drop_front(2));
}

//===--- tensors -----------------------------------------------------------------===//

/// Makes what the arms hold ready to be read, and selects scalar results.
LogicalResult penstock::conversion::openChoose(const Site &site, ChooseOp op) {
  auto [ctx, b, l, m] = site.parts();
  const auto count = static_cast<int64_t>(op.getArms().size());
  Value index = scalarOf(site, op.getIndex()).value;
  SmallVector<LaneValue> selected(op->getNumResults());
  for (auto [i, arm] : llvm::enumerate(op.getArms())) {
    const auto number = static_cast<int64_t>(i);
    Site inArm = site;
    inArm.arms.push_back({index, number, count});
    for (Operation &inner : arm.front().without_terminator())
      if (failed(emitTopLevel(inArm, inner)))
        return failure();
    Value reached = l.cmp(CmpIPredicate::sge, index, l.i64(number));
    for (auto [result, yielded] : llvm::zip(selected, arm.front().getTerminator()->getOperands()))
      if (!holdsTensor(yielded))
        result = number == 0
                     ? scalarOf(site, yielded)
                     : l.select(l.wrap(reached, b.getI1Type()), scalarOf(site, yielded), result);
  }
  for (auto [result, value] : llvm::zip(op.getResults(), selected))
    if (value.value)
      ctx.scalars[result] = value;
  return success();
}

/// A branch whose condition is the same in all lanes.
LaneValue penstock::conversion::branch(const Site &site, Value condition, Type element, bool vector,
                                       llvm::function_ref<LaneValue()> onTrue,
                                       llvm::function_ref<LaneValue()> onFalse) {
  auto [ctx, b, l, m] = site.parts();
  if (auto known = Lanes::constantOf(condition))
    return *known ? onTrue() : onFalse();
  Type type = registerType(element);
  if (vector && l.lanes > 1)
    type = VectorType::get({l.lanes}, type);
  // Small numbers leave in both forms, see LaneValue::wide.
  SmallVector<Type> types{type};
  if (llvm::isa<VectorType>(type) && isUnsigned(element) && element.getIntOrFloatBitWidth() < 32)
    types.push_back(VectorType::get({l.lanes}, b.getI32Type()));
  auto op = b.create<scf::IfOp>(l.loc, types, condition, true);
  OpBuilder::InsertionGuard guard(b);
  auto side = [&](Block *block, llvm::function_ref<LaneValue()> make) {
    b.setInsertionPointToStart(block);
    LaneValue value = make();
    if (llvm::isa<VectorType>(type)) {
      value.value = l.splat(value.value);
      value.wide = value.wide ? l.splat(value.wide) : Value();
    }
    SmallVector<Value> yielded{value.value};
    if (types.size() == 2)
      yielded.push_back(l.wideOf(value));
    b.create<scf::YieldOp>(l.loc, yielded);
    return value.range;
  };
  Interval x = side(op.thenBlock(), onTrue), y = side(op.elseBlock(), onFalse);
  return {op.getResult(0),
          element,
          {std::min(x.low, y.low), std::max(x.high, y.high), x.nan || y.nan},
          types.size() == 2 ? op.getResult(1) : Value()};
}
