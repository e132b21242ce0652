//===- SeparateReductions.cpp - one axis of a window after the other ----------===//

#include "compiler/Schedules/SeparateReductions.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock::pipe;

static NamedTensorType typeOf(Value tensor) { return llvm::cast<NamedTensorType>(tensor.getType()); }

static bool isExact(ReduceOp op) {
  const ReduceKind kind = op.getKind();
  if (kind == ReduceKind::sum)
    return llvm::isa<IntegerType>(typeOf(op.getValue()).getElementType());
  return llvm::is_contained({ReduceKind::min, ReduceKind::max, ReduceKind::any, ReduceKind::all}, kind);
}

namespace {
/// Axes of the view: `column` of its input is step * outer + inner + offset.
struct Columns {
  int64_t column, outer, inner, step, offset;
};
} // namespace

/// step * outer + inner + offset; null for anything else.
static std::optional<Columns> columnsOf(AffineExpr expr, int64_t column, int64_t inner) {
  Columns found{column, -1, inner, 1, 0};
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

/// Where the innermost reduced axis lies in the input of the view below `op`; null where
/// a reduction of each column does not pay, or cannot be said.
static std::optional<Columns> columnsOf(ReduceOp op, ViewOp view) {
  NamedTensorType in = typeOf(op.getValue()), source = typeOf(view.getInput());
  SmallVector<int64_t> over;
  for (auto name : op.getOver().getAsRange<StringAttr>())
    over.push_back(in.axisIndex(name));
  llvm::sort(over);
  if (!isExact(op) || over.size() < 2 || !in.isStatic() || !source.isStatic() || !view.getSymbols().empty())
    return std::nullopt;
  const int64_t inner = over.back(), last = source.getRank() - 1;
  auto columns = columnsOf(view.getMap().getResult(static_cast<unsigned>(last)), last, inner);
  if (!columns || llvm::is_contained(over, columns->outer))
    return std::nullopt;
  // Nothing else moves with them.
  for (AffineExpr expr : view.getMap().getResults().drop_back())
    for (int64_t axis : {inner, columns->outer})
      if (expr.isFunctionOfDim(static_cast<unsigned>(axis)))
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

static std::optional<ReduceOp> separate(ReduceOp op) {
  SmallVector<CastOp> casts;
  Value below = op.getValue();
  while (auto cast = below.getDefiningOp<CastOp>()) {
    casts.push_back(cast);
    below = cast.getValue();
  }
  auto view = below.getDefiningOp<ViewOp>();
  auto columns = view ? columnsOf(op, view) : std::nullopt;
  if (!columns)
    return std::nullopt;
  OpBuilder b(op);
  const Location loc = op.getLoc();
  NamedTensorType in = typeOf(op.getValue());
  const int64_t size = in.getAxes()[columns->inner].extent, pieces = in.getAxes()[columns->outer].extent;
  // Pieces become columns, under their name; what is inside of a piece goes.
  SmallVector<Axis> axes;
  SmallVector<AffineExpr> dims(in.getRank());
  for (auto [number, axis] : llvm::enumerate(in.getAxes())) {
    if (static_cast<int64_t>(number) == columns->inner)
      continue;
    dims[number] = b.getAffineDimExpr(static_cast<unsigned>(axes.size()));
    axes.push_back(axis);
    if (static_cast<int64_t>(number) == columns->outer)
      axes.back().extent = (pieces - 1) * columns->step + size;
  }
  SmallVector<AffineExpr> places;
  for (AffineExpr expr : view.getMap().getResults().drop_back())
    places.push_back(expr.replaceDims(dims));
  places.push_back(dims[columns->outer] + columns->offset);
  Value value = b.create<ViewOp>(
      loc, NamedTensorType::get(typeOf(below).getElementType(), axes), view.getInput(),
      AffineMapAttr::get(AffineMap::get(static_cast<unsigned>(axes.size()), 0, places, b.getContext())),
      ValueRange(), ValueRange());
  for (CastOp cast : llvm::reverse(casts)) {
    Operation *copy = b.clone(*cast);
    copy->setOperand(0, value);
    value = copy->getResult(0);
    value.setType(NamedTensorType::get(typeOf(value).getElementType(), axes));
  }
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
  Type element = typeOf(op.getResult()).getElementType();
  auto rows = b.create<ReduceOp>(loc, NamedTensorType::get(element, kept), op.getKind(), value,
                                 b.getArrayAttr(first), ValueRange());
  // Of the columns, each piece reads its own.
  SmallVector<AffineExpr> again;
  const StringRef outer = in.getAxes()[columns->outer].name;
  SmallVector<Axis> read(kept);
  for (auto [number, axis] : llvm::enumerate(read)) {
    AffineExpr here = b.getAffineDimExpr(static_cast<unsigned>(number));
    if (axis.name == outer) {
      axis.extent = pieces;
      here = here * columns->step + b.getAffineDimExpr(static_cast<unsigned>(read.size()));
    }
    again.push_back(here);
  }
  read.push_back(in.getAxes()[columns->inner]);
  Value moved = b.create<ViewOp>(
      loc, NamedTensorType::get(element, read), rows.getResult(),
      AffineMapAttr::get(AffineMap::get(static_cast<unsigned>(read.size()), 0, again, b.getContext())),
      ValueRange(), ValueRange());
  auto whole = b.create<ReduceOp>(loc, op.getResult().getType(), op.getKind(), moved,
                                  b.getArrayAttr({second}), ValueRange());
  whole->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.getResult().replaceAllUsesWith(whole.getResult());
  op.erase();
  for (CastOp cast : casts)
    if (cast->use_empty())
      cast.erase();
  if (view->use_empty())
    view.erase();
  return rows;
}

SmallVector<ReduceOp> penstock::schedules::separateReductions(KernelOp kernel) {
  SmallVector<ReduceOp> made;
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<ReduceOp>()))
    if (auto rows = separate(op))
      made.push_back(*rows);
  return made;
}
