// SPDX-License-Identifier: Apache-2.0
//
// Arguments and temporaries.
#include "compiler/Conversion/KernelToGpu/GpuContext.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/Scratch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

GpuContext::GpuContext(KernelOp kernel, func::FuncOp function, int64_t &nextCheck)
    : kernel(kernel), function(function), nextCheck(nextCheck), b(kernel.getContext()),
      known(function.addEntryBlock()), mapping("block") {
  if (auto chosen = kernel.getSchedule()->getAs<StringAttr>("mapping"))
    mapping = chosen.str();
  threads = kernel.getSchedule()->getAs<IntegerAttr>("threads").getInt();
  b.setInsertionPointToStart(&function.getBody().front());
}

GpuSite::GpuSite(GpuContext &ctx, Location loc, Value *scratchUsed)
    : ctx(ctx), loc(loc), x(ctx.b, loc, ctx.known), s{ctx.b, loc}, scratchUsed(scratchUsed) {}

GpuSite::GpuSite(const GpuSite &around, Location loc)
    : ctx(around.ctx), loc(loc), x(ctx.b, loc, ctx.known), s{ctx.b, loc}, taken(around.taken),
      scratchUsed(around.scratchUsed), tile(around.tile) {}

GpuSite GpuSite::of(Value tensor) const {
  Operation *op = tensor.getDefiningOp();
  return at(op ? op->getLoc() : loc);
}

const GpuBuffer *GpuSite::bufferOf(Value tensor) const {
  if (tile)
    if (auto rows = tile->find(tensor); rows != tile->end())
      return &rows->second;
  auto found = ctx.buffers.find(tensor);
  return found == ctx.buffers.end() ? nullptr : &found->second;
}

//===--- arguments ---------------------------------------------------------===//

/// An argument says by itself where it comes from, so that one which nothing
/// reads can be left out.
static Value addArgument(const GpuSite &site, Type type, const std::string &name, StringRef from,
                         int64_t tensor, int64_t axis) {
  auto [ctx, b, x, s] = site.parts();
  Value argument = ctx.function.getBody().front().addArgument(type, ctx.kernel.getLoc());
  SmallVector<NamedAttribute> notes{b.getNamedAttr("pipe.name", b.getStringAttr(name)),
                                    b.getNamedAttr("pipe.from", b.getStringAttr(from))};
  if (tensor >= 0)
    notes.push_back(b.getNamedAttr("pipe.number", b.getI64IntegerAttr(tensor)));
  if (axis >= 0)
    notes.push_back(b.getNamedAttr("pipe.axis", b.getI64IntegerAttr(axis)));
  if (auto memory = llvm::dyn_cast<MemRefType>(type); memory && tensor >= 0)
    notes.push_back(
        b.getNamedAttr("pipe.bytes", b.getI64IntegerAttr(scalarBytes(memory.getElementType()))));
  ctx.function->setAttr("pipe.arguments", b.getArrayAttr([&] {
    SmallVector<Attribute> all;
    if (auto before = ctx.function->getAttrOfType<ArrayAttr>("pipe.arguments"))
      all.append(before.begin(), before.end());
    all.push_back(b.getDictionaryAttr(notes));
    return all;
  }()));
  return argument;
}

static MemRefType memoryOf(Type element) {
  return MemRefType::get({ShapedType::kDynamic}, element);
}

static void addTensorArgument(const GpuSite &site, Value tensor, NamedTensorType type,
                              const std::string &name, int64_t number, int64_t outsideBatch) {
  auto [ctx, b, x, s] = site.parts();
  GpuBuffer buffer;
  buffer.memory = addArgument(site, memoryOf(type.getElementType()), name, "data", number, -1);
  buffer.strides.resize(type.getRank());
  SmallVector<Value> extents(type.getRank());
  std::optional<int64_t> stride = 1; // of the dense layout
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    const Axis &a = type.getAxes()[axis];
    extents[axis] = a.isStatic() ? x.constant(a.extent)
                                 : addArgument(site, b.getIndexType(), name + "_" + a.name,
                                               "extent", number, axis);
    // The outermost axes lie where the runtime says, see kernel.h.
    const bool isKnown = stride && axis >= axesOfRuntime(type, outsideBatch);
    buffer.strides[axis] = isKnown ? x.constant(*stride)
                                   : addArgument(site, b.getIndexType(), name + "_stride_" + a.name,
                                                 "stride", number, axis);
    if (stride && a.isStatic())
      stride = *stride * a.extent;
    else
      stride.reset();
  }
  if (tensor) {
    buffer.hasSlack = true;
    ctx.buffers[tensor] = buffer;
    ctx.argumentExtents[tensor] = extents;
  } else {
    ctx.outputs.push_back(buffer);
  }
}

void penstock::conversion::addArguments(const GpuSite &site) {
  auto [ctx, b, x, s] = site.parts();
  int64_t tensors = 0, scalarNumber = 0;
  for (BlockArgument argument : ctx.kernel.getBody().getArguments()) {
    if (auto type = llvm::dyn_cast<NamedTensorType>(argument.getType())) {
      addTensorArgument(site, argument, type, "in" + std::to_string(tensors), tensors, 0);
      ++tensors;
      continue;
    }
    ctx.scalars.map(argument,
                    addArgument(site, argument.getType(), "p" + std::to_string(scalarNumber),
                                "scalar", scalarNumber, -1));
    ++scalarNumber;
  }
  ctx.function->setAttr("pipe.inputs", b.getI64IntegerAttr(tensors));
  auto outside = ctx.kernel->getAttrOfType<DenseI64ArrayAttr>("outside_n");
  auto last = llvm::cast<ReturnOp>(ctx.kernel.getBody().front().getTerminator());
  for (auto [place, value] : llvm::enumerate(last.getValues())) {
    addTensorArgument(site, {}, typeOf(value), "out" + std::to_string(place), tensors++,
                      outside ? outside[place] : 0);
    // What is computed as a whole goes straight to where it is wanted.
    if (value.getDefiningOp())
      ctx.outputOf.try_emplace(value, place);
  }
  ctx.scratch = addArgument(site, memoryOf(b.getI8Type()), "scratch", "scratch", -1, -1);
}

void penstock::conversion::dropUnusedArguments(func::FuncOp function) {
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

FailureOr<GpuBuffer> penstock::conversion::scratchArray(const GpuSite &site, Type element,
                                                        ArrayRef<GpuAxis> axes, int64_t each) {
  auto [ctx, b, x, s] = site.parts();
  const int64_t width = scalarBytes(element);
  GpuBuffer buffer;
  buffer.strides.resize(axes.size() + 1);
  SmallVector<Attribute> places;
  int64_t bytes = width * each;
  Value count = x.constant(each);
  buffer.strides.back() = x.constant(1);
  for (size_t i = axes.size(); i-- > 0;) {
    auto [tensor, axis] = axes[i];
    buffer.strides[i] = count;
    count = x.mul(count, extent(site, tensor, axis));
    if (typeOf(tensor).getAxes()[axis].isStatic()) {
      bytes *= typeOf(tensor).getAxes()[axis].extent;
      continue;
    }
    DenseI64ArrayAttr place = scratchPlace(b, ctx.kernel, tensor, axis);
    if (!place)
      return ctx.kernel.emitError("needs a temporary whose extent the kernel itself computes; "
                                  "extents of temporaries are constants or arguments");
    places.push_back(place);
  }
  Value &used = *site.scratchUsed;
  addScratchTerm(b, bytes, places, ctx.scratchFixed, ctx.scratchTerms);
  buffer.alignment = scratchAlign;
  buffer.memory = b.create<memref::ViewOp>(site.loc, memoryOf(element), ctx.scratch, used, count);
  Value end = x.add(x.add(used, x.mul(count, x.constant(width))), x.constant(2 * scratchAlign - 1));
  used = x.mul(x.floorDiv(end, x.constant(scratchAlign)), x.constant(scratchAlign));
  return buffer;
}

FailureOr<GpuBuffer> penstock::conversion::temporary(const GpuSite &site, Value tensor) {
  SmallVector<GpuAxis> axes;
  for (int64_t axis = 0; axis < typeOf(tensor).getRank(); ++axis)
    axes.push_back({tensor, axis});
  return scratchArray(site, typeOf(tensor).getElementType(), axes);
}

FailureOr<GpuBuffer> penstock::conversion::bufferFor(const GpuSite &site, Value tensor) {
  auto [ctx, b, x, s] = site.parts();
  auto wanted = ctx.outputOf.find(tensor);
  return wanted == ctx.outputOf.end() ? temporary(site, tensor) : ctx.outputs[wanted->second];
}
