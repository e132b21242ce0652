// SPDX-License-Identifier: Apache-2.0
//
// Borders that are stored by themselves.
#include "compiler/Schedules/SplitPads.h"
#include "compiler/Analysis/WindowMargins.h"
#include "compiler/Dialect/ScalarBuilder.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::usualLaneAxis;

/// Elements of a row from which on it is worth loops of its own.
static constexpr int64_t longRow = 64;

namespace {
/// A pad along lanes: its borders, and what lies between them.
struct LanePad {
  PadOp op;
  int64_t axis; ///< of the result
  size_t over;  ///< the place among the axes that are padded
  int64_t low, middle, high;
};
} // namespace

/// Returns whether a border of so many elements is made of others, each of which is met once.
static bool isPlain(Border border, int64_t elements, int64_t middle) {
  switch (border) {
  case Border::reflect:
    return elements < middle;
  case Border::symmetric:
  case Border::wrap:
    return elements <= middle;
  case Border::edge:
  case Border::constant:
    return middle > 0;
  }
}

/// Returns whether an element is one of what is joined: that of a border would be looked for in
/// each of its parts, and so on with each pad around it.
static bool isOfJoined(Value value) {
  Operation *op = value.getDefiningOp();
  while (llvm::isa_and_present<ViewOp, PadOp, CastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return llvm::isa_and_present<ConcatOp>(op);
}

static std::optional<LanePad> lanePadOf(PadOp op) {
  NamedTensorType from = tensorOf(op.getInput()), to = tensorOf(op.getResult());
  if (to.getRank() == 0 || !from.isStatic() || !to.isStatic())
    return std::nullopt;
  const int64_t axis = usualLaneAxis(to);
  StringRef name = to.getAxes()[axis].name;
  int64_t row = 1;
  for (const Axis &inner : from.getAxes().drop_front(axis))
    row *= inner.extent;
  for (auto [over, padded] : llvm::enumerate(op.getOver().getAsValueRange<StringAttr>())) {
    if (padded != name)
      continue;
    const auto low = constantOf(op.getLow()[over]);
    const int64_t middle = from.getAxes()[axis].extent;
    const int64_t high = low ? to.getAxes()[axis].extent - middle - *low : -1;
    if (!low || *low < 0 || high < 0 || *low + high == 0 || row < longRow ||
        !isPlain(op.getBorder(), std::max(*low, high), middle))
      return std::nullopt;
    return LanePad{op, axis, over, *low, middle, high};
  }
  return std::nullopt;
}

/// The border before the tensor, or behind it.
static Value borderOf(OpBuilder &b, LanePad pad, Value inner, bool isHigh) {
  const int64_t count = isHigh ? pad.high : pad.low, last = pad.middle - 1;
  NamedTensorType type = tensorOf(inner);
  SmallVector<Axis> axes(type.getAxes());
  axes[pad.axis].extent = count;
  NamedTensorType part = type.withAxes(axes);
  if (pad.op.getBorder() == Border::constant) {
    auto map = b.create<MapOp>(pad.op.getLoc(), part, ValueRange(), ValueRange());
    Block &body = map.getBody().emplaceBlock();
    for (size_t i = 0; i < axes.size(); ++i)
      body.addArgument(b.getI64Type(), pad.op.getLoc());
    OpBuilder::atBlockEnd(&body).create<YieldOp>(pad.op.getLoc(), pad.op.getFill());
    return map.getResult();
  }
  SmallVector<AffineExpr> places;
  for (unsigned axis = 0; axis < axes.size(); ++axis)
    places.push_back(b.getAffineDimExpr(axis));
  AffineExpr &place = places[static_cast<size_t>(pad.axis)];
  switch (pad.op.getBorder()) {
  case Border::reflect:
    place = -place + (isHigh ? last - 1 : count);
    break;
  case Border::symmetric:
    place = -place + (isHigh ? last : count - 1);
    break;
  case Border::wrap:
    place = place + (isHigh ? 0 : pad.middle - count);
    break;
  default:
    place = b.getAffineConstantExpr(isHigh ? last : 0);
  }
  return b.create<ViewOp>(pad.op.getLoc(), part, inner,
                          AffineMapAttr::get(AffineMap::get(static_cast<unsigned>(axes.size()), 0,
                                                            places, b.getContext())),
                          ValueRange(), ValueRange());
}

/// Pads the other axes, along which rows are as they were.
static Value padOthers(OpBuilder &b, LanePad pad) {
  SmallVector<Attribute> names(pad.op.getOver().getValue());
  SmallVector<Value> low(pad.op.getLow());
  if (names.size() == 1)
    return pad.op.getInput();
  names.erase(names.begin() + static_cast<std::ptrdiff_t>(pad.over));
  low.erase(low.begin() + static_cast<std::ptrdiff_t>(pad.over));
  SmallVector<Axis> axes(tensorOf(pad.op.getResult()).getAxes());
  axes[pad.axis].extent = pad.middle;
  return b.create<PadOp>(pad.op.getLoc(), tensorOf(pad.op.getResult()).withAxes(axes),
                         pad.op.getBorder(), pad.op.getInput(), b.getArrayAttr(names), low,
                         pad.op.getFill(), ValueRange());
}

SmallVector<ConcatOp> penstock::schedules::splitPads(KernelOp kernel) {
  SmallVector<ConcatOp> made;
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<PadOp>())) {
    const std::optional<LanePad> pad = lanePadOf(op);
    const bool isStored =
        op->hasAttr("schedule") || llvm::all_of(op->getUsers(), [](Operation *user) {
          return llvm::isa<ReturnOp, MapOp, CastOp, ResampleOp, PadOp>(user);
        });
    if (!pad || !isStored || isOfJoined(op.getInput()))
      continue;
    OpBuilder b(op);
    Value inner = padOthers(b, *pad);
    SmallVector<Value> parts;
    if (pad->low > 0)
      parts.push_back(borderOf(b, *pad, inner, false));
    parts.push_back(inner);
    if (pad->high > 0)
      parts.push_back(borderOf(b, *pad, inner, true));
    made.push_back(b.create<ConcatOp>(op.getLoc(), op.getResult().getType(),
                                      tensorOf(op.getResult()).getAxes()[pad->axis].name, parts,
                                      ValueRange()));
    made.back()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op.getResult().replaceAllUsesWith(made.back().getResult());
    op.erase();
  }
  return made;
}
