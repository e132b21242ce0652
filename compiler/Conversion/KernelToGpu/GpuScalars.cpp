// SPDX-License-Identifier: Apache-2.0
//
// Scalars and regions of scalars.
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static Value loaded(const GpuSite &site, LoadOp op);
static void search(const GpuSite &site, SearchOp op);

SmallVector<Value> penstock::conversion::results(const GpuSite &site, Block &block) {
  auto [ctx, b, x, s] = site.parts();
  for (Operation &op : block.without_terminator())
    if (failed(emitScalar(site, op))) {
      ctx.failedInside = true;
      break;
    }
  SmallVector<Value> values;
  for (Value value : block.getTerminator()->getOperands())
    values.push_back(ctx.failedInside ? s.zero(value.getType()) : scalarOf(site, value));
  return values;
}

LogicalResult penstock::conversion::emitScalar(const GpuSite &around, Operation &op) {
  const GpuSite site = around.at(op.getLoc());
  auto [ctx, b, x, s] = site.parts();
  auto bind = [&](ValueRange values) {
    for (auto [result, value] : llvm::zip(op.getResults(), values))
      ctx.scalars.map(result, value);
  };
  if (auto loadOp = llvm::dyn_cast<LoadOp>(op)) {
    bind(loaded(site, loadOp));
  } else if (auto size = llvm::dyn_cast<ExtentOp>(op)) {
    const int64_t axis =
        llvm::cast<NamedTensorType>(size.getTensor().getType()).axisIndex(size.getAxis());
    bind(x.toI64(extent(site, size.getTensor(), axis)));
  } else if (auto chosen = llvm::dyn_cast<ChooseOp>(op)) {
    const auto count = static_cast<int64_t>(chosen.getArms().size());
    bind(oneOf(site, asIndex(site, chosen.getIndex()), count, op.getResultTypes(),
               [&](int64_t arm) { return results(site, chosen.getArms()[arm].front()); }));
  } else if (auto repeated = llvm::dyn_cast<RepeatOp>(op)) {
    Block &body = repeated.getBody().front();
    SmallVector<Value> inits;
    for (Value init : repeated.getInits())
      inits.push_back(scalarOf(site, init));
    Value count = x.min(x.max(asIndex(site, repeated.getCount()), x.constant(0)),
                        x.constant(repeated.getBound()));
    bind(loop(site, x.constant(0), count, 1, inits, [&](Value index, ValueRange carried) {
      ctx.scalars.map(body.getArgument(0), x.toI64(index));
      ctx.scalars.map(body.getArguments().drop_front(), carried);
      return results(site, body);
    }));
  } else if (auto searched = llvm::dyn_cast<SearchOp>(op)) {
    search(site, searched);
  } else if (llvm::isa<ConstantOp, UnaryOp, BinaryOp, CompareOp, SelectOp, CastOp, DrawOp, KeyOfOp,
                       KeyViewOp, KeyMixOp>(op)) {
    Operation *copy = b.clone(op, ctx.scalars);
    copy->removeAttr("pipe.remarks");
    copy->removeAttr("pipe.drawn");
  } else {
    return op.emitOpError("has no GPU code yet in this place");
  }
  return success();
}

/// The first accepted try; after it, none is made.
static void search(const GpuSite &site, SearchOp op) {
  auto [ctx, b, x, s] = site.parts();
  Block &body = op.getBody().front();
  SmallVector<Value> state{x.constant(0), b.create<arith::ConstantIntOp>(site.loc, 0, 1)};
  for (Type type : op.getResultTypes())
    state.push_back(s.zero(type));
  SmallVector<Type> types(ValueRange(state).getTypes());
  SmallVector<Location> places(types.size(), site.loc);
  auto loop = b.create<scf::WhileOp>(site.loc, types, state);
  {
    OpBuilder::InsertionGuard guard(b);
    IndexMath::Scope scope(x);
    Block *before = b.createBlock(&loop.getBefore(), {}, types, places);
    b.setInsertionPointToEnd(before);
    Value more = x.compare(CmpIPredicate::slt, before->getArgument(0), x.constant(op.getTries()));
    Value open = b.create<arith::XOrIOp>(site.loc, before->getArgument(1),
                                         b.create<arith::ConstantIntOp>(site.loc, 1, 1));
    b.create<scf::ConditionOp>(site.loc, x.both(more, open), before->getArguments());
  }
  {
    OpBuilder::InsertionGuard guard(b);
    IndexMath::Scope scope(x);
    Block *after = b.createBlock(&loop.getAfter(), {}, types, places);
    b.setInsertionPointToEnd(after);
    ctx.scalars.map(body.getArgument(0), x.toI64(after->getArgument(0)));
    SmallVector<Value> next{x.add(after->getArgument(0), x.constant(1))};
    next.append(results(site, body));
    b.create<scf::YieldOp>(site.loc, next);
  }
  const Location place = site.loc;
  auto isFound = b.create<scf::IfOp>(site.loc, op.getResultTypes(), loop.getResult(1),
                                     /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(isFound.thenBlock());
  b.create<scf::YieldOp>(place, loop.getResults().drop_front(2));
  b.setInsertionPointToStart(isFound.elseBlock());
  {
    IndexMath::Scope scope(x);
    SmallVector<Value> values = results(site, op.getOtherwise().front());
    b.create<scf::YieldOp>(place, values);
  }
  ctx.scalars.map(op.getResults(), isFound.getResults());
}

/// Indices outside are moved to the nearest element; nothing reads as 0.
static Value loaded(const GpuSite &site, LoadOp op) {
  auto [ctx, b, x, s] = site.parts();
  auto type = llvm::cast<NamedTensorType>(op.getTensor().getType());
  SmallVector<Value> at;
  Value isEmpty;
  for (auto [axis, scalar] : llvm::enumerate(op.getIndices())) {
    Value index = asIndex(site, scalar),
          size = extent(site, op.getTensor(), static_cast<int64_t>(axis));
    const Axis &a = type.getAxes()[axis];
    const auto known = IndexMath::constantOf(index);
    at.push_back(known && a.isStatic() && a.extent > 0
                     ? x.constant(std::clamp<int64_t>(*known, 0, a.extent - 1))
                     : movedBy(site, "pst_edge", index, size));
    if (a.isStatic() && a.extent > 0)
      continue;
    Value none = x.compare(CmpIPredicate::sle, size, x.constant(0));
    isEmpty = isEmpty ? b.create<arith::OrIOp>(site.loc, isEmpty, none).getResult() : none;
  }
  if (!isEmpty)
    return element(site, op.getTensor(), at);
  return branch(
      site, isEmpty, type.getElementType(), [&] { return s.zero(type.getElementType()); },
      [&] { return element(site, op.getTensor(), at); });
}
