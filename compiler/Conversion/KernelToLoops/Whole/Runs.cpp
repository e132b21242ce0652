// SPDX-License-Identifier: Apache-2.0
//
// Where elements lie in memory.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Dialect/SmallReduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static std::optional<int64_t> knownElementsApart(const Site &site, Value tensor, int64_t axis,
                                                 std::map<Question, std::optional<int64_t>> &known);

static std::optional<int64_t> findElementsApart(const Site &site, Value tensor, int64_t axis,
                                                std::map<Question, std::optional<int64_t>> &known);

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

/// How many elements lie between neighbours along an axis of `tensor`, in memory: the
/// most of all that is read; 0 where the axis does not count, null where nobody can tell.
std::optional<int64_t> penstock::conversion::elementsApart(const Site &site, Value tensor,
                                                           int64_t axis) {
  std::map<Question, std::optional<int64_t>> known;
  return knownElementsApart(site, tensor, axis, known);
}

static std::optional<int64_t>
knownElementsApart(const Site &site, Value tensor, int64_t axis,
                   std::map<Question, std::optional<int64_t>> &known) {
  auto [answer, isNew] = known.try_emplace(questionOf(tensor, axis));
  if (isNew)
    answer->second = findElementsApart(site, tensor, axis, known);
  return answer->second;
}

static std::optional<int64_t> findElementsApart(const Site &site, Value tensor, int64_t axis,
                                                std::map<Question, std::optional<int64_t>> &known) {
  auto [ctx, b, l, m] = site.parts();
  if (auto stored = ctx.buffers.find(tensor); stored != ctx.buffers.end()) {
    const Buffer &buffer = stored->second;
    if (buffer.known[axis])
      return *buffer.known[axis] / scalarBytes(buffer.element);
    return typeOf(tensor).getRank() == 1 ? std::optional<int64_t>(1) : std::nullopt;
  }
  Operation *op = tensor.getDefiningOp();
  if (auto view = llvm::dyn_cast_if_present<ViewOp>(op)) {
    int64_t sum = 0;
    for (auto [place, expr] : llvm::enumerate(view.getMap().getResults())) {
      auto factor = factorOf(expr, axis);
      if (!factor)
        return std::nullopt;
      if (*factor == 0)
        continue;
      auto inner = knownElementsApart(site, view.getInput(), place, known);
      if (!inner)
        return std::nullopt;
      sum += *factor * *inner;
    }
    return std::abs(sum);
  }
  if (auto choose = llvm::dyn_cast_if_present<ChooseOp>(op)) {
    Region &arm = choose.getArms().front();
    return knownElementsApart(
        site,
        arm.front().getTerminator()->getOperand(llvm::cast<OpResult>(tensor).getResultNumber()),
        axis, known);
  }
  if (llvm::isa_and_present<ConstantOp>(op)) {
    int64_t inside = 1;
    for (const Axis &inner : typeOf(tensor).getAxes().drop_front(axis + 1))
      inside *= inner.extent;
    return inside;
  }
  if (!llvm::isa_and_present<MapOp, CastOp, PadOp, WindowOp, ReduceOp>(op))
    return std::nullopt;
  int64_t most = 0;
  for (Value operand : op->getOperands()) {
    auto type = llvm::dyn_cast<NamedTensorType>(operand.getType());
    const int64_t place = type ? type.axisIndex(typeOf(tensor).getAxes()[axis].name) : -1;
    if (place < 0)
      continue;
    auto inner = knownElementsApart(site, operand, place, known);
    if (!inner)
      return std::nullopt;
    most = std::max(most, *inner);
  }
  return most;
}

static bool isOneRunBelow(const Site &site, Value tensor, ArrayRef<StringRef> names, Seen &seen);

/// Returns whether the body of a map or window takes its element's place.
static bool usesCoordinates(Operation *op, int64_t rank) {
  auto coordinates = op->getRegion(0).front().getArguments().take_back(static_cast<size_t>(rank));
  return llvm::any_of(coordinates, [](BlockArgument argument) { return !argument.use_empty(); });
}

/// Returns whether axes that follow each other, `names`, are one run of elements wherever they are
/// read: an index of the last one may then go through all of them.
bool penstock::conversion::isOneRun(const Site &site, Value tensor, ArrayRef<StringRef> names) {
  Seen seen;
  return isOneRunBelow(site, tensor, names, seen);
}

static bool isOneRunBelow(const Site &site, Value tensor, ArrayRef<StringRef> names, Seen &seen) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(tensor);
  const int64_t first = type.axisIndex(names.front());
  if (llvm::none_of(names, [&](StringRef name) { return type.axisIndex(name) >= 0; }))
    return true; // the same for all of them
  for (auto [place, name] : llvm::enumerate(names))
    if (first < 0 || type.axisIndex(name) != first + static_cast<int64_t>(place) ||
        !type.getAxes()[first + static_cast<int64_t>(place)].isStatic())
      return false;
  if (!seen.isNew(tensor, {first, static_cast<int64_t>(names.size())}))
    return true; // as far as that goes, or nobody would ask again
  if (auto stored = ctx.buffers.find(tensor); stored != ctx.buffers.end()) {
    ArrayRef<std::optional<int64_t>> known = stored->second.known;
    for (size_t axis = static_cast<size_t>(first); axis + 1 < first + names.size(); ++axis)
      if (!known[axis] || !known[axis + 1] ||
          *known[axis] != *known[axis + 1] * type.getAxes()[axis + 1].extent)
        return false;
    return true;
  }
  if (Value arm = specializedArm(site, tensor))
    return isOneRunBelow(site, arm, names, seen);
  Operation *op = tensor.getDefiningOp();
  if (auto view = llvm::dyn_cast_if_present<ViewOp>(op)) {
    // Places of others may move; these stay side by side. Of the first one a part may be taken.
    NamedTensorType source = typeOf(view.getInput());
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
    return inner.size() == names.size() && isOneRunBelow(site, view.getInput(), inner, seen);
  }
  // A neighbour is as far away in the run as in its axis, where the margins hold what lies beyond.
  if (auto window = llvm::dyn_cast_if_present<WindowOp>(op)) {
    if (!hasMargin(site, window) || usesCoordinates(window, type.getRank()))
      return false;
  } else if (auto map = llvm::dyn_cast_if_present<MapOp>(op)) {
    if (usesCoordinates(map, type.getRank()))
      return false;
  } else if (!llvm::isa_and_present<CastOp>(op)) {
    return false;
  }
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return !llvm::isa<NamedTensorType>(operand.getType()) ||
           isOneRunBelow(site, operand, names, seen);
  });
}

/// How many of the last axes of `tensor` are one run of elements wherever they are read: lanes
/// along the last one may then go through all of them.
int64_t penstock::conversion::axesInRun(const Site &site, Value tensor) {
  NamedTensorType type = typeOf(tensor);
  SmallVector<StringRef> names;
  for (const Axis &axis : llvm::reverse(type.getAxes())) {
    names.insert(names.begin(), axis.name);
    if (!axis.isStatic() || (names.size() > 1 && !isOneRun(site, tensor, names)))
      return static_cast<int64_t>(names.size()) - 1;
  }
  return type.getRank();
}

/// The same of a buffer of that type.
int64_t penstock::conversion::axesInRun(NamedTensorType type, const Buffer &buffer) {
  int64_t axis = type.getRank() - 1;
  while (axis > 0 && buffer.known[axis - 1] && buffer.known[axis] &&
         type.getAxes()[axis].isStatic() &&
         *buffer.known[axis - 1] == *buffer.known[axis] * type.getAxes()[axis].extent)
    --axis;
  return type.getRank() - axis;
}
