// SPDX-License-Identifier: Apache-2.0
//
// Wide windows by spans of their rows.
#include "compiler/Schedules/WindowSpans.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Schedules/WindowReductions.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Spans that make one of the next ones: two take twice as many passes, eight more reads.
static constexpr int64_t radix = 4;
/// Neighbours from which on these are faster, where a row of spans stays in a near cache, and where
/// it does not.
static constexpr int64_t fewestNear = 16, fewestFar = 48, nearBytes = int64_t{2} << 20;
/// Bytes of all rows of spans, at most.
static constexpr int64_t mostScratch = int64_t{1} << 28;

namespace {
/// Spans reduced, one for each place where one begins.
struct Level {
  Value spans;
  int64_t length;
};

class Spans {
public:
  Spans(ReducedWindow window, SmallVectorImpl<Operation *> &stored)
      : window(std::move(window)), op(this->window.op), b(op), stored(stored),
        type(tensorOf(op.getInput())),
        axis(type.axisIndex(llvm::cast<StringAttr>(op.getOver()[0]))) {}
  void run();

private:
  int64_t extent(Value row) { return tensorOf(row).getAxes()[axis].extent; }
  NamedTensorType rowType(int64_t extent, Type element);
  Value view(Value row, int64_t first, int64_t extent);
  MapOp map(ValueRange inputs, NamedTensorType to, llvm::function_ref<Value(ValueRange)> body);
  Value store(Operation *made) {
    stored.push_back(made);
    return made->getResult(0);
  }
  Value paddedInput();
  Value terms(Value row, const WindowTerm &model, Type element);
  Value combined(ArrayRef<std::pair<Value, int64_t>> parts, int64_t first, int64_t extent,
                 BinaryOp by);
  Value reduced(Value padded, WindowReduction &reduction);

  ReducedWindow window;
  WindowOp op;
  OpBuilder b;
  SmallVectorImpl<Operation *> &stored;
  NamedTensorType type;
  int64_t axis;
};
} // namespace

NamedTensorType Spans::rowType(int64_t extent, Type element) {
  SmallVector<Axis> axes(type.getAxes());
  axes[static_cast<size_t>(axis)].extent = extent;
  return NamedTensorType::get(element, axes);
}

Value Spans::view(Value row, int64_t first, int64_t extent) {
  SmallVector<AffineExpr> places;
  for (unsigned k = 0; k < static_cast<unsigned>(type.getRank()); ++k)
    places.push_back(b.getAffineDimExpr(k));
  places[static_cast<size_t>(axis)] = places[static_cast<size_t>(axis)] + first;
  auto at = AffineMap::get(static_cast<unsigned>(type.getRank()), 0, places, b.getContext());
  return b.create<ViewOp>(op.getLoc(), rowType(extent, tensorOf(row).getElementType()), row,
                          AffineMapAttr::get(at), ValueRange(), ValueRange());
}

MapOp Spans::map(ValueRange inputs, NamedTensorType to,
                 llvm::function_ref<Value(ValueRange)> body) {
  auto made = b.create<MapOp>(op.getLoc(), to, inputs, ValueRange());
  SmallVector<Type> types;
  for (Value input : inputs)
    types.push_back(tensorOf(input).getElementType());
  types.append(static_cast<size_t>(to.getRank()), b.getI64Type());
  OpBuilder::InsertionGuard guard(b);
  Block *block =
      b.createBlock(&made.getBody(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  SmallVector<Value> elements(block->getArguments().take_front(inputs.size()));
  b.create<YieldOp>(op.getLoc(), body(elements));
  return made;
}

/// The input with what lies beyond its ends, as far as the window looks.
Value Spans::paddedInput() {
  const int64_t low = std::max<int64_t>(-op.getLow()[0], 0),
                high = std::max<int64_t>(op.getHigh()[0], 0);
  const NamedTensorType padded =
      rowType(type.getAxes()[axis].extent + low + high, type.getElementType());
  return b.create<PadOp>(op.getLoc(), padded, op.getBorder(), op.getInput(), op.getOver(),
                         ValueRange(ScalarBuilder(b, op.getLoc()).constant(low)), op.getFill(),
                         ValueRange());
}

/// What the body makes of each neighbour alone.
Value Spans::terms(Value row, const WindowTerm &model, Type element) {
  return store(map(row, rowType(extent(row), element), [&](ValueRange elements) {
    IRMapping copies;
    copies.map(Value(model.neighbour), elements[0]);
    Value made = elements[0];
    for (Operation *inner : model.operations)
      made = b.clone(*inner, copies)->getResult(0);
    return made;
  }));
}

/// Elements of several rows, each so many places further on, reduced to one.
Value Spans::combined(ArrayRef<std::pair<Value, int64_t>> parts, int64_t first, int64_t extent,
                      BinaryOp by) {
  SmallVector<Value> views;
  for (auto [row, further] : parts)
    views.push_back(view(row, first + further, extent));
  return map(views, rowType(extent, by.getType()), [&](ValueRange elements) {
    Value all = elements[0];
    for (Value next : elements.drop_front())
      all = b.create<BinaryOp>(by.getLoc(), by.getType(), by.getKind(), all, next);
    return all;
  });
}

Value Spans::reduced(Value padded, WindowReduction &reduction) {
  const WindowTerm &model = reduction.terms[0];
  BinaryOp root = reduction.root;
  const int64_t count = reduction.count();
  SmallVector<Level> levels;
  levels.push_back({model.operations.empty() ? padded : terms(padded, model, root.getType()), 1});
  while (levels.back().length * radix < count) {
    const Level last = levels.back();
    SmallVector<std::pair<Value, int64_t>> parts;
    for (int64_t k = 0; k < radix; ++k)
      parts.emplace_back(last.spans, k * last.length);
    const int64_t left = extent(last.spans) - (radix - 1) * last.length;
    Value spans = combined(parts, 0, left, root);
    levels.push_back({store(spans.getDefiningOp()), radix * last.length});
  }
  const bool overlaps = root.getKind() != BinaryKind::add && root.getKind() != BinaryKind::bit_xor;
  SmallVector<std::pair<Value, int64_t>> parts;
  int64_t done = 0;
  for (const Level &level : llvm::reverse(levels)) {
    for (; done + level.length <= count; done += level.length)
      parts.emplace_back(level.spans, done);
    if (overlaps && done < count) {
      parts.emplace_back(level.spans, count - level.length);
      done = count;
    }
  }
  const int64_t first = op.getLow()[0] + reduction.first() + std::max<int64_t>(-op.getLow()[0], 0);
  return combined(parts, first, type.getAxes()[axis].extent, root);
}

void Spans::run() {
  Value padded = paddedInput();
  if (llvm::any_of(window.reductions, [](WindowReduction &reduction) {
        return reduction.terms[0].operations.empty();
      }))
    store(padded.getDefiningOp());
  SmallVector<Value> results;
  for (WindowReduction &reduction : window.reductions)
    results.push_back(reduced(padded, reduction));
  window.putTogether(results);
}

/// Returns whether passes over stored rows are less than the window's reads, and there is room.
static bool isWorthSpans(ReducedWindow &window) {
  const NamedTensorType type = tensorOf(window.op.getInput());
  if (!type.isStatic() || type.numElements() == 0)
    return false;
  int64_t most = 0, rows = 0, bytes = scalarBytes(type.getElementType());
  for (WindowReduction &reduction : window.reductions) {
    most = std::max(most, reduction.count());
    bytes = std::max(bytes, scalarBytes(reduction.root.getType()));
    for (int64_t length = 1; length < reduction.count(); length *= radix)
      ++rows;
  }
  const int64_t axis = type.axisIndex(llvm::cast<StringAttr>(window.op.getOver()[0])),
                along = type.getAxes()[axis].extent;
  bytes *= type.numElements() / along * (along + window.along(0));
  return most >= (bytes <= nearBytes ? fewestNear : fewestFar) && rows * bytes <= mostScratch;
}

SmallVector<Operation *> penstock::schedules::spanWindows(KernelOp kernel) {
  SmallVector<Operation *> stored;
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<WindowOp>())) {
    if (op.getOver().size() != 1)
      continue;
    if (std::optional<ReducedWindow> window = reducedWindow(op); window && isWorthSpans(*window))
      Spans(std::move(*window), stored).run();
  }
  return stored;
}
