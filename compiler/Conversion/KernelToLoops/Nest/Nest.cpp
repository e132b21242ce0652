//===- Nest.cpp - loops over a tensor that is stored ----------------===//

#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static void storeArm(const Site &site, Value tensor, const Buffer &to, LoopShape shape, Value low, Value high);
static void storeNest(const Site &site, Value tensor, const Buffer &to, LoopShape shape, Value low, Value high);
static bool storeRun(const Site &site, Value tensor, const Buffer &to, LoopShape shape, Value low, Value high);
static void storeVectors(const Site &site, Value tensor, const Buffer &to, const LoopShape &shape, ArrayRef<Index> at, Value low, Value high);

/// Loops that are written for each combination of the arms of choices, at most.
static constexpr int64_t loopVariants = 4;
/// Of the size of numbers that loops are written for: no product of a few of them overflows.
static constexpr double ordinaryBound = 65536;

Value penstock::conversion::forLoop(const Site &site, Value low, Value high, int64_t step, llvm::function_ref<void(Value)> body) {
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

/// Whether elements of `tensor` come from memory that interleaves the axis `name`, or
/// from rows of pixels.
static bool readsInterleaved(const Site &site, Value tensor, StringRef name) {
  auto [ctx, b, l, m] = site.parts();
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Value value = reached[next];
    auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
    if (!type)
      continue;
    if (ctx.verticals.contains(value))
      return true;
    if (ctx.buffers.contains(value)) {
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
static bool isOfBytes(const Site &site, Value tensor, Seen &seen) {
  auto [ctx, b, l, m] = site.parts();
  Operation *op = tensor.getDefiningOp();
  if (scalarBytes(typeOf(tensor).getElementType()) != 1)
    return false;
  if (!op || ctx.buffers.contains(tensor) || !seen.isNew(tensor))
    return true;
  if (!llvm::isa<WindowOp, MapOp>(op))
    return false;
  return llvm::all_of(op->getRegion(0).front(), staysInBytes) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return !llvm::isa<NamedTensorType>(operand.getType()) || isOfBytes(site, operand, seen);
         });
}

LoopShape penstock::conversion::defaultShape(const Site &site, Value tensor) {
  auto [ctx, b, l, m] = site.parts();
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
      if (isSmall(axis) && readsInterleaved(site, tensor, type.getAxes()[axis].name))
        shape.unrollAxis = axis;
  }
  // As many lanes as one vector register has bytes: u8 to f32 chains then use
  // four registers per value, which hides latency.
  shape.lanes = l.has.registerBytes / (scalarBytes(type.getElementType()) >= 8 ? 4 : 1);
  Seen seen;
  const bool isWide = shape.unrollAxis < 0 && l.has.permuteBytes &&
                      !ctx.buffers.contains(tensor) && isOfBytes(site, tensor, seen);
  if (shape.lanes > 32 && !isWide)
    shape.lanes = 32;
  return shape;
}

//===--- nests of loops, for each case of what is decided once -----------------------===//

/// What is joined is stored part by part, so that no vector holds elements of two.
static void storeParts(const Site &site, ConcatOp op, const Buffer &to, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t axis = typeOf(op.getResult()).axisIndex(op.getAxis());
  Value at = l.i64(0);
  for (Value input : op.getInputs()) {
    Buffer part = to;
    part.streaming = false;
    part.pointer = m.address(to.pointer, l.mul(at, to.strides[axis]));
    storeTensor(site, input, part, defaultShape(site, input), low, high);
    at = l.add(at, extent(site, input, axis));
  }
}

/// A parameter may be any number, so whatever it is a factor of may be NaN, which is looked for
/// wherever it is stored. The loops are written for ordinary numbers, and again for the others.
static void storeOrdinary(const Site &site, Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  llvm::SetVector<Value> open;
  Seen seen;
  if (shape.lanes == 1 || !unboundedScalars(site, tensor, open, seen) || open.empty())
    return storeArm(site, tensor, to, shape, low, high);
  SmallVector<LaneValue> numbers;
  Value ordinary;
  for (Value number : open) {
    numbers.push_back(scalarOf(site, number));
    Value size = b.create<LLVM::FAbsOp>(l.loc, numbers.back().value);
    Value inside = b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::OLE, size, l.floatLike(size, ordinaryBound));
    ordinary = ordinary ? l.andInt(ordinary, inside) : inside;
    ctx.scalars[number].range = Interval::of(-ordinaryBound, ordinaryBound);
  }
  auto choice = b.create<scf::IfOp>(l.loc, ordinary, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  storeArm(site, tensor, to, shape, low, high);
  for (auto [number, value] : llvm::zip(open, numbers))
    ctx.scalars[number] = value;
  b.setInsertionPointToStart(choice.elseBlock());
  storeArm(site, tensor, to, shape, low, high);
}

/// A choice is made once and not for each vector: the loops are written for each
/// arm, as long as that makes few of them.
void penstock::conversion::storeTensor(const Site &site, Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  if (shape.laneAxis < 0) {
    l.lanes = 1;
    m.store(to, {}, emit(site, tensor, {}));
    return;
  }
  auto joined = tensor.getDefiningOp<ConcatOp>();
  // `low` and `high` count along axis 0, over all parts.
  if (joined && typeOf(tensor).axisIndex(joined.getAxis()) != 0 && shape.lanes > 1)
    return storeParts(site, joined, to, low, high);
  llvm::SetVector<Operation *> choices;
  Seen seen;
  unresolvedBranches(site, tensor, choices, seen);
  int64_t variants = 1;
  for (auto [choose, arm] : ctx.specializedArms)
    variants *= llvm::cast<ChooseOp>(choose).getArms().size();
  auto fits = [&](Operation *choose) {
    return variants * static_cast<int64_t>(llvm::cast<ChooseOp>(choose).getArms().size()) <= loopVariants;
  };
  auto found = llvm::find_if(choices, fits);
  if (found == choices.end())
    return storeOrdinary(site, tensor, to, shape, low, high);
  auto choose = llvm::cast<ChooseOp>(*found);
  Value index = scalarOf(site, choose.getIndex()).value;
  const int64_t count = static_cast<int64_t>(choose.getArms().size());
  OpBuilder::InsertionGuard guard(b);
  for (int64_t arm = 0; arm < count; ++arm) {
    ctx.specializedArms[choose] = arm;
    if (arm + 1 < count) {
      auto branchOp = b.create<scf::IfOp>(l.loc, l.cmp(CmpIPredicate::sle, index, l.i64(arm)), true);
      b.setInsertionPointToStart(branchOp.thenBlock());
      storeTensor(site, tensor, to, shape, low, high);
      b.setInsertionPointToStart(branchOp.elseBlock());
    } else {
      storeTensor(site, tensor, to, shape, low, high);
    }
  }
  ctx.specializedArms.erase(choose);
}

/// A distance between lanes that is known when running only is 1 or -1 (a flip)
/// but in odd cases: the loops are written once for each, and element by element
/// for the rest.
static void storeArm(const Site &site, Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<bool> withLanes(typeOf(tensor).getRank(), false);
  withLanes[shape.laneAxis] = true;
  llvm::SetVector<Value> strides;
  Seen seen;
  if (shape.lanes > 1)
    laneStrides(site, tensor, withLanes, strides, seen);
  if (strides.size() != 1 || Lanes::constantOf(scalarOf(site, strides[0]).value))
    return storeNest(site, tensor, to, shape, low, high);
  const LaneValue runtime = scalarOf(site, strides[0]);
  std::function<void(ArrayRef<int64_t>)> among = [&](ArrayRef<int64_t> known) {
    if (known.empty()) {
      shape.lanes = 1;
      return storeNest(site, tensor, to, shape, low, high);
    }
    Value same = l.cmp(CmpIPredicate::eq, runtime.value, l.i64(known.front()));
    auto choice = b.create<scf::IfOp>(l.loc, same, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    ctx.scalars[strides[0]] = l.constant(b.getI64IntegerAttr(known.front()));
    storeNest(site, tensor, to, shape, low, high);
    ctx.scalars[strides[0]] = runtime;
    b.setInsertionPointToStart(choice.elseBlock());
    among(known.drop_front());
  };
  among({1, -1});
}

static void storeNest(const Site &site, Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t rank = typeOf(tensor).getRank();
  if (ctx.reducedRows.contains(tensor))
    shape.unrollAxis = shape.unrollAxis > shape.laneAxis ? shape.unrollAxis : -1; // planes have rows of their own
  else if (storeRun(site, tensor, to, shape, low, high))
    return;
  SmallVector<Index> at(rank);
  auto inLoop = [&](int64_t axis) { return axis != shape.laneAxis && axis != shape.unrollAxis; };
  int64_t lastLoop = rank - 1;
  while (lastLoop >= 0 && !inLoop(lastLoop))
    --lastLoop;
  const int64_t rowsAhead = ctx.reducedRows.contains(tensor) ? reducedRowsAhead(site, tensor) : 1;
  // From the outermost axis inwards, lanes last.
  std::function<void(int64_t)> nest = [&](int64_t axis) {
    if (axis == rank) {
      storeReducedRows(site, tensor, at);
      return storeRow(site, tensor, to, shape, at, low, high);
    }
    if (!inLoop(axis)) {
      nest(axis + 1);
      return;
    }
    Value from = axis == 0 ? low : l.i64(0), end = axis == 0 ? high : extent(site, tensor, axis);
    if (axis == lastLoop && rowsAhead > 1) {
      forLoop(site, from, end, rowsAhead, [&](Value first) {
        auto eachRow = [&](llvm::function_ref<void()> body) {
          forLoop(site, first, l.minS(l.add(first, l.i64(rowsAhead)), end), 1, [&](Value i) {
            at[axis] = m.uniform(i);
            moveToReducedRow(site, tensor, l.sub(i, first));
            body();
          });
        };
        eachRow([&] { storeReducedRows(site, tensor, at); });
        eachRow([&] { storeRow(site, tensor, to, shape, at, low, high); });
      });
      return;
    }
    forLoop(site, from, end, 1, [&](Value i) {
      at[axis] = m.uniform(i);
      nest(axis + 1);
    });
  };
  nest(0);
}

/// Rows that follow each other wherever they are read, such as the channels of pixels, are one long one, of whose
/// vectors only the last two overlap. False where they do not, or are whole vectors anyway.
static bool storeRun(const Site &site, Value tensor, const Buffer &to, LoopShape shape, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(tensor);
  const int64_t rank = type.getRank();
  if (shape.lanes == 1 || to.streaming || rank < 3 || !type.getAxes().back().isStatic())
    return false;
  // Planes that are made side by side share what they read.
  const int64_t last = type.getAxes().back().extent;
  if (last >= shape.lanes && (last % shape.lanes == 0 || shape.unrollAxis >= 0))
    return false;
  // The first one is the caller's to cut into bands.
  const int64_t inRun = std::min({axesInRun(site, tensor), axesInRun(type, to), rank - 1});
  int64_t size = 1;
  for (const Axis &axis : type.getAxes().take_back(inRun))
    size *= axis.extent;
  if (inRun < 2 || size < shape.lanes)
    return false;
  SmallVector<Index> at(rank, m.constant(0));
  std::function<void(int64_t)> nest = [&](int64_t axis) {
    if (axis < rank - inRun) {
      forLoop(site, axis == 0 ? low : l.i64(0), axis == 0 ? high : extent(site, tensor, axis), 1, [&](Value i) {
        at[axis] = m.uniform(i);
        nest(axis + 1);
      });
      return;
    }
    overLanes(site, l.i64(0), l.i64(size), shape.lanes, [&](Index index) {
      at.back() = index;
      storeLanes(site, tensor, to, {rank - 1, -1, shape.lanes}, at);
    });
  };
  nest(0);
  return true;
}

/// A row that a pad makes up holds no element of its input.
void penstock::conversion::storeRow(const Site &site, Value tensor, const Buffer &to, const LoopShape &shape, ArrayRef<Index> at, Value low,
                             Value high) {
  auto [ctx, b, l, m] = site.parts();
  llvm::MapVector<Operation *, PadRow> rows;
  if (shape.lanes > 1) {
    SmallVector<Index> any(at);
    for (int64_t axis : {shape.laneAxis, shape.unrollAxis})
      if (axis >= 0)
        any[axis] = {l.i64(0), 1, {}, {}};
    l.lanes = shape.lanes;
    rowConditions(site, tensor, any, rows);
    l.lanes = 1;
  }
  if (rows.empty())
    return storeVectors(site, tensor, to, shape, at, low, high);
  Value all;
  for (auto &[pad, row] : rows)
    all = all ? l.andInt(all, row.exists) : row.exists;
  auto choice = b.create<scf::IfOp>(l.loc, all, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  for (auto &[pad, row] : rows)
    ctx.padRows[pad] = row.axes;
  storeVectors(site, tensor, to, shape, at, low, high);
  ctx.padRows.clear();
  b.setInsertionPointToStart(choice.elseBlock());
  if (rows.size() == 1)
    ctx.padRows[rows.front().first] = std::nullopt;
  storeVectors(site, tensor, to, shape, at, low, high);
  ctx.padRows.clear();
}

static void storeVectors(const Site &site, Value tensor, const Buffer &to, const LoopShape &shape, ArrayRef<Index> at,
                                 Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t lane = shape.laneAxis;
  overLanes(site, lane == 0 ? low : l.i64(0), lane == 0 ? high : extent(site, tensor, lane), shape.lanes,
            [&](Index index) {
              SmallVector<Index> here(at);
              here[lane] = index;
              storeLanes(site, tensor, to, shape, here);
            });
}

void penstock::conversion::overLanes(const Site &site, Value from, Value size, int64_t lanes,
                              llvm::function_ref<void(Index)> use) {
  auto [ctx, b, l, m] = site.parts();
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
      forLoop(site, from, size, 1, [&](Value i) { body(1, i); });
      return;
    }
    if (lanes == *known)
      return body(lanes, from);
    // The last vector overlaps the one before it: everything is pure, so
    // elements may be computed twice.
    forLoop(site, from, size, lanes, [&](Value i) { body(lanes, *known % lanes ? l.minS(i, l.i64(*known - lanes)) : i); });
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

void penstock::conversion::noteWritten(const Site &site, Buffer &to) {
  auto [ctx, b, l, m] = site.parts();
  // Of 16 bits, what is known is known before they are rounded.
  if (!ctx.storedRange || to.element.isF16() || to.element.isBF16())
    return;
  to.written = ctx.storedRange;
  to.written->quiet = true;
}

void penstock::conversion::storeLanes(const Site &site, Value tensor, const Buffer &to, const LoopShape &shape,
                               SmallVector<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  ctx.elements.clear();
  auto note = [&](const LaneValue &value) {
    ctx.storedRange = ctx.storedRange ? hull(*ctx.storedRange, value.range) : value.range;
  };
  if (shape.unrollAxis < 0) {
    LaneValue value = emit(site, tensor, at);
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
  ctx.readsShared = false;
  for (int64_t c = 0; c < count; ++c) {
    at[shape.unrollAxis] = m.constant(c);
    ctx.channel = c;
    values.push_back(emit(site, tensor, at));
    note(values.back());
    lastOf.push_back(b.getInsertionPoint() == b.getInsertionBlock()->begin() ? nullptr
                                                                             : &*std::prev(b.getInsertionPoint()));
  }
  for (int64_t c = 0; c < count && !interleaved; ++c) {
    OpBuilder::InsertionGuard guard(b);
    if (!ctx.readsShared && lastOf[c])
      b.setInsertionPointAfter(lastOf[c]);
    at[shape.unrollAxis] = m.constant(c);
    m.store(to, at, values[c]);
  }
  if (interleaved) {
    at[shape.unrollAxis] = m.constant(0);
    m.storeInterleaved(to, at, values);
  }
}
