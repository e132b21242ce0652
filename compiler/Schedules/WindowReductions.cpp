// SPDX-License-Identifier: Apache-2.0
//
// Reductions in the body of a window.
#include "compiler/Schedules/WindowReductions.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Operations that make a term.
static constexpr size_t mostOperationsOfOne = 16;
/// Reductions of one window.
static constexpr size_t mostReductions = 4;

/// Returns whether the order of operands changes nothing, however many there are.
static bool isExact(BinaryOp op) {
  const BinaryKind kind = op.getKind();
  const bool isInteger = llvm::isa<IntegerType>(op.getType());
  return kind == BinaryKind::min || kind == BinaryKind::max ||
         (isInteger && llvm::is_contained({BinaryKind::add, BinaryKind::bit_and, BinaryKind::bit_or,
                                           BinaryKind::bit_xor},
                                          kind));
}

namespace {
class Finder {
public:
  explicit Finder(WindowOp op) : body(op.getBody().front()), found{op, {}, {}} {}
  std::optional<ReducedWindow> run();

private:
  int64_t neighbours() {
    return static_cast<int64_t>(body.getNumArguments()) - tensorOf(found.op.getResult()).getRank();
  }
  bool isNeighbour(Value value) {
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body && argument.getArgNumber() < neighbours();
  }
  bool readTerm(Value value, WindowTerm &term);
  bool readTermOf(Value value, WindowReduction &reduction);
  bool readReduction(Operation *root, WindowReduction &reduction);
  bool readCombined(BinaryOp root, WindowReduction &reduction);
  bool readPlace(SelectOp root, WindowReduction &reduction);

  Block &body;
  ReducedWindow found;
};
} // namespace

/// The number of the neighbour at the element's own place; nothing where there is none.
static std::optional<int64_t> middleOf(WindowOp op) {
  int64_t number = 0;
  for (auto [low, high] : llvm::zip(op.getLow(), op.getHigh())) {
    if (low > 0 || high < 0)
      return std::nullopt;
    number = number * (high - low + 1) - low;
  }
  return number;
}

bool Finder::readTerm(Value value, WindowTerm &term) {
  auto add = [&](const void *part) { term.shape.push_back(reinterpret_cast<uintptr_t>(part)); };
  if (isNeighbour(value)) {
    add(nullptr);
    if (term.neighbour && term.neighbour != value)
      return false;
    term.neighbour = llvm::cast<BlockArgument>(value);
    return true;
  }
  Operation *inner = value.getDefiningOp();
  if (!inner || inner->getBlock() != &body) { // the same for all of them, unless it is a coordinate
    add(value.getAsOpaquePointer());
    return value.getParentBlock() != &body;
  }
  add(inner->getName().getAsOpaquePointer());
  add(inner->getAttrDictionary().getAsOpaquePointer());
  add(inner->getPropertiesAsAttribute().getAsOpaquePointer());
  add(value.getType().getAsOpaquePointer());
  if (inner->getNumRegions() || inner->getNumResults() != 1 || !isPure(inner) ||
      term.shape.size() > 8 * mostOperationsOfOne)
    return false;
  for (Value operand : inner->getOperands())
    if (!readTerm(operand, term))
      return false;
  term.operations.insert(inner);
  return term.operations.size() <= mostOperationsOfOne;
}

/// Adds a term like those before it.
bool Finder::readTermOf(Value value, WindowReduction &reduction) {
  WindowTerm term;
  if (!readTerm(value, term) || !term.neighbour ||
      (!reduction.terms.empty() && term.shape != reduction.terms[0].shape))
    return false;
  reduction.terms.push_back(std::move(term));
  return true;
}

bool Finder::readCombined(BinaryOp root, WindowReduction &reduction) {
  if (!isExact(root))
    return false;
  reduction.kind = root.getKind();
  SmallVector<Value> open{root.getRhs(), root.getLhs()};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    auto inner = value.getDefiningOp<BinaryOp>();
    if (inner && inner->getBlock() == &body && inner.getKind() == root.getKind() &&
        inner.getType() == root.getType() && inner->hasOneUse() &&
        reduction.count() + static_cast<int64_t>(open.size()) < neighbours()) {
      open.append({inner.getRhs(), inner.getLhs()});
      continue;
    }
    if (!readTermOf(value, reduction))
      return false;
  }
  llvm::sort(reduction.terms, [](const WindowTerm &a, const WindowTerm &b) {
    return a.neighbour.getArgNumber() < b.neighbour.getArgNumber();
  });
  return true;
}

/// The place of the best one so far, or that of the next one where it is better.
bool Finder::readPlace(SelectOp root, WindowReduction &reduction) {
  reduction.isPlace = true;
  SmallVector<CompareOp> links; // from the last one backwards
  Value place = root.getResult();
  while (auto select = place.getDefiningOp<SelectOp>()) {
    auto link = select.getCondition().getDefiningOp<CompareOp>();
    if (!link || link->getBlock() != &body ||
        (!links.empty() && link.getPredicate() != links[0].getPredicate()))
      return false;
    links.push_back(link);
    place = select.getOnFalse();
  }
  const Predicate better = links.empty() ? Predicate::eq : links[0].getPredicate();
  if (constantOf(place) != 0 || (better != Predicate::lt && better != Predicate::gt))
    return false;
  reduction.kind = better == Predicate::lt ? BinaryKind::min : BinaryKind::max;
  std::reverse(links.begin(), links.end());
  // Places count the links, and each link compares the next one with the best one before it.
  place = root.getResult();
  for (int64_t number = static_cast<int64_t>(links.size()); number > 0; --number) {
    auto select = place.getDefiningOp<SelectOp>();
    if (constantOf(select.getOnTrue()) != number)
      return false;
    place = select.getOnFalse();
  }
  if (!readTermOf(links[0].getRhs(), reduction))
    return false;
  for (auto [number, link] : llvm::enumerate(links)) {
    if (number > 0) {
      auto best = link.getRhs().getDefiningOp<SelectOp>();
      CompareOp before = links[number - 1];
      if (!best || best.getCondition() != before.getResult() ||
          best.getOnTrue() != before.getLhs() || best.getOnFalse() != before.getRhs())
        return false;
    }
    if (!readTermOf(link.getLhs(), reduction))
      return false;
  }
  return true;
}

bool Finder::readReduction(Operation *root, WindowReduction &reduction) {
  reduction.root = root;
  auto combined = llvm::dyn_cast<BinaryOp>(root);
  auto place = llvm::dyn_cast<SelectOp>(root);
  if (!(combined && readCombined(combined, reduction)) && !(place && readPlace(place, reduction)))
    return false;
  for (auto [number, term] : llvm::enumerate(reduction.terms))
    if (term.neighbour.getArgNumber() != reduction.terms[0].neighbour.getArgNumber() + number)
      return false;
  return true;
}

/// From the end backwards: a root's own operations are no roots.
std::optional<ReducedWindow> Finder::run() {
  const std::optional<int64_t> middle = middleOf(found.op);
  llvm::DenseSet<Operation *> used, roots;
  SmallVector<Value> open(body.getTerminator()->getOperands());
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *inner = value.getDefiningOp();
    if (!inner || inner->getBlock() != &body) {
      if (isNeighbour(value) && llvm::cast<BlockArgument>(value).getArgNumber() != middle)
        return std::nullopt;
      found.readsMiddle |= isNeighbour(value);
      continue;
    }
    if (!used.insert(inner).second)
      continue;
    WindowReduction reduction;
    if (readReduction(inner, reduction)) {
      found.reductions.push_back(std::move(reduction));
      roots.insert(inner);
      if (found.reductions.size() > mostReductions)
        return std::nullopt;
      continue;
    }
    if (inner->getNumRegions() || !isPure(inner))
      return std::nullopt;
    open.append(inner->operand_begin(), inner->operand_end());
  }
  for (Operation &inner : body.without_terminator())
    if (used.contains(&inner) && !roots.contains(&inner))
      found.rest.push_back(&inner);
  if (found.reductions.empty())
    return std::nullopt;
  return std::move(found);
}

void ReducedWindow::putTogether(ArrayRef<Value> results) {
  OpBuilder b(op);
  Block &body = op.getBody().front();
  if (rest.empty() && body.getTerminator()->getOperand(0) == reductions[0].root->getResult(0)) {
    op.getResult().replaceAllUsesWith(results[0]);
    op.erase();
    return;
  }
  SmallVector<Value> inputs(results);
  if (readsMiddle)
    inputs.push_back(op.getInput());
  auto map = b.create<MapOp>(op.getLoc(), op.getResult().getType(), inputs, op.getSizes());
  SmallVector<Type> types;
  for (Value input : inputs)
    types.push_back(tensorOf(input).getElementType());
  const int64_t rank = tensorOf(op.getResult()).getRank();
  types.append(static_cast<size_t>(rank), b.getI64Type());
  Block *made =
      b.createBlock(&map.getBody(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  IRMapping copies;
  for (auto [number, reduction] : llvm::enumerate(reductions))
    copies.map(reduction.root->getResult(0), made->getArgument(static_cast<unsigned>(number)));
  if (readsMiddle)
    copies.map(body.getArgument(static_cast<unsigned>(*middleOf(op))),
               made->getArgument(static_cast<unsigned>(results.size())));
  for (auto [from, to] : llvm::zip(body.getArguments().take_back(static_cast<size_t>(rank)),
                                   made->getArguments().take_back(static_cast<size_t>(rank))))
    copies.map(Value(from), Value(to));
  for (Operation *inner : rest)
    b.clone(*inner, copies);
  b.clone(*body.getTerminator(), copies);
  map->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.getResult().replaceAllUsesWith(map.getResult());
  op.erase();
}

std::optional<ReducedWindow> penstock::schedules::reducedWindow(WindowOp op) {
  return Finder(op).run();
}
