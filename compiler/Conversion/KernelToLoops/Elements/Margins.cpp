// SPDX-License-Identifier: Apache-2.0
//
// Elements that windows read beyond the ends of their axes.
//
// A window runs over the ends of its axes in the first and last vector of every row, which
// is most of the vectors of a short row. Where its input is stored with a margin, of elements
// that the border makes up, all reads are plain ones, the code exists once, and neighbours
// of several windows share their loads. Values that are stored anyway get their margins for
// nothing but these; others are copied where a window reads enough of them.
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Elements of a margin that are copied without a loop around them.
static constexpr int64_t unrolledElements = 8;

/// Returns whether what the window reads outside of its input is there.
bool penstock::conversion::hasMargin(const Site &site, WindowOp op) {
  auto [ctx, b, l, m] = site.parts();
  Value root = penstock::analysis::rootOf(op);
  auto found = ctx.margins.find(root);
  return found != ctx.margins.end() && penstock::analysis::holds(found->second, op);
}

/// Room for a tensor and its margins; the pointer is that of its first element.
FailureOr<Buffer> penstock::conversion::marginBuffer(const Site &site, Value tensor,
                                                     const Margin &margin) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(tensor);
  Buffer buffer;
  buffer.element = type.getElementType();
  const auto room = penstock::analysis::roomOf(type, margin);
  buffer.known = room.strides;
  buffer.strides.resize(type.getRank());
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis)
    buffer.strides[axis] = l.i64(*room.strides[axis]);
  buffer.written = rangeOfType(buffer.element);
  buffer.written->quiet = true;
  auto start = scratchBytes(site, room.bytes, {});
  if (failed(start))
    return failure();
  buffer.pointer = m.address(*start, l.i64(room.before));
  buffer.roomy = true;
  return buffer;
}

/// Copies `bytes` from one place to another, or zeros where `from` is null.
static void copyBytes(const Site &site, Value to, Value from, int64_t bytes) {
  auto [ctx, b, l, m] = site.parts();
  int64_t size = l.has.registerBytes;
  while (size > bytes)
    size /= 2;
  auto type = size > 8 ? Type(VectorType::get({size}, b.getI8Type()))
                       : Type(b.getIntegerType(static_cast<unsigned>(8 * size)));
  auto copy = [&](Value at) {
    Value value = from ? b.create<LLVM::LoadOp>(l.loc, type, m.address(from, at), 1).getResult()
                       : b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(type)).getResult();
    b.create<LLVM::StoreOp>(l.loc, value, m.address(to, at), 1);
  };
  if (bytes <= 4 * size) {
    for (int64_t at = 0; at < bytes; at += size)
      copy(l.i64(std::min(at, bytes - size)));
    return;
  }
  forLoop(site, l.i64(0), l.i64(bytes), size,
          [&](Value at) { copy(bytes % size ? l.minS(at, l.i64(bytes - size)) : at); });
}

/// Along the innermost axis first, so that those further out copy whole rows with their ends.
static void fillMargins(const Site &site, Value tensor, const Buffer &buffer,
                        const Margin &margin) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(tensor);
  Value start = buffer.pointer;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    const int64_t extent = type.getAxes()[axis].extent, bytes = *buffer.known[axis];
    SmallVector<Value> outer;
    for (int64_t before = 0; before < axis; ++before)
      outer.push_back(l.i64(type.getAxes()[before].extent));
    auto sourceOf = [&](Value place) -> Value {
      Value inside;
      return margin.border == Border::constant
                 ? Value()
                 : bordered(site, m.uniform(place), l.i64(extent), margin.border, inside).base;
    };
    auto copy = [&](Value row, Value place, Value source) {
      auto at = [&](Value index) { return m.address(row, l.mul(index, l.i64(bytes))); };
      copyBytes(site, at(place), source ? at(source) : Value(), bytes);
    };
    auto eachRow = [&](llvm::function_ref<void(Value)> body) {
      carriedNest(b, l, outer, {}, [&](ArrayRef<Value> where, ValueRange) {
        Value row = start;
        for (auto [before, index] : llvm::enumerate(where))
          row = m.address(row, l.mul(index, buffer.strides[before]));
        body(row);
        return SmallVector<Value>{};
      });
    };
    const std::pair<int64_t, int64_t> ends[] = {{-margin.low[axis], 0},
                                                {extent, extent + margin.high[axis]}};
    if (margin.low[axis] + margin.high[axis] <= unrolledElements) {
      SmallVector<std::pair<Value, Value>> places;
      for (auto [from, to] : ends)
        for (int64_t place = from; place < to; ++place)
          places.emplace_back(l.i64(place), sourceOf(l.i64(place)));
      if (!places.empty())
        eachRow([&](Value row) {
          for (auto [place, source] : places)
            copy(row, place, source);
        });
    } else {
      for (auto [from, to] : ends)
        forLoop(site, l.i64(from), l.i64(to), 1, [&](Value place) {
          Value source = sourceOf(place);
          eachRow([&](Value row) { copy(row, place, source); });
        });
    }
    start = m.address(start, l.i64(-margin.low[axis] * bytes));
  }
}

/// Copies the bytes of a tensor that lies elsewhere, whose axes but the outermost are dense.
void penstock::conversion::copyTensor(const Site &site, Value tensor, const Buffer &from,
                                      const Buffer &to) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(tensor);
  int64_t run = type.getRank(); // the axes from here on are one run in both
  int64_t bytes = scalarBytes(to.element);
  while (run > 0 && from.known[run - 1] == bytes && to.known[run - 1] == bytes)
    bytes *= type.getAxes()[--run].extent;
  SmallVector<Value> outer;
  for (const Axis &axis : type.getAxes().take_front(run))
    outer.push_back(l.i64(axis.extent));
  carriedNest(b, l, outer, {}, [&](ArrayRef<Value> where, ValueRange) {
    Value source = from.pointer, target = to.pointer;
    for (auto [axis, index] : llvm::enumerate(where)) {
      source = m.address(source, l.mul(index, from.strides[axis]));
      target = m.address(target, l.mul(index, to.strides[axis]));
    }
    copyBytes(site, target, source, bytes);
    return SmallVector<Value>{};
  });
}

/// Stores what the window reads, with margins, where that pays.
LogicalResult penstock::conversion::prepareMargins(const Site &site, WindowOp op) {
  auto [ctx, b, l, m] = site.parts();
  Value root = penstock::analysis::rootOf(op);
  if (!penstock::analysis::isPlain(op) || ctx.margins.contains(root) || ctx.single.contains(root) ||
      op->getBlock() != &ctx.kernel.getBody().front() || ctx.verticals.contains(root))
    return success();
  auto margin = penstock::analysis::marginOf(ctx.kernel, root, /*asCopy=*/true);
  if (!margin)
    return success();
  auto buffer = marginBuffer(site, root, *margin);
  if (failed(buffer))
    return failure();
  if (const Buffer *stored = site.buffer(root)) {
    const Buffer from = *stored;
    copyTensor(site, root, from, *buffer);
    buffer->written = from.written;
  } else {
    storeTensor(site, root, *buffer, shapeOf(root), l.i64(0), extent(site, root, 0));
  }
  keepMargins(site, root, *buffer, *margin);
  return success();
}

void penstock::conversion::keepMargins(const Site &site, Value tensor, Buffer buffer,
                                       const Margin &margin) {
  auto [ctx, b, l, m] = site.parts();
  fillMargins(site, tensor, buffer, margin);
  if (margin.border == Border::constant && buffer.written)
    buffer.written = hull(*buffer.written, Interval::constant(0));
  ctx.buffers[tensor] = buffer;
  ctx.margins[tensor] = margin;
}
