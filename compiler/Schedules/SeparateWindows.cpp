// SPDX-License-Identifier: Apache-2.0
//
// A window's rows first, then its columns.
#include "compiler/Schedules/SeparateWindows.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

/// Neighbours from which on two windows and what is stored between them are less than one.
static constexpr int64_t fewestNeighbours = 16, fewestAlong = 3;
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
/// A body's operations on one neighbour, operands first, and how they look.
struct Term {
  BlockArgument neighbour;
  llvm::SetVector<Operation *> operations;
  std::vector<uintptr_t> shape;
};

/// A reduction of `terms`, neighbour by neighbour.
struct Reduced {
  BinaryOp root;
  SmallVector<Term> terms;
};

class Separation {
public:
  explicit Separation(WindowOp op) : op(op), body(op.getBody().front()) {}
  /// The windows along the first axis; none where all stays as it is.
  SmallVector<WindowOp> run();

private:
  int64_t along(size_t axis) { return op.getHigh()[axis] - op.getLow()[axis] + 1; }
  int64_t neighbours() { return along(0) * along(1); }
  bool isNeighbour(Value value) {
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body && argument.getArgNumber() < neighbours();
  }
  bool readTerm(Value value, Term &term);
  bool readReduced(BinaryOp root, Reduced &found);
  bool bordersAgree(Reduced &reduced);
  bool findReductions();
  WindowOp windowAlong(size_t axis, Value input, Reduced &reduced, bool makesTerms);
  void putTogether(ArrayRef<Value> results);

  WindowOp op;
  Block &body;
  SmallVector<Reduced> reductions;
  SmallVector<Operation *> rest; ///< operations that use their results
  bool readsMiddle = false;
};
} // namespace

bool Separation::readTerm(Value value, Term &term) {
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

bool Separation::readReduced(BinaryOp root, Reduced &found) {
  if (!isExact(root))
    return false;
  found.root = root;
  SmallVector<Value> open{root.getRhs(), root.getLhs()};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    auto inner = value.getDefiningOp<BinaryOp>();
    if (inner && inner->getBlock() == &body && inner.getKind() == root.getKind() &&
        inner.getType() == root.getType() && inner->hasOneUse() &&
        static_cast<int64_t>(found.terms.size() + open.size()) < neighbours()) {
      open.append({inner.getRhs(), inner.getLhs()});
      continue;
    }
    Term term;
    if (!readTerm(value, term) || !term.neighbour ||
        (!found.terms.empty() && term.shape != found.terms[0].shape))
      return false;
    found.terms.push_back(std::move(term));
  }
  llvm::sort(found.terms, [](const Term &a, const Term &b) {
    return a.neighbour.getArgNumber() < b.neighbour.getArgNumber();
  });
  for (auto [number, term] : llvm::enumerate(found.terms))
    if (term.neighbour.getArgNumber() != number)
      return false;
  return static_cast<int64_t>(found.terms.size()) == neighbours() && bordersAgree(found);
}

/// Returns whether what lies beyond rows is what a column of made-up elements reduces to.
bool Separation::bordersAgree(Reduced &reduced) {
  if (op.getBorder() != Border::constant)
    return true;
  if (!reduced.terms[0].operations.empty() || !op.getFill())
    return false;
  const BinaryKind kind = reduced.root.getKind();
  if (kind != BinaryKind::add && kind != BinaryKind::bit_xor)
    return true;
  auto fill = op.getFill().getDefiningOp<ConstantOp>();
  auto number = fill ? llvm::dyn_cast<IntegerAttr>(fill.getValue()) : IntegerAttr();
  return number && number.getValue().isZero();
}

/// From the end backwards: a root's own operations are no roots.
bool Separation::findReductions() {
  llvm::DenseSet<Operation *> used, roots;
  SmallVector<Value> open(body.getTerminator()->getOperands());
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *inner = value.getDefiningOp();
    if (!inner || inner->getBlock() != &body) {
      if (isNeighbour(value) && llvm::cast<BlockArgument>(value).getArgNumber() !=
                                    -op.getLow()[0] * along(1) - op.getLow()[1])
        return false;
      readsMiddle |= isNeighbour(value);
      continue;
    }
    if (!used.insert(inner).second)
      continue;
    Reduced reduced;
    if (auto root = llvm::dyn_cast<BinaryOp>(inner); root && readReduced(root, reduced)) {
      reductions.push_back(std::move(reduced));
      roots.insert(inner);
      if (reductions.size() > mostReductions)
        return false;
      continue;
    }
    if (inner->getNumRegions() || !isPure(inner))
      return false;
    open.append(inner->operand_begin(), inner->operand_end());
  }
  if (readsMiddle &&
      (op.getLow()[0] > 0 || op.getHigh()[0] < 0 || op.getLow()[1] > 0 || op.getHigh()[1] < 0))
    return false;
  for (Operation &inner : body.without_terminator())
    if (used.contains(&inner) && !roots.contains(&inner))
      rest.push_back(&inner);
  return !reductions.empty();
}

/// Along the first axis of terms, along the second one of what those reduce to.
WindowOp Separation::windowAlong(size_t axis, Value input, Reduced &reduced, bool makesTerms) {
  OpBuilder b(op);
  const Location loc = reduced.root.getLoc();
  auto type = llvm::cast<NamedTensorType>(op.getResult().getType());
  Type element = reduced.root.getType(),
       read = llvm::cast<NamedTensorType>(input.getType()).getElementType();
  Value fill = op.getFill();
  auto window = b.create<WindowOp>(
      loc, NamedTensorType::get(element, type.getAxes()), op.getBorder(), input,
      b.getArrayAttr({op.getOver()[axis]}), b.getDenseI64ArrayAttr({op.getLow()[axis]}),
      b.getDenseI64ArrayAttr({op.getHigh()[axis]}), fill, op.getSizes());
  SmallVector<Type> types(static_cast<size_t>(along(axis)), read);
  types.append(static_cast<size_t>(type.getRank()), b.getI64Type());
  Block *made =
      b.createBlock(&window.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  Value all;
  for (int64_t k = 0; k < along(axis); ++k) {
    Value term = made->getArgument(static_cast<unsigned>(k));
    if (makesTerms) {
      const Term &model = reduced.terms[0];
      IRMapping copies;
      copies.map(model.neighbour, term);
      for (Operation *inner : model.operations)
        term = b.clone(*inner, copies)->getResult(0);
    }
    all = all ? b.create<BinaryOp>(loc, element, reduced.root.getKind(), all, term).getResult()
              : term;
  }
  b.create<YieldOp>(loc, all);
  return window;
}

/// Emits the rest of the body, on reductions of its neighbours and on the one in the middle.
void Separation::putTogether(ArrayRef<Value> results) {
  OpBuilder b(op);
  if (rest.empty() && body.getTerminator()->getOperand(0) == reductions[0].root.getResult()) {
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
    types.push_back(llvm::cast<NamedTensorType>(input.getType()).getElementType());
  const auto rank = llvm::cast<NamedTensorType>(op.getResult().getType()).getRank();
  types.append(static_cast<size_t>(rank), b.getI64Type());
  Block *made =
      b.createBlock(&map.getBody(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  IRMapping copies;
  for (auto [number, reduced] : llvm::enumerate(reductions))
    copies.map(reduced.root.getResult(), made->getArgument(static_cast<unsigned>(number)));
  if (readsMiddle)
    copies.map(body.getArgument(static_cast<unsigned>(-op.getLow()[0] * along(1) - op.getLow()[1])),
               made->getArgument(static_cast<unsigned>(results.size())));
  for (int64_t axis = 0; axis < rank; ++axis)
    copies.map(
        body.getArgument(static_cast<unsigned>(neighbours() + axis)),
        made->getArgument(static_cast<unsigned>(static_cast<int64_t>(inputs.size()) + axis)));
  for (Operation *inner : rest)
    b.clone(*inner, copies);
  b.clone(*body.getTerminator(), copies);
  map->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.getResult().replaceAllUsesWith(map.getResult());
  op.erase();
}

SmallVector<WindowOp> Separation::run() {
  if (op.getOver().size() != 2 || along(0) < fewestAlong || along(1) < fewestAlong ||
      neighbours() < fewestNeighbours || !findReductions())
    return {};
  SmallVector<WindowOp> first;
  SmallVector<Value> results;
  for (Reduced &reduced : reductions) {
    first.push_back(windowAlong(0, op.getInput(), reduced, true));
    results.push_back(windowAlong(1, first.back().getResult(), reduced, false).getResult());
  }
  putTogether(results);
  return first;
}

SmallVector<WindowOp> penstock::schedules::separateWindows(KernelOp kernel) {
  SmallVector<WindowOp> made;
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<WindowOp>()))
    made.append(Separation(op).run());
  return made;
}
