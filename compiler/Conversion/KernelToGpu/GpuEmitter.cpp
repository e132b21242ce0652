// SPDX-License-Identifier: Apache-2.0
//
// Arguments, temporaries, the order of things.
#include "compiler/Conversion/KernelToGpu/GpuEmitter.h"
#include "compiler/Conversion/Scratch.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static bool isTensor(Value value) { return llvm::isa<NamedTensorType>(value.getType()); }
GpuEmitter::GpuEmitter(KernelOp kernel, func::FuncOp function, int64_t &nextCheck)
    : kernel(kernel), function(function), nextCheck(nextCheck), b(kernel.getContext()), x(b),
      loc(kernel.getLoc()), mapping("block") {
  if (auto schedule = kernel.getSchedule())
    if (auto chosen = schedule->getAs<StringAttr>("mapping"))
      mapping = chosen.str();
  threads = kernel.getSchedule()->getAs<IntegerAttr>("threads").getInt();
}

//===--- arguments ---------------------------------------------------------===//

/// An argument says by itself where it comes from, so that one which nothing
/// reads can be left out.
Value GpuEmitter::addArgument(Type type, const std::string &name, StringRef from, int64_t tensor,
                              int64_t axis) {
  Value argument = function.getBody().front().addArgument(type, kernel.getLoc());
  SmallVector<NamedAttribute> notes{b.getNamedAttr("pipe.name", b.getStringAttr(name)),
                                    b.getNamedAttr("pipe.from", b.getStringAttr(from))};
  if (tensor >= 0)
    notes.push_back(b.getNamedAttr("pipe.number", b.getI64IntegerAttr(tensor)));
  if (axis >= 0)
    notes.push_back(b.getNamedAttr("pipe.axis", b.getI64IntegerAttr(axis)));
  if (auto memory = llvm::dyn_cast<MemRefType>(type); memory && tensor >= 0)
    notes.push_back(
        b.getNamedAttr("pipe.bytes", b.getI64IntegerAttr(scalarBytes(memory.getElementType()))));
  function->setAttr("pipe.arguments", b.getArrayAttr([&] {
    SmallVector<Attribute> all;
    if (auto before = function->getAttrOfType<ArrayAttr>("pipe.arguments"))
      all.append(before.begin(), before.end());
    all.push_back(b.getDictionaryAttr(notes));
    return all;
  }()));
  return argument;
}

static MemRefType memoryOf(Type element) {
  return MemRefType::get({ShapedType::kDynamic}, element);
}

void GpuEmitter::addTensorArgument(Value tensor, NamedTensorType type, const std::string &name,
                                   int64_t number, int64_t outsideBatch) {
  Buffer buffer;
  buffer.memory = addArgument(memoryOf(type.getElementType()), name, "data", number, -1);
  buffer.strides.resize(type.getRank());
  SmallVector<Value> extents(type.getRank());
  std::optional<int64_t> stride = 1; // of the dense layout
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    const Axis &a = type.getAxes()[axis];
    extents[axis] =
        a.isStatic() ? x.constant(a.extent)
                     : addArgument(b.getIndexType(), name + "_" + a.name, "extent", number, axis);
    // The outermost axes lie where the runtime says, see kernel.h.
    const bool isKnown = stride && axis >= axesOfRuntime(type, outsideBatch);
    buffer.strides[axis] =
        isKnown ? x.constant(*stride)
                : addArgument(b.getIndexType(), name + "_stride_" + a.name, "stride", number, axis);
    if (stride && a.isStatic())
      stride = *stride * a.extent;
    else
      stride.reset();
  }
  if (tensor) {
    buffer.hasSlack = true;
    buffers[tensor] = buffer;
    argumentExtents[tensor] = extents;
  } else {
    outputs.push_back(buffer);
  }
}

void GpuEmitter::addArguments() {
  int64_t tensors = 0, scalarNumber = 0;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    if (auto type = llvm::dyn_cast<NamedTensorType>(argument.getType())) {
      addTensorArgument(argument, type, "in" + std::to_string(tensors), tensors, 0);
      ++tensors;
      continue;
    }
    map.map(argument, addArgument(argument.getType(), "p" + std::to_string(scalarNumber), "scalar",
                                  scalarNumber, -1));
    ++scalarNumber;
  }
  function->setAttr("pipe.inputs", b.getI64IntegerAttr(tensors));
  auto outside = kernel->getAttrOfType<DenseI64ArrayAttr>("outside_n");
  auto last = llvm::cast<ReturnOp>(kernel.getBody().front().getTerminator());
  for (auto [place, value] : llvm::enumerate(last.getValues())) {
    addTensorArgument({}, typeOf(value), "out" + std::to_string(place), tensors++,
                      outside ? outside[place] : 0);
    // What is computed as a whole goes straight to where it is wanted.
    if (value.getDefiningOp())
      outputOf.try_emplace(value, place);
  }
  scratch = addArgument(memoryOf(b.getI8Type()), "scratch", "scratch", -1, -1);
}

/// Drops the arguments that nothing reads.
static void dropUnused(func::FuncOp function) {
  Block &entry = function.getBody().front();
  auto notes = function->getAttrOfType<ArrayAttr>("pipe.arguments");
  SmallVector<Attribute> kept;
  llvm::BitVector unused(entry.getNumArguments());
  for (BlockArgument argument : entry.getArguments()) {
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
    else
      kept.push_back(notes[argument.getArgNumber()]);
  }
  entry.eraseArguments(unused);
  Builder builder(function.getContext());
  function.setFunctionType(builder.getFunctionType(entry.getArgumentTypes(), {}));
  function->setAttr("pipe.arguments", builder.getArrayAttr(kept));
}

//===--- temporaries -------------------------------------------------------===//

FailureOr<GpuEmitter::Buffer> GpuEmitter::array(Type element, ArrayRef<TensorAxis> axes,
                                                int64_t each) {
  const int64_t width = scalarBytes(element);
  Buffer buffer;
  buffer.strides.resize(axes.size() + 1);
  SmallVector<Attribute> places;
  int64_t bytes = width * each;
  Value count = x.constant(each);
  buffer.strides.back() = x.constant(1);
  for (size_t i = axes.size(); i-- > 0;) {
    auto [tensor, axis] = axes[i];
    buffer.strides[i] = count;
    count = x.mul(count, extent(tensor, axis));
    if (typeOf(tensor).getAxes()[axis].isStatic()) {
      bytes *= typeOf(tensor).getAxes()[axis].extent;
      continue;
    }
    DenseI64ArrayAttr place = scratchPlace(b, kernel, tensor, axis);
    if (!place)
      return kernel.emitError("needs a temporary whose extent the kernel itself computes; "
                              "extents of temporaries are constants or arguments");
    places.push_back(place);
  }
  addScratchTerm(b, bytes, places, scratchFixed, scratchTerms);
  buffer.alignment = scratchAlign;
  buffer.memory = b.create<memref::ViewOp>(loc, memoryOf(element), scratch, scratchUsed, count);
  Value end =
      x.add(x.add(scratchUsed, x.mul(count, x.constant(width))), x.constant(2 * scratchAlign - 1));
  scratchUsed = x.mul(x.floorDiv(end, x.constant(scratchAlign)), x.constant(scratchAlign));
  return buffer;
}

FailureOr<GpuEmitter::Buffer> GpuEmitter::temporary(Value tensor) {
  SmallVector<TensorAxis> axes;
  for (int64_t axis = 0; axis < typeOf(tensor).getRank(); ++axis)
    axes.push_back({tensor, axis});
  return array(typeOf(tensor).getElementType(), axes);
}

FailureOr<GpuEmitter::Buffer> GpuEmitter::bufferFor(Value tensor) {
  auto wanted = outputOf.find(tensor);
  return wanted == outputOf.end() ? temporary(tensor) : outputs[wanted->second];
}

//===--- the body ----------------------------------------------------------===//

LogicalResult GpuEmitter::run() {
  if (failed(checkVectors()))
    return failure();
  Block *entry = function.addEntryBlock();
  x.constantsIn(entry);
  b.setInsertionPointToStart(entry);
  addArguments();
  auto end = b.create<func::ReturnOp>(kernel.getLoc());
  b.setInsertionPoint(end);
  scratchUsed = x.constant(0);
  for (Operation &op : kernel.getBody().front())
    if (failed(statement(op)))
      return failure();
  dropUnused(function);
  function->setAttr("pipe.scratch_fixed", b.getI64IntegerAttr(scratchFixed));
  function->setAttr("pipe.scratch", b.getArrayAttr(scratchTerms));
  return success();
}

void GpuEmitter::moveTo(Location location) {
  loc = location;
  x.location() = location;
}

static LogicalResult refuse(Operation &op) { return op.emitOpError("has no GPU code yet"); }

LogicalResult GpuEmitter::statement(Operation &op) {
  moveTo(op.getLoc());
  if (auto last = llvm::dyn_cast<ReturnOp>(op))
    return finish(last);
  if (auto condition = llvm::dyn_cast<CheckOp>(op))
    return check(condition);
  if (llvm::none_of(op.getResults(), isTensor))
    return scalar(op);
  if (auto chosen = llvm::dyn_cast<ChooseOp>(op))
    return choose(chosen);
  if (auto repeated = llvm::dyn_cast<RepeatOp>(op))
    return repeat(repeated);
  if (op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("inline"))
    return success(); // computed where it is used
  const KernelForm form = formOf(&op);
  if (form == KernelForm::runtime)
    return refuse(op);
  if (form != KernelForm::inlined ||
      op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("scratch"))
    return store(op);
  return success(); // likewise
}

void GpuEmitter::barrier() { b.create<gpu::BarrierOp>(loc); }

/// Runs `body` where the arm that the builder stands in is taken.
void GpuEmitter::guarded(llvm::function_ref<void()> body) { taken ? when(taken, body) : body(); }

void GpuEmitter::when(Value condition, llvm::function_ref<void()> body) {
  auto op = b.create<scf::IfOp>(loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  IndexMath::Scope scope(x);
  b.setInsertionPointToStart(op.thenBlock());
  body();
}

/// Computes a value as a whole, where it stands.
LogicalResult GpuEmitter::store(Operation &op) {
  SmallVector<Buffer> to;
  bool isRead = false;
  for (Value result : op.getResults()) {
    auto buffer = bufferFor(result);
    if (failed(buffer))
      return failure();
    to.push_back(*buffer);
    isRead |= llvm::any_of(result.getUsers(),
                           [](Operation *user) { return !llvm::isa<ReturnOp>(user); }) ||
              std::distance(result.use_begin(), result.use_end()) > 1;
  }
  const bool inPasses = formOf(&op) == KernelForm::passes;
  if (mapping != "block" && (isRead || inPasses))
    return op.emitOpError("is computed before others read it, which needs the mapping \"block\"");
  auto work = workspace(op);
  if (failed(work))
    return failure();
  guarded([&] {
    llvm::TypeSwitch<Operation *>(&op)
        .Case<ReduceOp>([&](auto typed) { return reduce(typed, to[0]); })
        .Case<ScanOp>([&](auto typed) { return scan(typed, to[0]); })
        .Case<HistogramOp>([&](auto typed) { return histogram(typed, to[0]); })
        .Case<ContractOp>([&](auto typed) { return contract(typed, to[0]); })
        .Case<SortOp>([&](auto typed) { return sort(typed, to[0]); })
        .Case<CompactOp>([&](auto typed) { return compact(typed, to, *work); })
        .Case<GroupOp>([&](auto typed) { return group(typed, to, *work); })
        .Case<ReduceByOp>([&](auto typed) { return reduceBy(typed, to[0], *work); })
        .Case<FftOp>([&](auto typed) { return fft(typed, to[0], *work); })
        .Default([&](Operation *) {
          if (formOf(&op) == KernelForm::inlined)
            fill(op.getResult(0), to[0]);
          else
            failedInside |= failed(refuse(op));
        });
    if (isRead)
      barrier();
  });
  for (auto [result, buffer] : llvm::zip(op.getResults(), to))
    buffers[result] = buffer;
  return failure(failedInside);
}

/// The arms' scalars are total and computed at once; what they store is computed
/// in the arm that is taken, for its views are right for that one only.
LogicalResult GpuEmitter::choose(ChooseOp op) {
  const auto count = static_cast<int64_t>(op.getArms().size());
  Value index = x.min(x.max(asIndex(op.getIndex()), x.constant(0)), x.constant(count - 1));
  SmallVector<Value> selected(op->getNumResults());
  for (auto [number, arm] : llvm::enumerate(op.getArms())) {
    Value here =
        x.compare(arith::CmpIPredicate::eq, index, x.constant(static_cast<int64_t>(number)));
    llvm::SaveAndRestore around(taken, x.both(taken, here));
    for (Operation &inner : arm.front().without_terminator())
      if (failed(statement(inner)))
        return failure();
    moveTo(op.getLoc());
    for (auto [result, yielded] : llvm::zip(selected, arm.front().getTerminator()->getOperands()))
      if (!isTensor(yielded))
        result =
            number == 0
                ? this->number(yielded)
                : b.create<arith::SelectOp>(loc, here, this->number(yielded), result).getResult();
  }
  for (auto [result, value] : llvm::zip(op.getResults(), selected))
    if (value)
      map.map(result, value);
  return success();
}

/// Two copies of every tensor that is carried: an iteration reads one and
/// writes the other, so its body may read any element.
LogicalResult GpuEmitter::repeat(RepeatOp op) {
  if (mapping != "block")
    return op.emitOpError("carries tensors, which needs the mapping \"block\"");
  Block &body = op.getBody().front();
  SmallVector<Buffer> copies;
  SmallVector<Value> state;
  for (auto [init, result] : llvm::zip(op.getInits(), op.getResults())) {
    if (!isTensor(init))
      continue;
    for (int copy = 0; copy < 2; ++copy) {
      auto buffer = temporary(result);
      if (failed(buffer))
        return failure();
      copies.push_back(*buffer);
      state.push_back(buffer->memory);
    }
    guarded([&] { fill(init, copies[copies.size() - 2]); });
  }
  for (Value init : op.getInits())
    if (!isTensor(init))
      state.push_back(number(init));
  barrier();
  // Results and arguments are what `now` holds.
  auto bind = [&](ValueRange values, ValueRange now) {
    size_t tensor = 0, scalarNumber = copies.size();
    for (Value value : values) {
      if (!isTensor(value)) {
        map.map(value, now[scalarNumber++]);
        continue;
      }
      buffers[value] = {now[tensor], copies[tensor].strides};
      tensor += 2;
    }
  };
  Value count = x.min(x.max(asIndex(op.getCount()), x.constant(0)), x.constant(op.getBound()));
  if (taken)
    count = b.create<arith::SelectOp>(loc, taken, count, x.constant(0));
  llvm::SaveAndRestore around(taken, Value());
  LogicalResult inside = success();
  Value used = scratchUsed; // what the iterations leave there is not read after them
  auto last = loop(x.constant(0), count, 1, state, [&](Value number, ValueRange now) {
    map.map(body.getArgument(0), x.toI64(number));
    bind(body.getArguments().drop_front(), now);
    for (Operation &inner : body.without_terminator())
      if (failed(statement(inner)))
        inside = failure();
    moveTo(op.getLoc());
    SmallVector<Value> next, numbers;
    size_t tensor = 0;
    for (Value value : body.getTerminator()->getOperands()) {
      if (!isTensor(value)) {
        numbers.push_back(this->number(value));
        continue;
      }
      if (succeeded(inside))
        fill(value, {now[tensor + 1], copies[tensor].strides});
      next.append({now[tensor + 1], now[tensor]});
      tensor += 2;
    }
    barrier();
    next.append(numbers);
    return next;
  });
  scratchUsed = used;
  bind(op.getResults(), last);
  return inside;
}

/// Everything after a check runs where it holds.
LogicalResult GpuEmitter::check(CheckOp op) {
  const int64_t id = nextCheck++;
  if (op->getParentOp() != kernel)
    return op.emitOpError("inside a branch or a loop has no GPU code yet");
  auto branchOp = b.create<scf::IfOp>(loc, number(op.getCondition()), /*withElseRegion=*/true);
  b.setInsertionPointToStart(branchOp.elseBlock());
  call(
      "pst_fail", {},
      {b.create<arith::ConstantIntOp>(loc, id, 32), number(op.getFirst()), number(op.getSecond())});
  b.setInsertionPoint(branchOp.thenBlock()->getTerminator());
  return success();
}

LogicalResult GpuEmitter::finish(ReturnOp op) {
  if (mapping == "tile" && failed(tiles()))
    return failure();
  for (auto [place, value] : llvm::enumerate(op.getValues())) {
    if (tiled.contains(value))
      continue;
    auto done = buffers.find(value);
    if (done != buffers.end() && done->second.memory == outputs[place].memory)
      continue;
    fill(value, outputs[place]);
  }
  return failure(failedInside);
}
