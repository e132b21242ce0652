// SPDX-License-Identifier: Apache-2.0
//
// Axes whose places are taken apart.
//
// What is merged to one axis is read at quotients and remainders of a place. Lanes along that axis
// would divide one by one; lanes along the innermost of its digits read what lies side by side.
#include "compiler/Schedules/SplitAxes.h"
#include "compiler/Analysis/MergedAxes.h"
#include "compiler/Analysis/WindowMargins.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Dialect/SmallReduction.h"
#include "compiler/Schedules/Stored.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include <set>

using namespace mlir;
using namespace penstock::pipe;

namespace {
/// The number `place / from % (to / from)`.
struct Digits {
  int64_t axis, from, to;
};

class Splitting {
public:
  explicit Splitting(MapOp op)
      : op(op), body(op.getBody().front()), type(tensorOf(op.getResult())), cuts(type.getRank()) {}
  /// Null where no place is divided.
  MapOp run();

private:
  BlockArgument placeOf(int64_t axis) {
    return body.getArgument(static_cast<unsigned>(op.getInputs().size()) +
                            static_cast<unsigned>(axis));
  }
  bool collect(Value number, Digits digits);
  bool findCuts(int64_t axis);
  void addParts(SmallVectorImpl<Axis> &axes, const Axis &axis, int64_t number) const;
  Value inputOf(Value input);
  Value sumOf(ScalarBuilder &b, const Digits &digits, MapOp made) const;

  MapOp op;
  Block &body;
  const NamedTensorType type;
  SmallVector<std::set<int64_t>> cuts; ///< by axis: 1, what places are divided by, the extent
  llvm::MapVector<Value, Digits> quotients;
  bool isWorthIt = false; ///< some lanes would divide one by one
};
} // namespace

/// Returns whether lanes go through quotients by `by` piece by piece anyway, as KernelToLoops has
/// it.
static bool isInPieces(int64_t by) {
  constexpr int64_t mostLanes = 64;
  return llvm::isPowerOf2_64(static_cast<uint64_t>(by)) || by % mostLanes == 0;
}

/// Follows what is divided of `number`; false where digits overlap.
bool Splitting::collect(Value number, Digits digits) {
  for (Operation *user : number.getUsers()) {
    auto divided = llvm::dyn_cast<BinaryOp>(user);
    if (!divided || divided->getBlock() != &body || divided.getLhs() != number ||
        (divided.getKind() != BinaryKind::div && divided.getKind() != BinaryKind::rem))
      continue;
    const auto by = constantOf(divided.getRhs());
    if (!by || *by < 1)
      continue;
    if ((digits.to / digits.from) % *by != 0)
      return false;
    Digits own = digits;
    (divided.getKind() == BinaryKind::div ? own.from : own.to) = digits.from * *by;
    if (own.from == own.to) // nothing but 0
      return false;
    cuts[digits.axis].insert({own.from, own.to});
    isWorthIt |= digits.from > 1 || !isInPieces(*by);
    quotients.insert({divided.getResult(), own});
    if (!collect(divided.getResult(), own))
      return false;
  }
  return true;
}

bool Splitting::findCuts(int64_t axis) {
  const int64_t extent = type.getAxes()[axis].extent;
  cuts[axis] = {1, extent};
  const bool found =
      extent > 1 && collect(placeOf(axis), {axis, 1, extent}) && cuts[axis].size() > 2;
  if (!found) {
    cuts[axis].clear();
    quotients.remove_if([&](const auto &entry) { return entry.second.axis == axis; });
  }
  return found;
}

/// Adds the axes that axis `number` of the result is split into, to those of a tensor that has it.
void Splitting::addParts(SmallVectorImpl<Axis> &axes, const Axis &axis, int64_t number) const {
  if (cuts[number].empty()) {
    axes.push_back(axis);
    return;
  }
  for (auto cut = std::next(cuts[number].rbegin()); cut != cuts[number].rend(); ++cut) {
    Axis part;
    part.extent = *std::prev(cut) / *cut;
    part.name = *cut == 1 ? axis.name : axis.name + "_by_" + std::to_string(*cut);
    while (type.axisIndex(part.name) >= 0 && part.name != axis.name)
      part.name += "_";
    axes.push_back(part);
  }
}

Value Splitting::inputOf(Value input) {
  NamedTensorType own = tensorOf(input);
  SmallVector<Axis> axes;
  SmallVector<AffineExpr> places;
  OpBuilder b(op);
  for (const Axis &axis : own.getAxes()) {
    const int64_t number = type.axisIndex(axis.name);
    AffineExpr place = b.getAffineConstantExpr(0);
    const size_t first = axes.size();
    addParts(axes, axis, number);
    int64_t step = axis.extent;
    for (size_t part = first; part < axes.size(); ++part) {
      step = axes.size() == first + 1 ? 1 : step / axes[part].extent;
      place = place + b.getAffineDimExpr(static_cast<unsigned>(part)) * step;
    }
    places.push_back(place);
  }
  if (axes.size() == own.getAxes().size())
    return input;
  return b.create<ViewOp>(op.getLoc(), own.withAxes(axes), input,
                          AffineMapAttr::get(AffineMap::get(static_cast<unsigned>(axes.size()), 0,
                                                            places, b.getContext())),
                          ValueRange(), ValueRange());
}

/// The number that `digits` stand for, of the places of the parts.
Value Splitting::sumOf(ScalarBuilder &b, const Digits &digits, MapOp made) const {
  size_t argument = made.getInputs().size();
  for (int64_t axis = 0; axis < digits.axis; ++axis)
    argument += cuts[axis].empty() ? 1 : cuts[axis].size() - 1;
  Block &block = made.getBody().front();
  if (cuts[digits.axis].empty())
    return block.getArgument(static_cast<unsigned>(argument));
  Value sum;
  for (auto cut = std::next(cuts[digits.axis].rbegin()); cut != cuts[digits.axis].rend();
       ++cut, ++argument) {
    if (*cut < digits.from || *cut >= digits.to)
      continue;
    Value part =
        b.mul(block.getArgument(static_cast<unsigned>(argument)), b.constant(*cut / digits.from));
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

MapOp Splitting::run() {
  if (!type.isStatic() || type.getRank() == 0)
    return {};
  bool isAny = false;
  // Along the others, a place is divided once for many lanes.
  for (int64_t axis = penstock::analysis::usualLaneAxis(type); axis < type.getRank(); ++axis)
    isAny |= findCuts(axis);
  if (!isAny || !isWorthIt)
    return {};
  SmallVector<Axis> axes;
  for (auto [number, axis] : llvm::enumerate(type.getAxes()))
    addParts(axes, axis, static_cast<int64_t>(number));
  NamedTensorType split = type.withAxes(axes);
  AffineMap order = penstock::analysis::mergeOf(split, type);
  if (!order)
    return {}; // the digits of two quotients overlap
  SmallVector<Value> inputs(llvm::map_range(op.getInputs(), [&](Value x) { return inputOf(x); }));
  OpBuilder b(op);
  auto made = b.create<MapOp>(op.getLoc(), split, inputs, ValueRange());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  Block &block = made.getBody().emplaceBlock();
  IRMapping copies;
  for (Value argument : body.getArguments().take_front(op.getInputs().size()))
    copies.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
  for (size_t i = 0; i < axes.size(); ++i)
    block.addArgument(b.getI64Type(), op.getLoc());
  b.setInsertionPointToStart(&block);
  ScalarBuilder scalars(b, op.getLoc());
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    copies.map(placeOf(axis), sumOf(scalars, {axis, 1, type.getAxes()[axis].extent}, made));
  for (Operation &inner : body) {
    auto known = inner.getNumResults() == 1 ? quotients.find(inner.getResult(0)) : quotients.end();
    if (known != quotients.end())
      copies.map(inner.getResult(0), sumOf(scalars, known->second, made));
    else
      b.clone(inner, copies);
  }
  b.setInsertionPointAfter(made);
  auto merged = b.create<ViewOp>(op.getLoc(), type, made.getResult(), AffineMapAttr::get(order),
                                 ValueRange(), ValueRange());
  op.getResult().replaceAllUsesWith(merged.getResult());
  op.erase();
  return made;
}

SmallVector<MapOp> penstock::schedules::splitAxes(KernelOp kernel) {
  SmallVector<MapOp> made;
  Operation *end = kernel.getBody().front().getTerminator();
  for (Value output : end->getOperands())
    if (auto map = output.getDefiningOp<MapOp>(); map && output.hasOneUse())
      if (MapOp split = Splitting(map).run())
        made.push_back(split);
  return made;
}

/// Returns whether loops of its own store a map, since what reads it goes through all of it, moves
/// elements, or reads them more than once.
static bool isStored(MapOp map, const llvm::DenseSet<Operation *> &again) {
  return again.contains(map) || llvm::any_of(map->getUsers(), [](Operation *user) {
           return llvm::isa<ViewOp, PadOp, ConcatOp>(user) ||
                  (formOf(user) != KernelForm::inlined && !isSmallReduction(user) &&
                   !llvm::isa<ReturnOp>(user));
         });
}

SmallVector<ViewOp> penstock::schedules::splitStoredAxes(KernelOp kernel) {
  llvm::DenseSet<Operation *> again;
  forEachStored(kernel, /*pixelsTogether=*/true, [&](Operation &op) { again.insert(&op); });
  SmallVector<ViewOp> made;
  for (auto map : llvm::make_early_inc_range(kernel.getBody().front().getOps<MapOp>()))
    if (!map->hasAttr("schedule") && isStored(map, again))
      if (MapOp split = Splitting(map).run())
        made.push_back(llvm::cast<ViewOp>(*split->user_begin()));
  return made;
}
