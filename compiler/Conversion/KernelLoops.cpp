//===- KernelLoops.cpp - loops over a tensor that is stored ----------------===//

#include "compiler/Conversion/KernelEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Loops that are written for each combination of the arms of choices, at most.
static constexpr int64_t loopVariants = 4;
/// Of the size of numbers that loops are written for: no product of a few of them overflows.
static constexpr double ordinaryBound = 65536;

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

/// Whether elements of `tensor` come from memory that interleaves the axis `name`, or
/// from rows of pixels.
bool KernelEmitter::readsInterleaved(Value tensor, StringRef name) {
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Value value = reached[next];
    auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
    if (!type)
      continue;
    if (verticals.contains(value))
      return true;
    if (buffers.contains(value)) {
      if (type.getRank() > 1 && type.getAxes().back().name == name)
        return true;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto choose = llvm::dyn_cast_if_present<ChooseOp>(op))
      for (Region &arm : choose.getArms())
        reached.insert(arm.front().getTerminator()->getOperand(llvm::cast<OpResult>(value).getResultNumber()));
    if (op)
      reached.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Whether an operation on bytes, or its lowest byte, is one on bytes.
static bool staysInBytes(Operation &op) {
  auto isByte = [](Type type) {
    return llvm::isa<IntegerType>(type) && type.getIntOrFloatBitWidth() <= 8;
  };
  if (llvm::isa<ConstantOp, YieldOp>(op) ||
      (op.getNumResults() == 1 && isByte(op.getResult(0).getType())))
    return op.getNumRegions() == 0;
  if (auto cast = llvm::dyn_cast<CastOp>(op))
    return isByte(cast.getValue().getType()) && llvm::isa<IntegerType>(cast.getResult().getType());
  auto binary = llvm::dyn_cast<BinaryOp>(op);
  return binary && llvm::isa<IntegerType>(binary.getType()) &&
         llvm::is_contained({BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::bit_and,
                             BinaryKind::bit_or, BinaryKind::bit_xor},
                            binary.getKind());
}

/// Whether a window or map makes bytes out of bytes that are there, and nothing wider on the way.
bool KernelEmitter::isOfBytes(Value tensor, Seen &seen) {
  Operation *op = tensor.getDefiningOp();
  if (scalarBytes(typeOf(tensor).getElementType()) != 1)
    return false;
  if (!op || buffers.contains(tensor) || !seen.isNew(tensor))
    return true;
  if (!llvm::isa<WindowOp, MapOp>(op))
    return false;
  return llvm::all_of(op->getRegion(0).front(), staysInBytes) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return !llvm::isa<NamedTensorType>(operand.getType()) || isOfBytes(operand, seen);
         });
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
      if (isSmall(axis) && readsInterleaved(tensor, type.getAxes()[axis].name))
        shape.unrollAxis = axis;
  }
  // As many lanes as one vector register has bytes: u8 to f32 chains then use
  // four registers per value, which hides latency.
  shape.lanes = l.has.registerBytes / (scalarBytes(type.getElementType()) >= 8 ? 4 : 1);
  Seen seen;
  const bool isWide = shape.unrollAxis < 0 && l.has.permuteBytes &&
                      !buffers.contains(tensor) && isOfBytes(tensor, seen);
  if (shape.lanes > 32 && !isWide)
    shape.lanes = 32;
  return shape;
}

//===--- nests of loops, for each case of what is decided once -----------------------===//

/// What is joined is stored part by part, so that no vector holds elements of two.
void KernelEmitter::storeParts(ConcatOp op, const Buffer &to, Value low, Value high) {
  const int64_t axis = typeOf(op.getResult()).axisIndex(op.getAxis());
  Value at = l.i64(0);
  for (Value input : op.getInputs()) {
    Buffer part = to;
    part.streaming = false;
    part.pointer = m.address(to.pointer, l.mul(at, to.strides[axis]));
    storeTensor(input, part, defaultShape(input), low, high);
    at = l.add(at, extent(input, axis));
  }
}

/// A parameter may be any number, so whatever it is a factor of may be NaN, which is looked for
/// wherever it is stored. The loops are written for ordinary numbers, and again for the others.
void KernelEmitter::storeOrdinary(Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  llvm::SetVector<Value> open;
  Seen seen;
  if (shape.lanes == 1 || !unboundedScalars(tensor, open, seen) || open.empty())
    return storeArm(tensor, to, shape, low, high);
  SmallVector<LaneValue> numbers;
  Value ordinary;
  for (Value number : open) {
    numbers.push_back(scalar(number));
    Value size = b.create<LLVM::FAbsOp>(l.loc, numbers.back().value);
    Value inside = b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::OLE, size, l.floatLike(size, ordinaryBound));
    ordinary = ordinary ? l.andInt(ordinary, inside) : inside;
    scalars[number].range = Interval::of(-ordinaryBound, ordinaryBound);
  }
  auto choice = b.create<scf::IfOp>(l.loc, ordinary, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  storeArm(tensor, to, shape, low, high);
  for (auto [number, value] : llvm::zip(open, numbers))
    scalars[number] = value;
  b.setInsertionPointToStart(choice.elseBlock());
  storeArm(tensor, to, shape, low, high);
}

/// A choice is made once and not for each vector: the loops are written for each
/// arm, as long as that makes few of them.
void KernelEmitter::storeTensor(Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  if (shape.laneAxis < 0) {
    l.lanes = 1;
    m.store(to, {}, emit(tensor, {}));
    return;
  }
  auto joined = tensor.getDefiningOp<ConcatOp>();
  // `low` and `high` count along axis 0, over all parts.
  if (joined && typeOf(tensor).axisIndex(joined.getAxis()) != 0 && shape.lanes > 1)
    return storeParts(joined, to, low, high);
  llvm::SetVector<Operation *> choices;
  Seen seen;
  unresolvedBranches(tensor, choices, seen);
  int64_t variants = 1;
  for (auto [choose, arm] : specializedArms)
    variants *= llvm::cast<ChooseOp>(choose).getArms().size();
  auto fits = [&](Operation *choose) {
    return variants * static_cast<int64_t>(llvm::cast<ChooseOp>(choose).getArms().size()) <= loopVariants;
  };
  auto found = llvm::find_if(choices, fits);
  if (found == choices.end())
    return storeOrdinary(tensor, to, shape, low, high);
  auto choose = llvm::cast<ChooseOp>(*found);
  Value index = scalar(choose.getIndex()).value;
  const int64_t count = static_cast<int64_t>(choose.getArms().size());
  OpBuilder::InsertionGuard guard(b);
  for (int64_t arm = 0; arm < count; ++arm) {
    specializedArms[choose] = arm;
    if (arm + 1 < count) {
      auto branchOp = b.create<scf::IfOp>(l.loc, l.cmp(CmpIPredicate::sle, index, l.i64(arm)), true);
      b.setInsertionPointToStart(branchOp.thenBlock());
      storeTensor(tensor, to, shape, low, high);
      b.setInsertionPointToStart(branchOp.elseBlock());
    } else {
      storeTensor(tensor, to, shape, low, high);
    }
  }
  specializedArms.erase(choose);
}

/// A distance between lanes that is known when running only is 1 or -1 (a flip)
/// but in odd cases: the loops are written once for each, and element by element
/// for the rest.
void KernelEmitter::storeArm(Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  SmallVector<bool> withLanes(typeOf(tensor).getRank(), false);
  withLanes[shape.laneAxis] = true;
  llvm::SetVector<Value> strides;
  Seen seen;
  if (shape.lanes > 1)
    laneStrides(tensor, withLanes, strides, seen);
  if (strides.size() != 1 || Lanes::constantOf(scalar(strides[0]).value))
    return storeNest(tensor, to, shape, low, high);
  const LaneValue runtime = scalar(strides[0]);
  std::function<void(ArrayRef<int64_t>)> among = [&](ArrayRef<int64_t> known) {
    if (known.empty()) {
      shape.lanes = 1;
      return storeNest(tensor, to, shape, low, high);
    }
    Value same = l.cmp(CmpIPredicate::eq, runtime.value, l.i64(known.front()));
    auto choice = b.create<scf::IfOp>(l.loc, same, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    scalars[strides[0]] = l.constant(b.getI64IntegerAttr(known.front()));
    storeNest(tensor, to, shape, low, high);
    scalars[strides[0]] = runtime;
    b.setInsertionPointToStart(choice.elseBlock());
    among(known.drop_front());
  };
  among({1, -1});
}

void KernelEmitter::storeNest(Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  const int64_t rank = typeOf(tensor).getRank();
  if (reducedRows.contains(tensor))
    shape.unrollAxis = shape.unrollAxis > shape.laneAxis ? shape.unrollAxis : -1; // planes have rows of their own
  else if (storeRun(tensor, to, shape, low, high))
    return;
  SmallVector<Index> at(rank);
  auto inLoop = [&](int64_t axis) { return axis != shape.laneAxis && axis != shape.unrollAxis; };
  int64_t lastLoop = rank - 1;
  while (lastLoop >= 0 && !inLoop(lastLoop))
    --lastLoop;
  const int64_t rowsAhead = reducedRows.contains(tensor) ? reducedRowsAhead(tensor) : 1;
  // From the outermost axis inwards, lanes last.
  std::function<void(int64_t)> nest = [&](int64_t axis) {
    if (axis == rank) {
      storeReducedRows(tensor, at);
      return storeRow(tensor, to, shape, at, low, high);
    }
    if (!inLoop(axis)) {
      nest(axis + 1);
      return;
    }
    Value from = axis == 0 ? low : l.i64(0), end = axis == 0 ? high : extent(tensor, axis);
    if (axis == lastLoop && rowsAhead > 1) {
      forLoop(from, end, rowsAhead, [&](Value first) {
        auto eachRow = [&](llvm::function_ref<void()> body) {
          forLoop(first, l.minS(l.add(first, l.i64(rowsAhead)), end), 1, [&](Value i) {
            at[axis] = m.uniform(i);
            moveToReducedRow(tensor, l.sub(i, first));
            body();
          });
        };
        eachRow([&] { storeReducedRows(tensor, at); });
        eachRow([&] { storeRow(tensor, to, shape, at, low, high); });
      });
      return;
    }
    forLoop(from, end, 1, [&](Value i) {
      at[axis] = m.uniform(i);
      nest(axis + 1);
    });
  };
  nest(0);
}

/// Rows that follow each other wherever they are read, such as the channels of pixels, are one long one, of whose
/// vectors only the last two overlap. False where they do not, or are whole vectors anyway.
bool KernelEmitter::storeRun(Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  NamedTensorType type = typeOf(tensor);
  const int64_t rank = type.getRank();
  if (shape.lanes == 1 || to.streaming || rank < 3 || !type.getAxes().back().isStatic())
    return false;
  // Planes that are made side by side share what they read.
  const int64_t last = type.getAxes().back().extent;
  if (last >= shape.lanes && (last % shape.lanes == 0 || shape.unrollAxis >= 0))
    return false;
  // The first one is the caller's to cut into bands.
  const int64_t inRun = std::min({axesInRun(tensor), axesInRun(type, to), rank - 1});
  int64_t extent = 1;
  for (const Axis &axis : type.getAxes().take_back(inRun))
    extent *= axis.extent;
  if (inRun < 2 || extent < shape.lanes)
    return false;
  SmallVector<Index> at(rank, m.constant(0));
  std::function<void(int64_t)> nest = [&](int64_t axis) {
    if (axis < rank - inRun) {
      forLoop(axis == 0 ? low : l.i64(0), axis == 0 ? high : this->extent(tensor, axis), 1, [&](Value i) {
        at[axis] = m.uniform(i);
        nest(axis + 1);
      });
      return;
    }
    overLanes(l.i64(0), l.i64(extent), shape.lanes, [&](Index index) {
      at.back() = index;
      storeLanes(tensor, to, {rank - 1, -1, shape.lanes}, at);
    });
  };
  nest(0);
  return true;
}

/// A row that a pad makes up holds no element of its input.
void KernelEmitter::storeRow(Value tensor, const Buffer &to, const LoopShape &shape, ArrayRef<Index> at, Value low,
                             Value high) {
  llvm::MapVector<Operation *, PadRow> rows;
  if (shape.lanes > 1) {
    SmallVector<Index> any(at);
    for (int64_t axis : {shape.laneAxis, shape.unrollAxis})
      if (axis >= 0)
        any[axis] = {l.i64(0), 1, {}, {}};
    l.lanes = shape.lanes;
    rowConditions(tensor, any, rows);
    l.lanes = 1;
  }
  if (rows.empty())
    return storeVectors(tensor, to, shape, at, low, high);
  Value all;
  for (auto &[pad, row] : rows)
    all = all ? l.andInt(all, row.exists) : row.exists;
  auto choice = b.create<scf::IfOp>(l.loc, all, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  for (auto &[pad, row] : rows)
    padRows[pad] = row.axes;
  storeVectors(tensor, to, shape, at, low, high);
  padRows.clear();
  b.setInsertionPointToStart(choice.elseBlock());
  if (rows.size() == 1)
    padRows[rows.front().first] = std::nullopt;
  storeVectors(tensor, to, shape, at, low, high);
  padRows.clear();
}

void KernelEmitter::storeVectors(Value tensor, const Buffer &to, const LoopShape &shape, ArrayRef<Index> at,
                                 Value low, Value high) {
  const int64_t lane = shape.laneAxis;
  overLanes(lane == 0 ? low : l.i64(0), lane == 0 ? high : extent(tensor, lane), shape.lanes,
            [&](Index index) {
              SmallVector<Index> here(at);
              here[lane] = index;
              storeLanes(tensor, to, shape, here);
            });
}

void KernelEmitter::overLanes(Value from, Value size, int64_t lanes,
                              llvm::function_ref<void(Index)> use) {
  auto known = Lanes::constantOf(size);
  const bool fromZero = Lanes::constantOf(from) == 0;
  auto body = [&](int64_t count, Value index) {
    l.lanes = count;
    use({index, count == 1 ? 0 : 1, {}, {}});
    l.lanes = 1;
  };
  if (known && fromZero) {
    while (lanes > *known)
      lanes /= 2;
    if (lanes < 2) {
      forLoop(from, size, 1, [&](Value i) { body(1, i); });
      return;
    }
    if (lanes == *known)
      return body(lanes, from);
    // The last vector overlaps the one before it: everything is pure, so
    // elements may be computed twice.
    forLoop(from, size, lanes, [&](Value i) { body(lanes, *known % lanes ? l.minS(i, l.i64(*known - lanes)) : i); });
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
}

void KernelEmitter::noteWritten(Buffer &to) {
  // Of 16 bits, what is known is known before they are rounded.
  if (!storedRange || to.element.isF16() || to.element.isBF16())
    return;
  to.written = storedRange;
  to.written->quiet = true;
}

void KernelEmitter::storeLanes(Value tensor, const Buffer &to, const LoopShape &shape,
                               SmallVector<Index> at) {
  elements.clear();
  auto note = [&](const LaneValue &value) {
    storedRange = storedRange ? hull(*storedRange, value.range) : value.range;
  };
  if (shape.unrollAxis < 0) {
    LaneValue value = emit(tensor, at);
    note(value);
    m.store(to, at, value);
    return;
  }
  const int64_t count = typeOf(tensor).getAxes()[shape.unrollAxis].extent;
  const int64_t size = scalarBytes(to.element);
  const bool interleaved = l.lanes > 1 && to.known[shape.unrollAxis] == size &&
                           to.known[shape.laneAxis] == size * count;
  // Where channels share what they read, all are made before the first is stored: a
  // store in between might change it, as far as LLVM can tell. Otherwise each is
  // stored at once, which keeps fewer of them in registers.
  SmallVector<LaneValue> values;
  SmallVector<Operation *> lastOf; // of each value's operations
  readsShared = false;
  for (int64_t c = 0; c < count; ++c) {
    at[shape.unrollAxis] = m.constant(c);
    channel = c;
    values.push_back(emit(tensor, at));
    note(values.back());
    lastOf.push_back(b.getInsertionPoint() == b.getInsertionBlock()->begin() ? nullptr
                                                                             : &*std::prev(b.getInsertionPoint()));
  }
  for (int64_t c = 0; c < count && !interleaved; ++c) {
    OpBuilder::InsertionGuard guard(b);
    if (!readsShared && lastOf[c])
      b.setInsertionPointAfter(lastOf[c]);
    at[shape.unrollAxis] = m.constant(c);
    m.store(to, at, values[c]);
  }
  if (interleaved) {
    at[shape.unrollAxis] = m.constant(0);
    m.storeInterleaved(to, at, values);
  }
}
