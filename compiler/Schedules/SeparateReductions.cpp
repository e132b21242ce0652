// SPDX-License-Identifier: Apache-2.0
//
// One axis of a window after the other.
#include "compiler/Schedules/SeparateReductions.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock::pipe;

static bool isExact(ReduceOp op) {
  const ReduceKind kind = op.getKind();
  if (kind == ReduceKind::sum)
    return llvm::isa<IntegerType>(tensorOf(op.getValue()).getElementType());
  return llvm::is_contained({ReduceKind::min, ReduceKind::max, ReduceKind::any, ReduceKind::all},
                            kind);
}

namespace {
/// Axes of the view: `column` of its input is step * outer + inner + offset.
struct Columns {
  int64_t column, outer, inner, step, offset;
  bool ofPixels = false; ///< channels lie further in
};
} // namespace

/// Channels of a pixel, at most.
static constexpr int64_t mostChannels = 4;

/// step * outer + inner + offset; null for anything else.
static std::optional<Columns> columnsOf(AffineExpr expr, int64_t column, int64_t inner) {
  Columns found{column, -1, inner, 1, 0, false};
  bool fits = true, hasInner = false;
  std::function<void(AffineExpr)> visit = [&](AffineExpr part) {
    auto both = llvm::dyn_cast<AffineBinaryOpExpr>(part);
    if (both && both.getKind() == AffineExprKind::Add) {
      visit(both.getLHS());
      visit(both.getRHS());
      return;
    }
    int64_t factor = 1;
    if (both && both.getKind() == AffineExprKind::Mul)
      if (auto constant = llvm::dyn_cast<AffineConstantExpr>(both.getRHS())) {
        factor = constant.getValue();
        part = both.getLHS();
      }
    if (auto constant = llvm::dyn_cast<AffineConstantExpr>(part)) {
      found.offset += constant.getValue();
    } else if (auto dim = llvm::dyn_cast<AffineDimExpr>(part)) {
      if (dim.getPosition() == inner && factor == 1 && !hasInner) {
        hasInner = true;
      } else if (found.outer < 0 && dim.getPosition() != inner && factor > 0) {
        found.outer = dim.getPosition();
        found.step = factor;
      } else {
        fits = false;
      }
    } else {
      fits = false;
    }
  };
  visit(expr);
  return fits && hasInner && found.outer >= 0 ? std::optional(found) : std::nullopt;
}

/// Returns whether the last axis stays, and is the last one of the view's input: the channels of
/// pixels.
static bool keepsChannels(ViewOp view, ArrayRef<int64_t> over) {
  NamedTensorType in = tensorOf(view.getResult()), source = tensorOf(view.getInput());
  const int64_t last = in.getRank() - 1;
  auto dim = llvm::dyn_cast<AffineDimExpr>(view.getMap().getResults().back());
  return source.getRank() > 1 && !llvm::is_contained(over, last) && dim &&
         dim.getPosition() == last &&
         in.getAxes().back().extent == source.getAxes().back().extent &&
         in.getAxes().back().extent <= mostChannels;
}

/// Where the innermost reduced axis lies in the input of the view below `op`; null where
/// a reduction of each column does not pay, or cannot be said.
static std::optional<Columns> columnsOf(ReduceOp op, ViewOp view) {
  NamedTensorType in = tensorOf(op.getValue()), source = tensorOf(view.getInput());
  SmallVector<int64_t> over;
  for (auto name : op.getOver().getAsRange<StringAttr>())
    over.push_back(in.axisIndex(name));
  llvm::sort(over);
  if (!isExact(op) || over.size() < 2 || !in.isStatic() || !source.isStatic() ||
      !view.getSymbols().empty())
    return std::nullopt;
  const bool ofPixels = keepsChannels(view, over);
  const int64_t inner = over.back(), place = source.getRank() - (ofPixels ? 2 : 1);
  auto columns = columnsOf(view.getMap().getResult(static_cast<unsigned>(place)), place, inner);
  if (!columns || llvm::is_contained(over, columns->outer))
    return std::nullopt;
  columns->ofPixels = ofPixels;
  // Nothing else moves with them.
  for (auto [number, expr] : llvm::enumerate(view.getMap().getResults()))
    for (int64_t axis : {inner, columns->outer})
      if (static_cast<int64_t>(number) != place &&
          expr.isFunctionOfDim(static_cast<unsigned>(axis)))
        return std::nullopt;
  // Rows are runs of pixels where these are read and where they are made.
  for (int64_t axis = columns->outer + 1; ofPixels && axis + 1 < in.getRank(); ++axis)
    if (!llvm::is_contained(over, axis))
      return std::nullopt;
  const int64_t size = in.getAxes()[inner].extent, pieces = in.getAxes()[columns->outer].extent;
  int64_t rows = 1;
  for (int64_t axis : ArrayRef(over).drop_back())
    rows *= in.getAxes()[axis].extent;
  // Conversion adds such tiles up in registers.
  const bool pairsUp = columns->step == size && llvm::isPowerOf2_64(static_cast<uint64_t>(size));
  if (rows < 2 || size < 2 || pieces < 8 || columns->step > size || pairsUp)
    return std::nullopt;
  return columns;
}
/// Returns the value below the casts of `value`, which are listed.
static Value withoutCasts(Value value, SmallVectorImpl<CastOp> &casts) {
  while (auto cast = value.getDefiningOp<CastOp>()) {
    casts.push_back(cast);
    value = cast.getValue();
  }
  return value;
}

/// A view of `tensor`, of whose columns it has `count`, `step` apart, and their neighbours where
/// there is `more`.
static Value viewOfColumns(OpBuilder &b, Location loc, Value tensor, StringRef columns,
                           int64_t count, int64_t step, ArrayRef<Axis> more) {
  NamedTensorType type = tensorOf(tensor);
  SmallVector<AffineExpr> places;
  SmallVector<Axis> read(type.getAxes());
  for (auto [number, axis] : llvm::enumerate(read)) {
    AffineExpr here = b.getAffineDimExpr(static_cast<unsigned>(number));
    if (axis.name == columns) {
      axis.extent = count;
      here = here * step;
      if (!more.empty())
        here = here + b.getAffineDimExpr(static_cast<unsigned>(read.size()));
    }
    places.push_back(here);
  }
  read.append(more.begin(), more.end());
  return b.create<ViewOp>(loc, NamedTensorType::get(type.getElementType(), read), tensor,
                          AffineMapAttr::get(AffineMap::get(static_cast<unsigned>(read.size()), 0,
                                                            places, b.getContext())),
                          ValueRange(), ValueRange());
}

/// Emits the value that `op` reduces, without the innermost reduced axis: pieces become columns,
/// under their name, and what is inside of a piece goes.
static Value readByColumns(OpBuilder &b, ReduceOp op, ViewOp view, const Columns &columns,
                           ArrayRef<CastOp> casts) {
  const Location loc = op.getLoc();
  NamedTensorType in = tensorOf(op.getValue());
  const int64_t size = in.getAxes()[columns.inner].extent,
                pieces = in.getAxes()[columns.outer].extent;
  SmallVector<Axis> axes;
  SmallVector<AffineExpr> dims(in.getRank());
  for (auto [number, axis] : llvm::enumerate(in.getAxes())) {
    if (static_cast<int64_t>(number) == columns.inner)
      continue;
    dims[number] = b.getAffineDimExpr(static_cast<unsigned>(axes.size()));
    axes.push_back(axis);
    if (static_cast<int64_t>(number) == columns.outer)
      axes.back().extent = (pieces - 1) * columns.step + size;
  }
  SmallVector<AffineExpr> places;
  for (AffineExpr expr : view.getMap().getResults())
    places.push_back(static_cast<int64_t>(places.size()) == columns.column
                         ? dims[columns.outer] + columns.offset
                         : expr.replaceDims(dims));
  Value value = b.create<ViewOp>(
      loc, NamedTensorType::get(tensorOf(view.getResult()).getElementType(), axes), view.getInput(),
      AffineMapAttr::get(
          AffineMap::get(static_cast<unsigned>(axes.size()), 0, places, b.getContext())),
      ValueRange(), ValueRange());
  for (CastOp cast : llvm::reverse(casts)) {
    Operation *copy = b.clone(*cast);
    copy->setOperand(0, value);
    value = copy->getResult(0);
    value.setType(NamedTensorType::get(tensorOf(value).getElementType(), axes));
  }
  return value;
}

static SmallVector<ReduceOp> separate(ReduceOp op) {
  SmallVector<CastOp> casts;
  Value below = withoutCasts(op.getValue(), casts);
  auto view = below.getDefiningOp<ViewOp>();
  auto columns = view ? columnsOf(op, view) : std::nullopt;
  if (!columns)
    return {};
  OpBuilder b(op);
  const Location loc = op.getLoc();
  NamedTensorType in = tensorOf(op.getValue());
  const int64_t pieces = in.getAxes()[columns->outer].extent;
  Value value = readByColumns(b, op, view, *columns, casts);
  const ArrayRef<Axis> axes = tensorOf(value).getAxes();
  SmallVector<Attribute> first;
  StringAttr second;
  SmallVector<Axis> kept(axes);
  for (auto name : op.getOver().getAsRange<StringAttr>()) {
    if (in.axisIndex(name) == columns->inner) {
      second = name;
      continue;
    }
    first.push_back(name);
    llvm::erase_if(kept, [&](const Axis &axis) { return axis.name == name.getValue(); });
  }
  Type element = tensorOf(op.getResult()).getElementType();
  auto rows = b.create<ReduceOp>(loc, NamedTensorType::get(element, kept), op.getKind(), value,
                                 b.getArrayAttr(first), ValueRange());
  auto columnsIn = [&](Value tensor, int64_t count, int64_t step, ArrayRef<Axis> more) {
    return viewOfColumns(b, loc, tensor, in.getAxes()[columns->outer].name, count, step, more);
  };
  const Axis neighbours = in.getAxes()[columns->inner];
  SmallVector<ReduceOp> made{rows};
  Value whole;
  if (columns->ofPixels) {
    // At every column, since those lie side by side; pieces take theirs of these.
    Value moved = columnsIn(rows.getResult(), (pieces - 1) * columns->step + 1, 1, neighbours);
    SmallVector<Axis> all(tensorOf(moved).getAxes().drop_back());
    made.push_back(b.create<ReduceOp>(loc, NamedTensorType::get(element, all), op.getKind(), moved,
                                      b.getArrayAttr({second}), ValueRange()));
    whole = columnsIn(made.back().getResult(), pieces, columns->step, {});
  } else {
    Value moved =
        columnsIn(rows.getResult(), pieces, columns->step, neighbours); // each piece reads its own
    auto last = b.create<ReduceOp>(loc, op.getResult().getType(), op.getKind(), moved,
                                   b.getArrayAttr({second}), ValueRange());
    last->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    whole = last.getResult();
  }
  op.getResult().replaceAllUsesWith(whole);
  op.erase();
  for (CastOp cast : casts)
    if (cast->use_empty())
      cast.erase();
  if (view->use_empty())
    view.erase();
  return made;
}

SmallVector<ReduceOp> penstock::schedules::separateReductions(KernelOp kernel) {
  SmallVector<ReduceOp> made;
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<ReduceOp>()))
    made.append(separate(op));
  return made;
}
