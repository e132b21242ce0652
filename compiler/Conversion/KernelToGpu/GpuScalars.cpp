// SPDX-License-Identifier: Apache-2.0
//
// Scalars and regions of scalars.
#include "compiler/Conversion/KernelToGpu/GpuEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

//===--- making scalar ops -------------------------------------------------===//

Value GpuEmitter::constant(TypedAttr value, Type type) {
  return b.create<ConstantOp>(loc, type, value);
}

/// Attributes of integers are of the type itself.
Value GpuEmitter::zeroOf(Type type) {
  if (llvm::isa<FloatType>(type))
    return constant(b.getFloatAttr(type, 0.0), type);
  return constant(IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), 0)), type);
}

Value GpuEmitter::real(double value) { return constant(b.getF64FloatAttr(value), b.getF64Type()); }

Value GpuEmitter::binary(BinaryKind kind, Value a, Value c) {
  return b.create<BinaryOp>(loc, kind, a, c);
}

Value GpuEmitter::cast(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return b.create<CastOp>(loc, type, CastMode::value, value, ValueRange{});
}

//===--- what the kernel holds ---------------------------------------------===//

LogicalResult GpuEmitter::scalars(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(scalar(op)))
      return failure();
  return success();
}

SmallVector<Value> GpuEmitter::results(Block &block) {
  if (failed(scalars(block)))
    failedInside = true;
  SmallVector<Value> values;
  for (Value value : block.getTerminator()->getOperands())
    values.push_back(failedInside ? zeroOf(value.getType()) : number(value));
  return values;
}

LogicalResult GpuEmitter::scalar(Operation &op) {
  const Location around = loc;
  moveTo(op.getLoc());
  auto bind = [&](ValueRange values) {
    for (auto [result, value] : llvm::zip(op.getResults(), values))
      map.map(result, value);
  };
  if (auto loadOp = llvm::dyn_cast<LoadOp>(op)) {
    bind(loaded(loadOp));
  } else if (auto size = llvm::dyn_cast<ExtentOp>(op)) {
    const int64_t axis =
        llvm::cast<NamedTensorType>(size.getTensor().getType()).axisIndex(size.getAxis());
    bind(x.toI64(extent(size.getTensor(), axis)));
  } else if (auto chosen = llvm::dyn_cast<ChooseOp>(op)) {
    const auto count = static_cast<int64_t>(chosen.getArms().size());
    bind(oneOf(asIndex(chosen.getIndex()), count, op.getResultTypes(),
               [&](int64_t arm) { return results(chosen.getArms()[arm].front()); }));
  } else if (auto repeated = llvm::dyn_cast<RepeatOp>(op)) {
    Block &body = repeated.getBody().front();
    SmallVector<Value> inits;
    for (Value init : repeated.getInits())
      inits.push_back(number(init));
    Value count =
        x.min(x.max(asIndex(repeated.getCount()), x.constant(0)), x.constant(repeated.getBound()));
    bind(loop(x.constant(0), count, 1, inits, [&](Value index, ValueRange carried) {
      map.map(body.getArgument(0), x.toI64(index));
      map.map(body.getArguments().drop_front(), carried);
      return results(body);
    }));
  } else if (auto searched = llvm::dyn_cast<SearchOp>(op)) {
    search(searched);
  } else if (llvm::isa<ConstantOp, UnaryOp, BinaryOp, CompareOp, SelectOp, CastOp, DrawOp, KeyOfOp,
                       KeyViewOp, KeyMixOp>(op)) {
    Operation *copy = b.clone(op, map);
    copy->removeAttr("pipe.remarks");
    copy->removeAttr("pipe.drawn");
  } else {
    return op.emitOpError("has no GPU code yet in this place");
  }
  moveTo(around);
  return success();
}

/// The first accepted try; after it, none is made.
void GpuEmitter::search(SearchOp op) {
  Block &body = op.getBody().front();
  SmallVector<Value> state{x.constant(0), b.create<arith::ConstantIntOp>(loc, 0, 1)};
  for (Type type : op.getResultTypes())
    state.push_back(zeroOf(type));
  SmallVector<Type> types(ValueRange(state).getTypes());
  SmallVector<Location> places(types.size(), loc);
  auto loop = b.create<scf::WhileOp>(loc, types, state);
  {
    OpBuilder::InsertionGuard guard(b);
    IndexMath::Scope scope(x);
    Block *before = b.createBlock(&loop.getBefore(), {}, types, places);
    b.setInsertionPointToEnd(before);
    Value more = x.compare(CmpIPredicate::slt, before->getArgument(0), x.constant(op.getTries()));
    Value open = b.create<arith::XOrIOp>(loc, before->getArgument(1),
                                         b.create<arith::ConstantIntOp>(loc, 1, 1));
    b.create<scf::ConditionOp>(loc, x.both(more, open), before->getArguments());
  }
  {
    OpBuilder::InsertionGuard guard(b);
    IndexMath::Scope scope(x);
    Block *after = b.createBlock(&loop.getAfter(), {}, types, places);
    b.setInsertionPointToEnd(after);
    map.map(body.getArgument(0), x.toI64(after->getArgument(0)));
    SmallVector<Value> next{x.add(after->getArgument(0), x.constant(1))};
    next.append(results(body));
    b.create<scf::YieldOp>(loc, next);
  }
  const Location place = loc;
  auto isFound =
      b.create<scf::IfOp>(loc, op.getResultTypes(), loop.getResult(1), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(isFound.thenBlock());
  b.create<scf::YieldOp>(place, loop.getResults().drop_front(2));
  b.setInsertionPointToStart(isFound.elseBlock());
  {
    IndexMath::Scope scope(x);
    SmallVector<Value> values = results(op.getOtherwise().front());
    b.create<scf::YieldOp>(place, values);
  }
  map.map(op.getResults(), isFound.getResults());
}

/// Indices outside are moved to the nearest element; nothing reads as 0.
Value GpuEmitter::loaded(LoadOp op) {
  auto type = llvm::cast<NamedTensorType>(op.getTensor().getType());
  SmallVector<Value> at;
  Value isEmpty;
  for (auto [axis, scalar] : llvm::enumerate(op.getIndices())) {
    Value index = asIndex(scalar), size = extent(op.getTensor(), static_cast<int64_t>(axis));
    at.push_back(moved("pst_edge", index, size));
    const Axis &a = type.getAxes()[axis];
    if (a.isStatic() && a.extent > 0)
      continue;
    Value none = x.compare(CmpIPredicate::sle, size, x.constant(0));
    isEmpty = isEmpty ? b.create<arith::OrIOp>(loc, isEmpty, none).getResult() : none;
  }
  if (!isEmpty)
    return element(op.getTensor(), at);
  return branch(
      isEmpty, type.getElementType(), [&] { return zeroOf(type.getElementType()); },
      [&] { return element(op.getTensor(), at); });
}
