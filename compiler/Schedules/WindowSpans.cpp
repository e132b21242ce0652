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
/// Neighbours from which on these are faster, where a row of spans stays in a near cache: less is
/// gained where the direct way adds bytes up in half of the registers, or axes are short. And
/// where it does not.
static constexpr int64_t fewestNear = 16, fewestOfSum = 32, fewestOfVolume = 32, fewestFar = 48,
                         nearBytes = int64_t{2} << 20;
/// Bytes of all rows of spans, at most.
static constexpr int64_t mostScratch = int64_t{1} << 28;

namespace {
/// Spans reduced, one for each place where one begins, and where keys lie apart, their places.
struct Row {
  Value values, places;
};
struct Level {
  Row spans;
  int64_t length;
};

/// A key and its place as one integer, the key above: places of the greatest count down, so that of
/// equal keys the first one wins. Where no integer is as wide, places lie apart, in their own row.
struct PlacedKey {
  IntegerType type; ///< of both, or of a place that lies apart
  bool isApart = false;
  SmallVector<int64_t> bits; ///< of the place along each axis of the window
  int64_t placeBits = 0;

  int64_t mask() const { return (int64_t{1} << placeBits) - 1; }
};

class Spans {
public:
  Spans(ReducedWindow window, SmallVectorImpl<Operation *> &stored)
      : window(std::move(window)), op(this->window.op), b(op), stored(stored),
        type(tensorOf(op.getInput())) {
    for (auto name : op.getOver().getAsRange<StringAttr>())
      axes.push_back(type.axisIndex(name));
  }
  bool isWorthIt();
  void run();

private:
  /// Elements before the row, and how far into the padded row the window of element 0 begins.
  int64_t before(size_t k) { return std::max<int64_t>(-op.getLow()[k], 0); }
  int64_t start(size_t k) { return op.getLow()[k] + before(k); }
  int64_t paddedExtent(size_t k) {
    return type.getAxes()[axes[k]].extent + before(k) + std::max<int64_t>(op.getHigh()[k], 0);
  }
  int64_t count(const WindowReduction &reduction, size_t k) {
    return axes.size() == 1 ? reduction.count() : window.along(k);
  }
  PlacedKey placedKey(const WindowReduction &reduction);
  Type elementOf(const WindowReduction &reduction) {
    const bool isBoth = reduction.isPlace && !placedKey(reduction).isApart;
    return isBoth ? Type(placedKey(reduction).type) : reduction.terms[0].type(type);
  }
  Value view(Value row, int64_t axis, int64_t first, int64_t extent);
  MapOp map(ValueRange inputs, NamedTensorType to,
            llvm::function_ref<Value(ValueRange, ValueRange)> body);
  Value store(Operation *made) {
    stored.push_back(made);
    return made->getResult(0);
  }
  Value binary(BinaryKind kind, Value x, Value y) {
    return b.create<BinaryOp>(op.getLoc(), x.getType(), kind, x, y);
  }
  Value binary(BinaryKind kind, Value x, int64_t number) {
    const IntegerAttr value = b.getIntegerAttr(x.getType(), number);
    return binary(kind, x, b.create<ConstantOp>(op.getLoc(), x.getType(), value));
  }
  Value cast(Value x, Type to) {
    return x.getType() == to
               ? x
               : b.create<CastOp>(op.getLoc(), to, CastMode::value, x, ValueRange()).getResult();
  }
  Value paddedInput();
  Row terms(Value row, const WindowReduction &reduction);
  Value placeAt(ValueRange places, const PlacedKey &both);
  Value withPlace(Value key, ValueRange places, const WindowReduction &reduction);
  Value placeOf(Value both, ValueRange places, const WindowReduction &reduction);
  Row combined(ArrayRef<std::pair<Row, int64_t>> parts, int64_t axis, int64_t first, int64_t extent,
               BinaryKind by);
  Row reducedAlong(Row row, size_t k, const WindowReduction &reduction);

  ReducedWindow window;
  WindowOp op;
  OpBuilder b;
  SmallVectorImpl<Operation *> &stored;
  NamedTensorType type;
  SmallVector<int64_t> axes;
};
} // namespace

static NamedTensorType withExtent(NamedTensorType type, int64_t axis, int64_t extent) {
  SmallVector<Axis> axes(type.getAxes());
  axes[static_cast<size_t>(axis)].extent = extent;
  return type.withAxes(axes);
}

Value Spans::view(Value row, int64_t axis, int64_t first, int64_t extent) {
  SmallVector<AffineExpr> places;
  const auto rank = static_cast<unsigned>(type.getRank());
  for (unsigned k = 0; k < rank; ++k)
    places.push_back(b.getAffineDimExpr(k) + (k == axis ? first : 0));
  return b.create<ViewOp>(op.getLoc(), withExtent(tensorOf(row), axis, extent), row,
                          AffineMapAttr::get(AffineMap::get(rank, 0, places, b.getContext())),
                          ValueRange(), ValueRange());
}

MapOp Spans::map(ValueRange inputs, NamedTensorType to,
                 llvm::function_ref<Value(ValueRange, ValueRange)> body) {
  auto made = b.create<MapOp>(op.getLoc(), to, inputs, ValueRange());
  SmallVector<Type> types;
  for (Value input : inputs)
    types.push_back(tensorOf(input).getElementType());
  types.append(static_cast<size_t>(to.getRank()), b.getI64Type());
  OpBuilder::InsertionGuard guard(b);
  Block *block =
      b.createBlock(&made.getBody(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  SmallVector<Value> arguments(block->getArguments());
  b.create<YieldOp>(op.getLoc(), body(ArrayRef(arguments).take_front(inputs.size()),
                                      ArrayRef(arguments).drop_front(inputs.size())));
  return made;
}

/// The input with what lies beyond its ends, as far as the window looks.
Value Spans::paddedInput() {
  NamedTensorType padded = type;
  SmallVector<Value> low;
  for (auto [k, axis] : llvm::enumerate(axes)) {
    padded = withExtent(padded, axis, paddedExtent(k));
    low.push_back(ScalarBuilder(b, op.getLoc()).constant(before(k)));
  }
  return b.create<PadOp>(op.getLoc(), padded, op.getBorder(), op.getInput(), op.getOver(), low,
                         op.getFill(), ValueRange());
}

PlacedKey Spans::placedKey(const WindowReduction &reduction) {
  Type key = reduction.terms[0].type(type);
  PlacedKey made;
  for (size_t k = 0; k < axes.size(); ++k) {
    made.bits.push_back(llvm::Log2_64_Ceil(static_cast<uint64_t>(paddedExtent(k))));
    made.placeBits += made.bits.back();
  }
  const int64_t both = key.getIntOrFloatBitWidth() + isUnsigned(key) + made.placeBits;
  made.isApart = both > 64;
  made.type = both <= 32 ? b.getI32Type() : b.getI64Type();
  return made;
}

/// Where an element stands in the padded input, as one number.
Value Spans::placeAt(ValueRange places, const PlacedKey &both) {
  Value place;
  for (auto [k, axis] : llvm::enumerate(axes)) {
    Value along = cast(places[static_cast<size_t>(axis)], both.type);
    place = place ? binary(BinaryKind::add, binary(BinaryKind::shl, place, both.bits[k]), along)
                  : along;
  }
  return place;
}

Value Spans::withPlace(Value key, ValueRange places, const WindowReduction &reduction) {
  const PlacedKey both = placedKey(reduction);
  Value place = placeAt(places, both);
  if (reduction.kind == BinaryKind::max)
    place = binary(BinaryKind::bit_xor, place, both.mask());
  return binary(BinaryKind::bit_or, binary(BinaryKind::shl, cast(key, both.type), both.placeBits),
                place);
}

/// The number of the neighbour that stands there, among those of the element at `places`.
Value Spans::placeOf(Value found, ValueRange places, const WindowReduction &reduction) {
  const PlacedKey both = placedKey(reduction);
  if (reduction.kind == BinaryKind::max && !both.isApart)
    found = binary(BinaryKind::bit_xor, found, both.mask());
  Value number;
  int64_t shift = both.placeBits;
  for (auto [k, axis] : llvm::enumerate(axes)) {
    shift -= both.bits[k];
    Value along = binary(BinaryKind::bit_and, binary(BinaryKind::shr, found, shift),
                         (int64_t{1} << both.bits[k]) - 1);
    Value from = cast(places[static_cast<size_t>(axis)], both.type);
    along = binary(BinaryKind::sub, binary(BinaryKind::sub, along, from),
                   start(k) + (axes.size() == 1 ? reduction.first() : 0));
    number = number
                 ? binary(BinaryKind::add, binary(BinaryKind::mul, number, window.along(k)), along)
                 : along;
  }
  return cast(number, reduction.type());
}

/// What the body makes of each neighbour alone.
Row Spans::terms(Value row, const WindowReduction &reduction) {
  const WindowTerm &model = reduction.terms[0];
  const bool isApart = reduction.isPlace && placedKey(reduction).isApart;
  const NamedTensorType from = tensorOf(row);
  Row made;
  made.values = store(map(
      row, from.withElementType(elementOf(reduction)), [&](ValueRange elements, ValueRange places) {
        IRMapping copies;
        copies.map(Value(model.neighbour), elements[0]);
        Value term = elements[0];
        for (Operation *inner : model.operations)
          term = b.clone(*inner, copies)->getResult(0);
        return reduction.isPlace && !isApart ? withPlace(term, places, reduction) : term;
      }));
  if (isApart)
    made.places =
        map(row, from.withElementType(placedKey(reduction).type),
            [&](ValueRange, ValueRange places) { return placeAt(places, placedKey(reduction)); });
  return made;
}

/// Several rows, each so many places further on, reduced to one; of equal keys the first one stays.
Row Spans::combined(ArrayRef<std::pair<Row, int64_t>> parts, int64_t axis, int64_t first,
                    int64_t extent, BinaryKind by) {
  SmallVector<Value> views, places;
  for (auto [row, further] : parts) {
    views.push_back(view(row.values, axis, first + further, extent));
    if (row.places)
      places.push_back(view(row.places, axis, first + further, extent));
  }
  auto best = [&](ValueRange elements, ValueRange) {
    Value all = elements[0],
          place = elements.size() > parts.size() ? elements[parts.size()] : Value();
    for (size_t part = 1; part < parts.size(); ++part) {
      Value next = elements[part];
      if (place) {
        Value better = b.create<CompareOp>(
            op.getLoc(), by == BinaryKind::min ? Predicate::lt : Predicate::gt, next, all);
        place = b.create<SelectOp>(op.getLoc(), better, elements[parts.size() + part], place);
      }
      all = binary(by, all, next);
    }
    return place ? place : all;
  };
  Row made{map(views, tensorOf(views[0]), best), {}};
  views.append(places);
  if (!places.empty())
    made.places = map(views, tensorOf(places[0]), best);
  return made;
}

Row Spans::reducedAlong(Row row, size_t k, const WindowReduction &reduction) {
  const int64_t count = this->count(reduction, k), axis = axes[k];
  SmallVector<Level> levels{{row, 1}};
  while (levels.back().length * radix < count) {
    const Level last = levels.back();
    SmallVector<std::pair<Row, int64_t>> parts;
    for (int64_t part = 0; part < radix; ++part)
      parts.emplace_back(last.spans, part * last.length);
    const int64_t left =
        tensorOf(last.spans.values).getAxes()[axis].extent - (radix - 1) * last.length;
    const Row spans = combined(parts, axis, 0, left, reduction.kind);
    for (Value made : {spans.values, spans.places})
      if (made)
        store(made.getDefiningOp());
    levels.push_back({spans, radix * last.length});
  }
  const bool overlaps = reduction.kind != BinaryKind::add && reduction.kind != BinaryKind::bit_xor;
  SmallVector<std::pair<Row, int64_t>> parts;
  int64_t done = 0;
  for (const Level &level : llvm::reverse(levels)) {
    for (; done + level.length <= count; done += level.length)
      parts.emplace_back(level.spans, done);
    if (overlaps && done < count) {
      parts.emplace_back(level.spans, count - level.length);
      done = count;
    }
  }
  return combined(parts, axis, start(k) + (axes.size() == 1 ? reduction.first() : 0),
                  type.getAxes()[axis].extent, reduction.kind);
}

void Spans::run() {
  Value padded = paddedInput();
  auto readsElements = [](const WindowReduction &reduction) {
    return reduction.terms[0].operations.empty() && !reduction.isPlace;
  };
  if (llvm::any_of(window.reductions, readsElements))
    store(padded.getDefiningOp());
  SmallVector<Value> results;
  for (const WindowReduction &reduction : window.reductions) {
    Row row = readsElements(reduction) ? Row{padded, {}} : terms(padded, reduction);
    // Of equal keys whose places lie apart the first one along an axis stays: the fastest axis
    // first.
    for (size_t k = 0; k < axes.size(); ++k)
      row = reducedAlong(row, row.places ? axes.size() - 1 - k : k, reduction);
    if (row.places)
      row.values.getDefiningOp()->erase();
    if (reduction.isPlace)
      row.values = map(row.places ? row.places : row.values, type.withElementType(reduction.type()),
                       [&](ValueRange found, ValueRange places) {
                         return placeOf(found[0], places, reduction);
                       });
    results.push_back(row.values);
  }
  window.putTogether(results);
}

/// Returns whether passes over stored rows are less than the window's reads, and there is room.
bool Spans::isWorthIt() {
  if (!type.isStatic() || type.numElements() == 0)
    return false;
  bool isWide = false;
  int64_t rows = 0, bytes = scalarBytes(type.getElementType()), neighbours = 1;
  for (size_t k = 0; k < axes.size(); ++k)
    neighbours *= window.along(k);
  for (const WindowReduction &reduction : window.reductions) {
    if (axes.size() > 1 && reduction.count() != neighbours)
      return false;
    bytes = std::max(bytes, scalarBytes(elementOf(reduction)));
    for (size_t k = 0; k < axes.size(); ++k)
      for (int64_t length = 1; length < count(reduction, k); length *= radix)
        rows += reduction.isPlace && placedKey(reduction).isApart ? 2 : 1;
  }
  bytes *= type.numElements();
  for (auto [k, axis] : llvm::enumerate(axes))
    bytes = bytes / type.getAxes()[axis].extent * paddedExtent(k);
  for (const WindowReduction &reduction : window.reductions) {
    const bool isSum = axes.size() == 1 && reduction.kind == BinaryKind::add;
    const int64_t near = isSum ? fewestOfSum : axes.size() > 2 ? fewestOfVolume : fewestNear;
    isWide |= reduction.count() >= (bytes <= nearBytes ? near : fewestFar);
  }
  return isWide && rows * bytes <= mostScratch;
}

SmallVector<Operation *> penstock::schedules::spanWindows(KernelOp kernel) {
  SmallVector<Operation *> stored;
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<WindowOp>()))
    if (std::optional<ReducedWindow> window = reducedWindow(op)) {
      Spans spans(std::move(*window), stored);
      if (spans.isWorthIt())
        spans.run();
    }
  return stored;
}
