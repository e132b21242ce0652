//===- KernelLoops.cpp - loops over a tensor that is stored ----------------===//

#include "compiler/Conversion/KernelEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static NamedTensorType typeOf(Value tensor) { return llvm::cast<NamedTensorType>(tensor.getType()); }

/// Axes that are small and written out in full, such as channels.
static constexpr int64_t unrollBound = 4;

Value KernelEmitter::forLoop(Value low, Value high, int64_t step, llvm::function_ref<void(Value)> body) {
  auto loop = b.create<scf::ForOp>(l.loc, low, high, l.i64(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
  return {};
}

SmallVector<Value>
KernelEmitter::carryLoop(Value low, Value high, ValueRange inits,
                         llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = b.create<scf::ForOp>(l.loc, low, high, l.i64(1), inits);
  OpBuilder::InsertionGuard guard(b);
  Block *block = loop.getBody();
  if (!block->empty()) // a loop without carried values comes with its end
    block->back().erase();
  b.setInsertionPointToEnd(block);
  b.create<scf::YieldOp>(l.loc, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

/// Whether some tensor in memory interleaves the axis `name`.
static bool isInterleaved(KernelOp kernel, StringRef name) {
  bool found = false;
  auto look = [&](Value value) {
    auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
    found |= type && type.getRank() > 1 && type.getAxes().back().name == name;
  };
  for (BlockArgument argument : kernel.getBody().getArguments())
    look(argument);
  kernel.walk([&](Operation *op) {
    if (op->getAttr("schedule"))
      for (Value result : op->getResults())
        look(result);
  });
  return found;
}

LoopShape KernelEmitter::defaultShape(Value tensor) {
  NamedTensorType type = typeOf(tensor);
  LoopShape shape;
  const int64_t rank = type.getRank();
  if (rank == 0)
    return shape;
  auto isSmall = [&](int64_t axis) {
    const Axis &a = type.getAxes()[axis];
    return a.isStatic() && a.extent <= unrollBound;
  };
  shape.laneAxis = rank - 1;
  if (rank > 1 && isSmall(rank - 1)) {
    shape.laneAxis = rank - 2;
    shape.unrollAxis = rank - 1;
  } else {
    for (int64_t axis = 0; axis < rank - 1; ++axis)
      if (isSmall(axis) && isInterleaved(kernel, type.getAxes()[axis].name))
        shape.unrollAxis = axis;
  }
  // As many lanes as one vector register has bytes: u8 to f32 chains then use
  // four registers per value, which hides latency.
  shape.lanes = vectorBytes / (scalarBytes(type.getElementType()) >= 8 ? 4 : 1);
  if (shape.lanes > 32)
    shape.lanes = 32;
  return shape;
}

void KernelEmitter::storeTensor(Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  const int64_t rank = typeOf(tensor).getRank();
  SmallVector<Index> at(rank);
  if (rank == 0) {
    l.lanes = 1;
    m.store(to, at, emit(tensor, at));
    return;
  }
  // From the outermost axis inwards, lanes last.
  std::function<void(int64_t)> nest = [&](int64_t axis) {
    if (axis == rank) {
      const int64_t lane = shape.laneAxis;
      Value from = lane == 0 ? low : l.i64(0);
      Value size = lane == 0 ? high : extent(tensor, lane);
      auto known = Lanes::constantOf(size);
      const bool fromZero = Lanes::constantOf(from) == 0;
      int64_t lanes = shape.lanes;
      auto body = [&](int64_t count, Value index) {
        SmallVector<Index> here(at);
        here[lane] = {index, count == 1 ? 0 : 1, {}, {}};
        l.lanes = count;
        storeLanes(tensor, to, shape, here);
        l.lanes = 1;
      };
      if (known && fromZero) {
        while (lanes > *known)
          lanes /= 2;
        if (lanes < 2) {
          forLoop(from, size, 1, [&](Value i) { body(1, i); });
          return;
        }
        // The last vector overlaps the one before it: everything is pure, so
        // elements may be computed twice.
        forLoop(from, size, lanes, [&](Value i) {
          body(lanes, *known % lanes ? l.minS(i, l.i64(*known - lanes)) : i);
        });
        return;
      }
      Value enough = l.cmp(CmpIPredicate::sge, l.sub(size, from), l.i64(lanes));
      auto choice = b.create<scf::IfOp>(l.loc, enough, true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(choice.thenBlock());
      Value last = l.sub(size, l.i64(lanes));
      forLoop(from, size, lanes, [&](Value i) { body(lanes, l.minS(i, last)); });
      b.setInsertionPointToStart(choice.elseBlock());
      forLoop(from, size, 1, [&](Value i) { body(1, i); });
      return;
    }
    if (axis == shape.laneAxis || axis == shape.unrollAxis) {
      nest(axis + 1);
      return;
    }
    forLoop(axis == 0 ? low : l.i64(0), axis == 0 ? high : extent(tensor, axis), 1, [&](Value i) {
      at[axis] = m.uniform(i);
      nest(axis + 1);
    });
  };
  nest(0);
}

void KernelEmitter::storeLanes(Value tensor, const Buffer &to, const LoopShape &shape,
                               SmallVector<Index> at) {
  if (shape.unrollAxis < 0) {
    m.store(to, at, emit(tensor, at));
    return;
  }
  const int64_t count = typeOf(tensor).getAxes()[shape.unrollAxis].extent;
  const int64_t size = scalarBytes(to.element);
  const bool interleaved = l.lanes > 1 && to.known[shape.unrollAxis] == size &&
                           to.known[shape.laneAxis] == size * count;
  SmallVector<LaneValue> values;
  for (int64_t c = 0; c < count; ++c) {
    at[shape.unrollAxis] = m.constant(c);
    LaneValue value = emit(tensor, at);
    if (interleaved)
      values.push_back(value);
    else
      m.store(to, at, value);
  }
  if (interleaved) {
    at[shape.unrollAxis] = m.constant(0);
    m.storeInterleaved(to, at, values);
  }
}
