// SPDX-License-Identifier: Apache-2.0
//
// Arguments and buffers of a kernel.
#include "compiler/Conversion/KernelToLoops/Context.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/Scratch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/abi/kernel.h"
#include <cstddef>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

Context::Context(KernelOp kernel, func::FuncOp function, int64_t &nextCheck)
    : kernel(kernel), function(function), nextCheck(nextCheck), b(kernel.getContext()) {
  if (auto schedule = kernel.getSchedule()) {
    if (auto level = schedule->getAs<IntegerAttr>("level"))
      has = lane::featuresOf(level.getInt());
    streaming = schedule->contains("streaming");
    reciprocals = schedule->contains("reciprocals");
  }
}

Site::Site(Context &ctx, Location loc) : ctx(ctx), m(Lanes(ctx.b, loc, ctx.has)) {
  m.l.reciprocals = ctx.reciprocals;
}

Site Site::withLanes(int64_t lanes) const {
  Site site = *this;
  site.m.l.lanes = lanes;
  return site;
}

Site Site::withLive(std::optional<LiveLanes> live) const {
  Site site = *this;
  site.m.live = live;
  return site;
}

Site Site::whereRare() const {
  Site site = *this;
  site.m.rare = true;
  return site;
}

Site Site::withOp(Location loc, Block *top) const {
  Site site = withLanes(1);
  site.m.l.loc = loc;
  site.top = top;
  return site;
}

std::optional<int64_t> Site::specializedArm(Operation *choose) const {
  for (auto [known, arm] : specialized)
    if (known == choose)
      return arm;
  return std::nullopt;
}

const Buffer *Site::buffer(Value tensor) const {
  for (const LocalBuffers *near = local; near; near = near->around)
    for (const auto &[known, buffer] : near->buffers)
      if (known == tensor)
        return buffer ? &*buffer : nullptr;
  auto found = ctx.buffers.find(tensor);
  return found == ctx.buffers.end() ? nullptr : &found->second;
}

static Buffer argumentBuffer(const Site &site, int64_t number, NamedTensorType type,
                             penstock::analysis::Strides known);

//===--- arguments ---------------------------------------------------------------===//

void penstock::conversion::unpackArguments(const Site &site) {
  auto [ctx, b, l, m] = site.parts();
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto field = [&](Type type, size_t offset) {
    return m.loadPlain(type, m.address(ctx.args, l.i64(static_cast<int64_t>(offset))));
  };
  ctx.args = ctx.function.getArgument(0);
  ctx.slots = field(pointer, offsetof(pst_kernel_args, scalars));
  if (ctx.kernel.getKind() != "pixels" && ctx.kernel.getBody().getNumArguments() == 0)
    return;
  ctx.tensors = field(pointer, offsetof(pst_kernel_args, tensors));
  ctx.scratch = field(pointer, offsetof(pst_kernel_args, scratch));
  ctx.band[0] = field(b.getI64Type(), offsetof(pst_kernel_args, band));
  ctx.band[1] = field(b.getI64Type(), offsetof(pst_kernel_args, band) + 8);
  int64_t tensor = 0, number = 0;
  for (BlockArgument argument : ctx.kernel.getBody().getArguments()) {
    if (auto type = llvm::dyn_cast<NamedTensorType>(argument.getType())) {
      ctx.buffers[argument] =
          argumentBuffer(site, tensor, type, penstock::analysis::inputStrides(ctx.kernel, tensor));
      ++tensor;
      ctx.buffers[argument].constant = true;
    } else
      ctx.scalars[argument] = scalarFromSlot(site, slotAddress(site, number++), argument.getType());
  }
  for (auto [place, value] :
       llvm::enumerate(ctx.kernel.getBody().front().getTerminator()->getOperands())) {
    Buffer output =
        argumentBuffer(site, tensor++, llvm::cast<NamedTensorType>(value.getType()),
                       penstock::analysis::outputStrides(ctx.kernel, static_cast<int64_t>(place)));
    output.written = rangeOfType(output.element);
    output.written->quiet = true;
    ctx.outputs.push_back(output);
  }
}

Value penstock::conversion::slotAddress(const Site &site, int64_t number) {
  auto [ctx, b, l, m] = site.parts();
  return m.address(ctx.slots, l.i64(8 * number));
}

/// The register of an 8-byte entry (pipe.entry says how it is encoded).
LaneValue penstock::conversion::scalarFromSlot(const Site &site, Value address, Type type) {
  auto [ctx, b, l, m] = site.parts();
  const bool isFloat = llvm::isa<FloatType>(type);
  Type stored = isFloat ? Type(b.getF64Type()) : b.getI64Type();
  LaneValue wide = l.wrap(m.loadPlain(stored, address), stored);
  LaneValue value = l.cast(CastMode::value, wide, type);
  value = l.wrap(value.value, type);
  value.range.quiet = isFloat && type != stored; // a conversion leaves none that signals
  return value;
}

static Buffer argumentBuffer(const Site &site, int64_t number, NamedTensorType type,
                             penstock::analysis::Strides known) {
  auto [ctx, b, l, m] = site.parts();
  Value base = m.address(ctx.tensors, l.i64(number * static_cast<int64_t>(sizeof(pst_tensor))));
  Buffer buffer;
  buffer.element = type.getElementType();
  buffer.pointer = m.loadPlain(LLVM::LLVMPointerType::get(b.getContext()), base);
  buffer.known = std::move(known);
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
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

FailureOr<Value> penstock::conversion::scratchBytes(const Site &site, int64_t bytes,
                                                    ArrayRef<TensorAxis> axes) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<ArgumentExtent> factors;
  SmallVector<Value> sizes;
  for (auto [tensor, axis] : axes) {
    const Axis &a = llvm::cast<NamedTensorType>(tensor.getType()).getAxes()[axis];
    if (a.isStatic()) {
      bytes *= a.extent;
      continue;
    }
    const auto factor = argumentExtentOf(ctx.kernel, tensor, axis);
    if (!factor)
      return ctx.kernel.emitError("needs a temporary whose extent the kernel itself computes; "
                                  "extents of temporaries are constants or arguments");
    factors.push_back(*factor);
    sizes.push_back(l.maxS(extent(site, tensor, axis), l.i64(0)));
  }
  Value size = l.i64(bytes);
  for (Value factor : sizes)
    size = l.mul(size, factor);
  addScratch(ctx.scratchNeed, bytes, factors);
  Value start = m.address(ctx.scratch, ctx.scratchUsed);
  Value end = l.add(l.add(ctx.scratchUsed, size), l.i64(2 * scratchAlign - 1));
  ctx.scratchUsed = l.andInt(end, l.i64(-scratchAlign));
  return start;
}

FailureOr<Buffer> penstock::conversion::scratchBuffer(const Site &site, Value tensor) {
  auto [ctx, b, l, m] = site.parts();
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  Buffer buffer;
  buffer.element = type.getElementType();
  buffer.known = penstock::analysis::denseStrides(type);
  buffer.strides.resize(type.getRank());
  Value stride = l.i64(scalarBytes(buffer.element));
  SmallVector<TensorAxis> axes;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    buffer.strides[axis] = stride;
    stride = l.mul(stride, extent(site, tensor, axis));
    axes.push_back({tensor, axis});
  }
  buffer.written = rangeOfType(buffer.element);
  buffer.written->quiet = true;
  auto start = scratchBytes(site, scalarBytes(buffer.element), axes);
  if (failed(start))
    return failure();
  buffer.pointer = *start;
  buffer.roomy = true; // up to the next one's alignment, and beyond
  return buffer;
}

FailureOr<Buffer> penstock::conversion::wholeBuffer(const Site &site, Value tensor, bool aligned) {
  auto [ctx, b, l, m] = site.parts();
  for (auto &[value, output] : ctx.tileOutputs)
    if (value == tensor)
      return output;
  for (auto [value, output] :
       llvm::zip(ctx.kernel.getBody().front().getTerminator()->getOperands(), ctx.outputs))
    if (value == tensor)
      return output;
  NamedTensorType type = typeOf(tensor);
  if (!aligned || !type.isStatic() || type.getRank() < 2)
    return scratchBuffer(site, tensor);
  const SmallVector<int64_t> none(type.getRank(), 0);
  return marginBuffer(site, tensor, {Border::edge, none, none});
}

FailureOr<Buffer> penstock::conversion::bufferFor(const Site &site, Value tensor) {
  Context &ctx = site.ctx;
  if (const Buffer *present = site.buffer(tensor))
    return *present;
  auto buffer = wholeBuffer(site, tensor);
  if (succeeded(buffer))
    ctx.buffers[tensor] = *buffer;
  return buffer;
}

Value penstock::conversion::readOnlyData(const Site &site, std::string bytes) {
  auto [ctx, b, l, m] = site.parts();
  ModuleOp module = ctx.function->getParentOfType<ModuleOp>();
  bytes.resize(bytes.size() + 64); // vector loads may read past the end
  StringAttr content = b.getStringAttr(bytes);
  LLVM::GlobalOp global;
  for (auto present : module.getOps<LLVM::GlobalOp>())
    if (present.getValueOrNull() == content)
      global = present;
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    int64_t count = std::distance(module.getOps<LLVM::GlobalOp>().begin(),
                                  module.getOps<LLVM::GlobalOp>().end());
    global = b.create<LLVM::GlobalOp>(
        l.loc, LLVM::LLVMArrayType::get(b.getI8Type(), content.size()), /*isConstant=*/true,
        LLVM::Linkage::Internal, "pst.table." + std::to_string(count), content, 64);
  }
  return b.create<LLVM::AddressOfOp>(l.loc, LLVM::LLVMPointerType::get(b.getContext()),
                                     global.getSymName());
}
