//===- KernelEmitter.cpp - arguments, buffers and the order of things ------===//

#include "compiler/Conversion/KernelEmitter.h"
#include "compiler/Conversion/Scratch.h"
#include "compiler/Dialect/Rows.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"
#include "runtime/abi/kernel.h"
#include <cstddef>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

KernelEmitter::KernelEmitter(KernelOp kernel, func::FuncOp function, int64_t &nextCheck)
    : kernel(kernel), function(function), nextCheck(nextCheck), b(kernel.getContext()),
      l(b, kernel.getLoc(), {}), m(l), random(l) {
  if (auto schedule = kernel.getSchedule()) {
    if (auto level = schedule->getAs<IntegerAttr>("level"))
      l.has = lane::featuresOf(level.getInt());
    streaming = schedule->contains("streaming");
  }
}

//===--- arguments ---------------------------------------------------------------===//

void KernelEmitter::unpackArguments() {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto field = [&](Type type, size_t offset) {
    return m.loadPlain(type, m.address(args, l.i64(static_cast<int64_t>(offset))));
  };
  args = function.getArgument(0);
  slots = field(pointer, offsetof(pst_kernel_args, scalars));
  if (kernel.getKind() != "pixels")
    return;
  tensors = field(pointer, offsetof(pst_kernel_args, tensors));
  scratch = field(pointer, offsetof(pst_kernel_args, scratch));
  band[0] = field(b.getI64Type(), offsetof(pst_kernel_args, band));
  band[1] = field(b.getI64Type(), offsetof(pst_kernel_args, band) + 8);
  int64_t tensor = 0, number = 0;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    if (auto type = llvm::dyn_cast<NamedTensorType>(argument.getType())) {
      buffers[argument] = argumentBuffer(tensor++, type);
      buffers[argument].constant = true;
    } else
      scalars[argument] = scalarFromSlot(slotAddress(number++), argument.getType());
  }
  auto outside = kernel->getAttrOfType<DenseI64ArrayAttr>("outside_n");
  for (auto [place, value] :
       llvm::enumerate(kernel.getBody().front().getTerminator()->getOperands())) {
    Buffer output = argumentBuffer(tensor++, llvm::cast<NamedTensorType>(value.getType()), outside ? outside[place] : 0);
    output.written = rangeOfType(output.element);
    output.written->quiet = true;
    outputs.push_back(output);
  }
}

Value KernelEmitter::slotAddress(int64_t number) { return m.address(slots, l.i64(8 * number)); }

/// The register of an 8-byte entry (pipe.slot says how it is encoded).
LaneValue KernelEmitter::scalarFromSlot(Value address, Type type) {
  const bool isFloat = llvm::isa<FloatType>(type);
  Type stored = isFloat ? Type(b.getF64Type()) : b.getI64Type();
  LaneValue wide = l.wrap(m.loadPlain(stored, address), stored);
  LaneValue value = l.cast(CastMode::value, wide, type);
  value = l.wrap(value.value, type);
  value.range.quiet = isFloat && type != stored; // a conversion leaves none that signals
  return value;
}

/// Strides of the type's dense layout, innermost first known; an axis further
/// out than a dynamic one has no known stride.
static SmallVector<std::optional<int64_t>> denseStrides(NamedTensorType type) {
  SmallVector<std::optional<int64_t>> known(type.getRank());
  std::optional<int64_t> bytes = scalarBytes(type.getElementType());
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    known[axis] = bytes;
    const Axis &a = type.getAxes()[axis];
    if (bytes && a.isStatic())
      bytes = *bytes * a.extent;
    else
      bytes.reset();
  }
  return known;
}

Buffer KernelEmitter::argumentBuffer(int64_t number, NamedTensorType type, int64_t outsideBatch) {
  Value base = m.address(tensors, l.i64(number * static_cast<int64_t>(sizeof(pst_tensor))));
  Buffer buffer;
  buffer.element = type.getElementType();
  buffer.pointer = m.loadPlain(LLVM::LLVMPointerType::get(b.getContext()), base);
  buffer.known = denseStrides(type);
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    // The others are dense where the type says how far apart.
    if (axis < axesOfRuntime(type, outsideBatch))
      buffer.known[axis].reset();
    if (buffer.known[axis]) {
      buffer.strides.push_back(l.i64(*buffer.known[axis]));
      continue;
    }
    const int64_t offset = static_cast<int64_t>(offsetof(pst_tensor, stride)) + 8 * axis;
    buffer.strides.push_back(m.loadPlain(b.getI64Type(), m.address(base, l.i64(offset))));
  }
  return buffer;
}

//===--- scratch -----------------------------------------------------------------===//

FailureOr<Value> KernelEmitter::scratchBytes(int64_t bytes, ArrayRef<TensorAxis> axes) {
  SmallVector<Attribute> places;
  SmallVector<Value> sizes;
  for (auto [tensor, axis] : axes) {
    const Axis &a = llvm::cast<NamedTensorType>(tensor.getType()).getAxes()[axis];
    if (a.isStatic()) {
      bytes *= a.extent;
      continue;
    }
    DenseI64ArrayAttr place = scratchPlace(b, kernel, tensor, axis);
    if (!place)
      return kernel.emitError("needs a temporary whose extent the kernel itself computes; "
                              "extents of temporaries are constants or arguments");
    places.push_back(place);
    sizes.push_back(l.maxS(extent(tensor, axis), l.i64(0)));
  }
  Value size = l.i64(bytes);
  for (Value factor : sizes)
    size = l.mul(size, factor);
  addScratchTerm(b, bytes, places, scratchFixed, scratchTerms);
  Value start = m.address(scratch, scratchUsed);
  Value end = l.add(l.add(scratchUsed, size), l.i64(2 * scratchAlign - 1));
  scratchUsed = l.andInt(end, l.i64(-scratchAlign));
  return start;
}

FailureOr<Buffer> KernelEmitter::scratchBuffer(Value tensor) {
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  Buffer buffer;
  buffer.element = type.getElementType();
  buffer.known = denseStrides(type);
  buffer.strides.resize(type.getRank());
  Value stride = l.i64(scalarBytes(buffer.element));
  SmallVector<TensorAxis> axes;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    buffer.strides[axis] = stride;
    stride = l.mul(stride, extent(tensor, axis));
    axes.push_back({tensor, axis});
  }
  buffer.written = rangeOfType(buffer.element);
  buffer.written->quiet = true;
  auto start = scratchBytes(scalarBytes(buffer.element), axes);
  if (failed(start))
    return failure();
  buffer.pointer = *start;
  buffer.roomy = true; // up to the next one's alignment, and beyond
  return buffer;
}

FailureOr<Buffer> KernelEmitter::wholeBuffer(Value tensor, bool aligned) {
  for (auto &[value, output] : tileOutputs)
    if (value == tensor)
      return output;
  for (auto [value, output] :
       llvm::zip(kernel.getBody().front().getTerminator()->getOperands(), outputs))
    if (value == tensor)
      return output;
  NamedTensorType type = typeOf(tensor);
  if (!aligned || !type.isStatic() || type.getRank() < 2)
    return scratchBuffer(tensor);
  const SmallVector<int64_t> none(type.getRank(), 0);
  return marginBuffer(tensor, {Border::edge, none, none});
}

FailureOr<Buffer> KernelEmitter::bufferFor(Value tensor) {
  auto present = buffers.find(tensor);
  if (present != buffers.end())
    return present->second;
  auto buffer = wholeBuffer(tensor);
  if (succeeded(buffer))
    buffers[tensor] = *buffer;
  return buffer;
}

//===--- the body ----------------------------------------------------------------===//

LogicalResult KernelEmitter::run() {
  Block *entry = function.addEntryBlock();
  exit = function.addBlock();
  exit->addArguments({b.getI32Type(), b.getI64Type(), b.getI64Type()},
                     {l.loc, l.loc, l.loc});
  b.setInsertionPointToStart(entry);
  scratchUsed = l.i64(0);
  unpackArguments();
  auto tile = kernel.getSchedule() ? kernel.getSchedule()->getAs<IntegerAttr>("row_tile") : IntegerAttr();
  if (tile) {
    if (failed(emitRowTiles(*rowsOf(kernel), tile.getInt())))
      return failure();
    finish();
    return success();
  }
  for (Operation &op : kernel.getBody().front())
    if (failed(emitTopLevel(op)))
      return failure();
  finish();
  return success();
}

void KernelEmitter::finish() {
  b.create<func::ReturnOp>(l.loc, l.i32(0));
  if (exit->hasNoPredecessors()) {
    exit->erase();
  } else {
    b.setInsertionPointToStart(exit);
    Value failure = m.address(args, l.i64(offsetof(pst_kernel_args, failure)));
    m.storePlain(exit->getArgument(1), failure);
    m.storePlain(exit->getArgument(2), m.address(failure, l.i64(8)));
    b.create<func::ReturnOp>(l.loc, exit->getArgument(0));
  }
  function->setAttr("pipe.scratch_fixed", b.getI64IntegerAttr(scratchFixed));
  function->setAttr("pipe.scratch", b.getArrayAttr(scratchTerms));
  function->setAttr("pipe.kind", kernel.getKindAttr());
  function->setAttr("pipe.stop", b.getI64IntegerAttr(offsetof(pst_kernel_args, stop)));
  function->setAttr("pipe.checks", b.getArrayAttr(checks));
}

static bool hasTensorResult(Operation &op) {
  return llvm::any_of(op.getResultTypes(), [](Type type) { return llvm::isa<NamedTensorType>(type); });
}

static LogicalResult refuse(Operation &op) { return op.emitError("has no lowering to CPU code"); }

LogicalResult KernelEmitter::emitTopLevel(Operation &op) {
  l.loc = op.getLoc();
  l.lanes = 1;
  const auto around = llvm::SaveAndRestore(top, b.getInsertionBlock());
  if (auto ret = llvm::dyn_cast<ReturnOp>(op))
    return storeOutputs(ret);
  if (!hasTensorResult(op)) {
    if (failed(emitScalarOp(op)))
      return failure();
    if (op.getNumRegions() && failureState) { // a check in a branch failed
      auto word = [&](int64_t offset) {
        return m.loadPlain(b.getI64Type(), m.address(failureState, l.i64(offset)));
      };
      Value id = word(0);
      Value fine = l.cmp(arith::CmpIPredicate::eq, id, l.i64(0));
      Block *next = function.addBlock();
      Value shortId = b.create<arith::TruncIOp>(l.loc, b.getI32Type(), id);
      b.create<cf::CondBranchOp>(l.loc, fine, next, ValueRange{}, exit,
                                 ValueRange{shortId, word(8), word(16)});
      b.setInsertionPointToStart(next);
    }
    return success();
  }
  if (auto choose = llvm::dyn_cast<ChooseOp>(op))
    if (failed(openChoose(choose)))
      return failure();
  if (auto repeat = llvm::dyn_cast<RepeatOp>(op))
    return materialiseRepeat(repeat);
  if (auto resample = llvm::dyn_cast<ResampleOp>(op)) {
    if (op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("ring")) {
      auto done = prepareRing(resample);
      if (failed(done))
        return failure();
      return *done ? success() : materialise(op);
    }
    if (failed(prepareVertical(resample)))
      return failure();
  }
  if (auto reduce = llvm::dyn_cast<ReduceOp>(op);
      reduce && op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("ring")) {
    auto done = prepareReducedRows(reduce);
    if (failed(done) || *done)
      return success(succeeded(done));
  }
  if (auto window = llvm::dyn_cast<WindowOp>(op); window && failed(prepareMargins(window)))
    return failure();
  if (op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("inline"))
    return success(); // computed where it is used
  const KernelForm form = formOf(&op);
  if (form == KernelForm::runtime)
    return refuse(op);
  if (form != KernelForm::inlined || op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("scratch"))
    return materialise(op);
  return success(); // likewise
}

LogicalResult KernelEmitter::materialise(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<ReduceOp>([&](auto typed) { return emitReduce(typed); })
      .Case<ScanOp>([&](auto typed) { return emitScan(typed); })
      .Case<HistogramOp>([&](auto typed) { return emitHistogram(typed); })
      .Case<ContractOp>([&](auto typed) { return emitContract(typed); })
      .Case<FftOp>([&](auto typed) { return emitFft(typed); })
      .Case<CompactOp>([&](auto typed) { return emitCompact(typed); })
      .Case<GroupOp>([&](auto typed) { return emitGroup(typed); })
      .Case<ReduceByOp>([&](auto typed) { return emitReduceBy(typed); })
      .Case<SortOp>([&](auto typed) { return emitSort(typed); })
      .Case<WeightsOp>([&](auto typed) { return emitWeights(typed); })
      .Default([&](Operation *) {
        if (formOf(&op) != KernelForm::inlined)
          return refuse(op);
        for (Value result : op.getResults()) {
          if (llvm::cast<NamedTensorType>(result.getType()).getRank() == 0) {
            single[result] = emit(result, {}); // stays in a register
            continue;
          }
          auto margin = marginOf(result, /*asCopy=*/false);
          auto buffer = margin ? marginBuffer(result, *margin) : wholeBuffer(result);
          if (failed(buffer))
            return failure();
          llvm::SaveAndRestore outer(storedRange, std::optional<Interval>());
          storeTensor(result, *buffer, defaultShape(result), l.i64(0), extent(result, 0));
          noteWritten(*buffer);
          margin ? keepMargins(result, *buffer, *margin) : void(buffers[result] = *buffer);
        }
        return success();
      });
}

static constexpr int64_t lineBytes = 64;

/// Whether every vector of the loops fills lines of its own: all is static, rows
/// are whole vectors, and these are whole lines.
static bool storesWholeLines(NamedTensorType type, const LoopShape &shape) {
  ArrayRef<Axis> axes = type.getAxes();
  const int64_t bytes = shape.lanes * scalarBytes(type.getElementType());
  return type.getRank() > 1 && shape.laneAxis == type.getRank() - 1 && type.dynamicAxes().empty() &&
         axes.back().extent % shape.lanes == 0 && bytes % lineBytes == 0;
}

LogicalResult KernelEmitter::storeOutputs(ReturnOp op) {
  if (kernel.getKind() != "pixels")
    return success();
  std::string leading;
  Value banded; // the extent that the band speaks of
  for (auto [value, to] : llvm::zip(op.getValues(), outputs)) {
    auto type = llvm::cast<NamedTensorType>(value.getType());
    Buffer output = to;
    if (auto stored = buffers.find(value);
        stored != buffers.end() && stored->second.pointer == output.pointer)
      continue; // computed as a whole
    Value low = l.i64(0), high = l.i64(1);
    if (type.getRank() > 0) {
      // The band speaks of the axis that is outermost in the first output;
      // outputs with another one, or with another extent, are computed whole.
      high = extent(value, 0);
      const bool first = value == op.getValues().front();
      if (first) {
        leading = type.getAxes()[0].name;
        banded = high;
      }
      if (banded && type.getAxes()[0].name == leading) {
        Value same = b.create<arith::CmpIOp>(l.loc, arith::CmpIPredicate::eq, high, banded);
        low = b.create<arith::SelectOp>(l.loc, same, band[0], low);
        high = b.create<arith::SelectOp>(l.loc, same, l.minS(high, band[1]), high);
      }
    }
    const LoopShape shape = defaultShape(value);
    if (!streaming || !storesWholeLines(type, shape)) {
      storeTensor(value, output, shape, low, high);
      continue;
    }
    // Nobody but a foreign caller has an output elsewhere than at a line.
    Value misplaced = l.andInt(l.orInt(b.create<LLVM::PtrToIntOp>(l.loc, b.getI64Type(), output.pointer),
                                       output.strides[0]),
                               l.i64(lineBytes - 1));
    auto choice = b.create<scf::IfOp>(l.loc, l.cmp(arith::CmpIPredicate::eq, misplaced, l.i64(0)), true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    output.streaming = true;
    storeTensor(value, output, shape, low, high);
    b.setInsertionPointToStart(choice.elseBlock());
    output.streaming = false;
    storeTensor(value, output, {shape.laneAxis, shape.unrollAxis, 1}, low, high);
  }
  return success();
}
