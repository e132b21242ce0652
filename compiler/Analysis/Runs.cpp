// SPDX-License-Identifier: Apache-2.0
//
// Elements that lie side by side in memory.
#include "compiler/Analysis/Strides.h"
#include <map>
#include <set>

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::InMemory;

namespace {
/// A tensor's axis, or the first of some, and how many.
using Question = std::tuple<const void *, int64_t, int64_t>;

/// A kernel's tensors are a graph: each question is asked once.
struct Distances {
  const InMemory &memory;
  std::map<Question, std::optional<int64_t>> known = {};
  std::optional<int64_t> of(Value tensor, int64_t axis);
  std::optional<int64_t> find(Value tensor, int64_t axis);
};
struct Runs {
  const InMemory &memory;
  bool isOpen = false; ///< the outermost axis may have any extent
  std::set<Question> asked = {};
  bool isOne(Value tensor, ArrayRef<StringRef> names);
};
} // namespace

/// The factor of dimension `dim` in a sum of products; null where there is more to it.
static std::optional<int64_t> factorOf(AffineExpr expr, unsigned dim) {
  if (!expr.isFunctionOfDim(dim))
    return 0;
  if (llvm::isa<AffineDimExpr>(expr))
    return 1;
  auto both = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  if (!both)
    return std::nullopt;
  auto x = factorOf(both.getLHS(), dim), y = factorOf(both.getRHS(), dim);
  if (!x || !y)
    return std::nullopt;
  if (both.getKind() == AffineExprKind::Add)
    return *x + *y;
  auto constant = llvm::dyn_cast<AffineConstantExpr>(both.getRHS());
  if (both.getKind() == AffineExprKind::Mul && constant)
    return *x * constant.getValue();
  // A flip that is decided when running goes by one, one way or the other.
  if (both.getKind() == AffineExprKind::Mul && llvm::isa<AffineSymbolExpr>(both.getRHS()))
    return *x;
  return std::nullopt;
}

std::optional<int64_t> Distances::of(Value tensor, int64_t axis) {
  const Question question{tensor.getAsOpaquePointer(), axis, 1};
  auto [answer, isNew] = known.try_emplace(question);
  if (isNew)
    answer->second = find(tensor, axis);
  return answer->second;
}

std::optional<int64_t> Distances::find(Value tensor, int64_t axis) {
  NamedTensorType type = tensorOf(tensor);
  if (const auto *strides = memory.stridesOf(tensor)) {
    if ((*strides)[axis])
      return *(*strides)[axis] / scalarBytes(type.getElementType());
    return type.getRank() == 1 ? std::optional<int64_t>(1) : std::nullopt;
  }
  Operation *op = tensor.getDefiningOp();
  if (auto view = llvm::dyn_cast_if_present<ViewOp>(op)) {
    int64_t sum = 0;
    for (auto [place, expr] : llvm::enumerate(view.getMap().getResults())) {
      auto factor = factorOf(expr, static_cast<unsigned>(axis));
      if (!factor)
        return std::nullopt;
      if (*factor == 0)
        continue;
      auto inner = of(view.getInput(), static_cast<int64_t>(place));
      if (!inner)
        return std::nullopt;
      sum += *factor * *inner;
    }
    return std::abs(sum);
  }
  if (auto choose = llvm::dyn_cast_if_present<ChooseOp>(op)) {
    Region &arm = choose.getArms().front();
    return of(
        arm.front().getTerminator()->getOperand(llvm::cast<OpResult>(tensor).getResultNumber()),
        axis);
  }
  if (llvm::isa_and_present<ConstantOp>(op)) {
    int64_t inside = 1;
    for (const Axis &inner : type.getAxes().drop_front(axis + 1))
      inside *= inner.extent;
    return inside;
  }
  if (!llvm::isa_and_present<MapOp, CastOp, PadOp, WindowOp, ReduceOp>(op))
    return std::nullopt;
  int64_t most = 0;
  for (Value operand : op->getOperands()) {
    auto inside = llvm::dyn_cast<NamedTensorType>(operand.getType());
    const int64_t place = inside ? inside.axisIndex(type.getAxes()[axis].name) : -1;
    if (place < 0)
      continue;
    auto inner = of(operand, place);
    if (!inner)
      return std::nullopt;
    most = std::max(most, *inner);
  }
  return most;
}

/// Returns whether the body of a map or window takes its element's place.
static bool usesCoordinates(Operation *op, int64_t rank) {
  auto coordinates = op->getRegion(0).front().getArguments().take_back(static_cast<size_t>(rank));
  return llvm::any_of(coordinates, [](BlockArgument argument) { return !argument.use_empty(); });
}

bool Runs::isOne(Value tensor, ArrayRef<StringRef> names) {
  NamedTensorType type = tensorOf(tensor);
  const int64_t first = type.axisIndex(names.front());
  if (llvm::none_of(names, [&](StringRef name) { return type.axisIndex(name) >= 0; }))
    return true; // the same for all of them
  for (auto [place, name] : llvm::enumerate(names))
    if (first < 0 || type.axisIndex(name) != first + static_cast<int64_t>(place) ||
        !(type.getAxes()[first + static_cast<int64_t>(place)].isStatic() ||
          (isOpen && place == 0 && first == 0)))
      return false;
  const Question question{tensor.getAsOpaquePointer(), first, static_cast<int64_t>(names.size())};
  if (!asked.insert(question).second)
    return true; // as far as that goes, or nobody would ask again
  if (const auto *strides = memory.stridesOf(tensor)) {
    ArrayRef<std::optional<int64_t>> known = *strides;
    for (size_t axis = static_cast<size_t>(first); axis + 1 < first + names.size(); ++axis)
      if (!known[axis] || !known[axis + 1] ||
          *known[axis] != *known[axis + 1] * type.getAxes()[axis + 1].extent)
        return false;
    return true;
  }
  if (Value arm = memory.armOf(tensor))
    return isOne(arm, names);
  Operation *op = tensor.getDefiningOp();
  if (auto view = llvm::dyn_cast_if_present<ViewOp>(op)) {
    // Places of others may move; these stay side by side. Of the first one a part may be taken.
    NamedTensorType source = tensorOf(view.getInput());
    SmallVector<StringRef> inner;
    for (auto [axis, expr] : llvm::zip(source.getAxes(), view.getMap().getResults())) {
      auto moves = [&](AffineExpr part) {
        return llvm::any_of(llvm::seq<size_t>(names.size()), [&](size_t place) {
          return part.isFunctionOfDim(static_cast<unsigned>(first) + static_cast<unsigned>(place));
        });
      };
      if (!moves(expr))
        continue;
      AffineExpr mover = expr;
      auto sum = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
      if (inner.empty() && sum && sum.getKind() == AffineExprKind::Add &&
          moves(sum.getLHS()) != moves(sum.getRHS()))
        mover = moves(sum.getLHS()) ? sum.getLHS() : sum.getRHS();
      auto dim = llvm::dyn_cast<AffineDimExpr>(mover);
      if (!dim || dim.getPosition() != static_cast<unsigned>(first) + inner.size() ||
          (!inner.empty() && axis != type.getAxes()[dim.getPosition()]))
        return false;
      inner.push_back(axis.name);
    }
    return inner.size() == names.size() && isOne(view.getInput(), inner);
  }
  // A neighbour is as far away in the run as in its axis, where the margins hold what lies beyond.
  if (auto window = llvm::dyn_cast_if_present<WindowOp>(op)) {
    if (!memory.hasMargin(window) || usesCoordinates(window, type.getRank()))
      return false;
  } else if (auto map = llvm::dyn_cast_if_present<MapOp>(op)) {
    if (usesCoordinates(map, type.getRank()))
      return false;
  } else if (!llvm::isa_and_present<CastOp>(op)) {
    return false;
  }
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return !llvm::isa<NamedTensorType>(operand.getType()) || isOne(operand, names);
  });
}

std::optional<int64_t> penstock::analysis::elementsApart(const InMemory &memory, Value tensor,
                                                         int64_t axis) {
  return Distances{memory}.of(tensor, axis);
}

bool penstock::analysis::isOneRun(const InMemory &memory, Value tensor, ArrayRef<StringRef> names) {
  return Runs{memory}.isOne(tensor, names);
}

int64_t penstock::analysis::axesInRun(const InMemory &memory, Value tensor) {
  NamedTensorType type = tensorOf(tensor);
  SmallVector<StringRef> names;
  for (const Axis &axis : llvm::reverse(type.getAxes())) {
    names.insert(names.begin(), axis.name);
    const bool isOuter = static_cast<int64_t>(names.size()) == type.getRank();
    if (!(axis.isStatic() || isOuter) ||
        (names.size() > 1 && !Runs{memory, isOuter}.isOne(tensor, names)))
      return static_cast<int64_t>(names.size()) - 1;
  }
  return type.getRank();
}
