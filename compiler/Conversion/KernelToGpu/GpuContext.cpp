// SPDX-License-Identifier: Apache-2.0
//
// Arguments and temporaries.
#include "compiler/Conversion/KernelToGpu/GpuContext.h"
#include "compiler/Analysis/Strides.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/Scratch.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

GpuContext::GpuContext(KernelOp kernel, func::FuncOp function, int64_t &nextCheck)
    : kernel(kernel), function(function), nextCheck(nextCheck), b(kernel.getContext()),
      known(function.addEntryBlock()) {
  auto mapping = kernel.getSchedule()->getAs<StringAttr>("mapping");
  launch.mapping = mapping ? mapping : b.getStringAttr("block");
  launch.threads = kernel.getSchedule()->getAs<IntegerAttr>("threads").getInt();
  if (auto resident = kernel.getSchedule()->getAs<IntegerAttr>("resident"))
    launch.resident = resident.getInt();
  launch.held = heldBy(kernel);
  b.setInsertionPointToStart(&function.getBody().front());
}

GpuSite::GpuSite(GpuContext &ctx, Location loc, Value *scratchUsed)
    : ctx(ctx), loc(loc), x(ctx.b, loc, ctx.known), s{ctx.b, loc}, scratchUsed(scratchUsed) {}

GpuSite::GpuSite(const GpuSite &around, Location loc)
    : ctx(around.ctx), loc(loc), x(ctx.b, loc, ctx.known), s{ctx.b, loc}, taken(around.taken),
      scratchUsed(around.scratchUsed), tile(around.tile), rowTaps(around.rowTaps) {}

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
static Value addArgument(const GpuSite &site, Type type, const std::string &name,
                         ArgumentSource source, std::optional<int64_t> number = {},
                         std::optional<int64_t> axis = {}) {
  auto [ctx, b, x, s] = site.parts();
  KernelArgument argument{b.getStringAttr(name), source, number, axis, {}};
  if (source == ArgumentSource::data)
    argument.bytes = scalarBytes(llvm::cast<MemRefType>(type).getElementType());
  ctx.arguments.push_back(argument);
  return ctx.function.getBody().front().addArgument(type, ctx.kernel.getLoc());
}

/// Where held tensors begin.
static constexpr int64_t heldAlign = 16;

static MemRefType memoryOf(Type element) {
  return MemRefType::get({ShapedType::kDynamic}, element);
}

/// The block's shared memory where the schedule has tensors `held`: all at one place.
static Value heldMemory(const GpuSite &site, NamedTensorType type) {
  auto [ctx, b, x, s] = site.parts();
  auto in = [&](Type element) {
    return MemRefType::get(
        {ShapedType::kDynamic}, element, MemRefLayoutAttrInterface(),
        gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup));
  };
  const int64_t at =
      ctx.kernel.getSchedule()->getAs<DictionaryAttr>("held").getAs<IntegerAttr>("at").getInt();
  Value shared = b.create<gpu::DynamicSharedMemoryOp>(site.loc, in(b.getI8Type()));
  const int64_t bytes = *denseBytesOf(type);
  return b.create<memref::ViewOp>(site.loc, in(type.getElementType()), shared, x.constant(at),
                                  x.constant(bytes / scalarBytes(type.getElementType())));
}

static void addTensorArgument(const GpuSite &site, Value tensor, NamedTensorType type,
                              const std::string &name, int64_t number, int64_t outsideBatch) {
  auto [ctx, b, x, s] = site.parts();
  GpuBuffer buffer;
  const bool isHeld = llvm::is_contained(ctx.launch.held, number);
  buffer.memory = isHeld ? heldMemory(site, type)
                         : addArgument(site, memoryOf(type.getElementType()), name,
                                       ArgumentSource::data, number);
  buffer.alignment = isHeld ? heldAlign : 0;
  buffer.isStoredOver = isHeld && ctx.launch.held.back() >= inputsOf(ctx.kernel);
  buffer.strides.resize(type.getRank());
  SmallVector<Value> extents(type.getRank());
  std::optional<int64_t> stride = 1; // of the dense layout
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    const Axis &a = type.getAxes()[axis];
    extents[axis] = a.isStatic() ? x.constant(a.extent)
                                 : addArgument(site, b.getIndexType(), name + "_" + a.name,
                                               ArgumentSource::extent, number, axis);
    // The outermost axes lie where the runtime says, see kernel.h.
    const bool isKnown =
        stride && (isHeld || axis >= penstock::analysis::axesOfRuntime(type, outsideBatch));
    buffer.strides[axis] = isKnown ? x.constant(*stride)
                                   : addArgument(site, b.getIndexType(), name + "_stride_" + a.name,
                                                 ArgumentSource::stride, number, axis);
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
                                ArgumentSource::scalar, scalarNumber));
    ++scalarNumber;
  }
  ctx.launch.inputs = tensors;
  auto outside = ctx.kernel->getAttrOfType<DenseI64ArrayAttr>("outside_n");
  auto last = llvm::cast<ReturnOp>(ctx.kernel.getBody().front().getTerminator());
  for (auto [place, value] : llvm::enumerate(last.getValues())) {
    addTensorArgument(site, {}, typeOf(value), "out" + std::to_string(place), tensors++,
                      outside ? outside[place] : 0);
    // A value computed as a whole goes straight to where it is wanted.
    if (value.getDefiningOp())
      ctx.outputOf.try_emplace(value, place);
  }
  ctx.scratch = addArgument(site, memoryOf(b.getI8Type()), "scratch", ArgumentSource::scratch);
  if (ctx.kernel.getSchedule()->contains("part"))
    ctx.part = addArgument(site, b.getIndexType(), "part", ArgumentSource::part);
}

void penstock::conversion::dropUnusedArguments(GpuContext &ctx) {
  Block &entry = ctx.function.getBody().front();
  SmallVector<KernelArgument> kept;
  llvm::BitVector unused(entry.getNumArguments());
  for (BlockArgument argument : entry.getArguments()) {
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
    else
      kept.push_back(ctx.arguments[argument.getArgNumber()]);
  }
  entry.eraseArguments(unused);
  ctx.function.setFunctionType(ctx.b.getFunctionType(entry.getArgumentTypes(), {}));
  setArguments(ctx.function, kept);
}

//===--- temporaries -------------------------------------------------------===//

FailureOr<GpuBuffer> penstock::conversion::scratchArray(const GpuSite &site, Type element,
                                                        ArrayRef<GpuAxis> axes, int64_t each) {
  auto [ctx, b, x, s] = site.parts();
  const int64_t width = scalarBytes(element);
  GpuBuffer buffer;
  buffer.strides.resize(axes.size() + 1);
  SmallVector<ArgumentExtent> extents;
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
    const auto known = argumentExtentOf(ctx.kernel, tensor, axis);
    if (!known)
      return ctx.kernel.emitError("needs a temporary whose extent the kernel itself computes; "
                                  "extents of temporaries are constants or arguments");
    extents.push_back(*known);
  }
  Value &used = *site.scratchUsed;
  addScratch(ctx.scratchNeed, bytes, extents);
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
