// SPDX-License-Identifier: Apache-2.0
//
// The element of a tensor at given indices.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/Elements/Gather.h"
#include "compiler/Conversion/Elements/Joins.h"
#include "compiler/Conversion/Elements/Points.h"
#include "compiler/Conversion/Elements/Resample.h"
#include "compiler/Conversion/KernelToLoops/Elements/LaneTarget.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Rows/ResampledRows.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/abi/kernel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

Value penstock::conversion::extent(const Site &site, Value tensor, int64_t axis) {
  auto [ctx, b, l, m] = site.parts();
  OpFoldResult known = extentOf(tensor, axis);
  if (auto value = llvm::dyn_cast_if_present<Value>(known))
    return scalarOf(site, value).value;
  if (auto attribute = llvm::dyn_cast_if_present<Attribute>(known))
    return l.i64(llvm::cast<IntegerAttr>(attribute).getInt());
  // An argument's extent stands in its view.
  auto argument = llvm::cast<BlockArgument>(tensor);
  const int64_t offset = static_cast<int64_t>(argument.getArgNumber() * sizeof(pst_tensor) +
                                              offsetof(pst_tensor, extent)) +
                         static_cast<int64_t>(sizeof(int64_t)) * axis;
  return m.loadPlain(b.getI64Type(), m.address(ctx.tensors, l.i64(offset)));
}

/// Notes that other channels may read the same, unless the channel's number is among
/// the indices.
void penstock::conversion::noteRead(const Site &site, ArrayRef<Index> at) {
  if (site.readsShared)
    *site.readsShared |= llvm::none_of(at, [&](const Index &index) {
      return index.uniform() && Lanes::constantOf(index.base) == site.channel;
    });
}

LaneValue penstock::conversion::emit(const Site &site, Value tensor, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  if (const Buffer *stored = site.buffer(tensor)) {
    noteRead(site, at);
    LaneValue value = m.load(*stored, at);
    if (const auto &written = stored->written) // lanes that do not exist read as 0
      value.range = m.live ? hull(*written, Interval::constant(0)) : *written;
    return value;
  }
  if (auto known = ctx.single.find(tensor); known != ctx.single.end())
    return known->second;
  Operation *op = tensor.getDefiningOp();
  assert(op && "tensor arguments have buffers");
  const LaneTarget t{site, anyLanes(at)};
  return llvm::TypeSwitch<Operation *, LaneValue>(op)
      .Case<ViewOp, CastOp, ConstantOp, ConcatOp, StackOp, PlaceOp>(
          [&](auto shared) { return elementOf(t, shared, at); })
      .Case([&](GatherOp gather) {
        if (site.readsShared)
          *site.readsShared = true; // coordinates
        return elementOf(t, gather, at);
      })
      .Case([&](ChooseOp choose) {
        return elementOf(t, choose, llvm::cast<OpResult>(tensor).getResultNumber(), at);
      })
      .Case([&](ResampleOp resample) {
        auto streamed = emitVertical(site, resample, at);
        return streamed ? *streamed : elementOf(t, resample, at);
      })
      .Case([&](MapOp map) { return emitMap(site, map, at); })
      .Case([&](PadOp pad) { return emitPad(site, pad, at); })
      .Case([&](WindowOp window) { return emitWindow(site, window, at); })
      .Case([&](ReduceOp reduce) { return emitReduced(site, reduce, at); })
      .Default(
          [&](Operation *) -> LaneValue { llvm_unreachable("not admitted at the top level"); });
}

//===--- points ---------------------------------------------------------------------===//

void penstock::conversion::bindCoordinates(const Site &site, Block &body, size_t first,
                                           ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  for (auto [axis, index] : llvm::enumerate(at)) {
    ctx.scalars.erase(body.getArgument(first + axis));
    ctx.coordinates[body.getArgument(first + axis)] = index;
  }
}

/// A load from the image's read-only data.
LaneValue LaneTarget::tabled(ConstantOp op, ArrayRef<Index> at) const {
  auto [ctx, b, l, m] = site.parts();
  auto elements = llvm::cast<DenseElementsAttr>(op.getValue());
  NamedTensorType type = typeOf(op.getResult());
  Type element = type.getElementType();
  std::string bytes; // as they lie in memory

  Interval range = Interval::of(std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity());
  for (Attribute attribute : elements.getValues<Attribute>()) {
    APInt bits = llvm::isa<FloatAttr>(attribute)
                     ? llvm::cast<FloatAttr>(attribute).getValue().bitcastToAPInt()
                     : llvm::cast<IntegerAttr>(attribute).getValue();
    double value =
        llvm::isa<FloatAttr>(attribute) ? llvm::cast<FloatAttr>(attribute).getValueAsDouble()
        : isUnsigned(element) || element.isInteger(1) ? static_cast<double>(bits.getZExtValue())
                                                      : static_cast<double>(bits.getSExtValue());
    range.nan |= value != value;
    const Interval one =
        llvm::isa<FloatAttr>(attribute) ? Interval::of(value, value) : whole(value);
    range.low = std::min(range.low, one.low);
    range.high = std::max(range.high, one.high);
    uint64_t raw = bits.getZExtValue();
    for (int64_t byte = 0; byte < scalarBytes(element); ++byte)
      bytes.push_back(static_cast<char>(raw >> (8 * byte)));
  }
  Buffer buffer;
  buffer.constant = true;
  buffer.element = element;
  buffer.pointer = readOnlyData(site, std::move(bytes));
  int64_t stride = scalarBytes(element);
  buffer.known.resize(type.getRank());
  buffer.strides.resize(type.getRank());
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    buffer.known[axis] = stride;
    buffer.strides[axis] = l.i64(stride);
    stride *= type.getAxes()[axis].extent;
  }
  LaneValue value = m.load(buffer, at);
  if (range.low <= range.high)
    value.range = range;
  return value;
}
