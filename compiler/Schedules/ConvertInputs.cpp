// SPDX-License-Identifier: Apache-2.0
//
// Conversions that windows repeat for every neighbour.
#include "compiler/Schedules/ConvertInputs.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

/// Neighbours whose conversions cost more than to store and to read four bytes for each; of longer
/// terms, fewer are enough.
static constexpr int64_t manyNeighbours = 12, enoughNeighbours = 6, enoughOfRows = 48;
static constexpr size_t longTerm = 3;
/// Operations of a term, at most. A neighbour that also meets itself has longer ones than others,
/// which begin alike.
static constexpr size_t mostOperations[] = {16, 4, 1};
/// A copy that a core's own cache holds.
static constexpr int64_t mostConverted = int64_t{1} << 20;

namespace {
/// A body's operations on a neighbour before it meets anything else, operands first, of which the
/// last one alone is used otherwise.
struct Term {
  llvm::SetVector<Operation *> operations;
  Operation *last() const { return operations.back(); }
};
} // namespace

/// Null where the neighbour is used as it is, or more than one number of it. `most`: operations.
static std::optional<Term> termOf(BlockArgument neighbour, size_t most) {
  Block *body = neighbour.getOwner();
  Term term;
  auto isInside = [&](Value value) {
    return value == neighbour || value.getParentBlock() != body ||
           term.operations.contains(value.getDefiningOp());
  };
  for (size_t next = 0; next <= term.operations.size(); ++next) {
    Value value = next ? term.operations[next - 1]->getResult(0) : Value(neighbour);
    for (Operation *user : value.getUsers())
      if (term.operations.size() < most && user->getBlock() == body &&
          llvm::isa<CastOp, UnaryOp, BinaryOp, CompareOp, SelectOp>(user) &&
          llvm::all_of(user->getOperands(), isInside))
        term.operations.insert(user);
  }
  auto leaves = [&](Value value) {
    return llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return !term.operations.contains(user); });
  };
  if (term.operations.empty() || leaves(neighbour))
    return std::nullopt;
  llvm::SmallVector<Operation *> inOrder(term.operations.getArrayRef());
  llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *op : ArrayRef(inOrder).drop_back())
    if (leaves(op->getResult(0)))
      return std::nullopt;
  term.operations = llvm::SetVector<Operation *>(inOrder.begin(), inOrder.end());
  return term;
}

/// Returns whether both make the same of their neighbours.
static bool areAlike(const Term &a, BlockArgument ofA, const Term &b, BlockArgument ofB) {
  if (a.operations.size() != b.operations.size())
    return false;
  IRMapping same;
  same.map(Value(ofA), Value(ofB));
  for (auto [x, y] : llvm::zip(a.operations, b.operations)) {
    if (x->getName() != y->getName() || x->getResultTypes() != y->getResultTypes() ||
        x->getPropertiesAsAttribute() != y->getPropertiesAsAttribute() ||
        llvm::any_of(llvm::zip(x->getOperands(), y->getOperands()), [&](auto operands) {
          return same.lookupOrDefault(std::get<0>(operands)) != std::get<1>(operands);
        }))
      return false;
    same.map(x->getResult(0), y->getResult(0));
  }
  return true;
}

/// Returns the terms that a window makes of its neighbours first, to be made once for each element;
/// nothing where they differ, or it reads few.
static SmallVector<std::pair<BlockArgument, Term>> commonTerms(WindowOp op, size_t most) {
  auto input = llvm::cast<NamedTensorType>(op.getInput().getType());
  SmallVector<std::pair<BlockArgument, Term>> found;
  for (BlockArgument argument :
       op.getBody().front().getArguments().drop_back(static_cast<size_t>(input.getRank()))) {
    if (argument.use_empty())
      continue;
    auto term = termOf(argument, most);
    if (!term || (!found.empty() && !areAlike(found[0].second, found[0].first, *term, argument)))
      return {};
    found.emplace_back(argument, std::move(*term));
  }
  if (found.empty())
    return {};
  const auto count = static_cast<int64_t>(found.size());
  const bool isLong = found[0].second.operations.size() >= longTerm;
  Operation *last = found[0].second.last();
  auto cast = llvm::dyn_cast<CastOp>(last);
  const bool widens = found[0].second.operations.size() == 1 && cast &&
                      llvm::isa<IntegerType>(input.getElementType()) &&
                      scalarBytes(input.getElementType()) <= 2 && cast.getType().isF32();
  const bool isSmall = scalarBytes(last->getResult(0).getType()) <= 4;
  return (widens && count >= manyNeighbours) || (isLong && isSmall && count >= enoughNeighbours)
             ? found
             : SmallVector<std::pair<BlockArgument, Term>>();
}

/// Returns whether a window reads a copy with profit: of rows whose extent differs from sample to
/// sample, which no cache may hold, where it has many neighbours. Room for these is found by
/// extents of arguments.
static bool mayCopy(WindowOp op) {
  NamedTensorType input = tensorOf(op.getInput());
  if (input.isStatic())
    return 4 * input.numElements() <= mostConverted;
  return input.getRank() == 1 && llvm::isa<BlockArgument>(op.getInput()) &&
         op.getBody().getNumArguments() > enoughOfRows;
}

SmallVector<MapOp> penstock::schedules::convertInputs(KernelOp kernel) {
  SmallVector<MapOp> made;
  for (auto op : kernel.getBody().front().getOps<WindowOp>()) {
    auto input = llvm::cast<NamedTensorType>(op.getInput().getType());
    if (op.getFill() || !mayCopy(op))
      continue;
    SmallVector<std::pair<BlockArgument, Term>> terms;
    for (size_t most : mostOperations)
      if (terms.empty())
        terms = commonTerms(op, most);
    if (terms.empty())
      continue;
    OpBuilder b(op);
    const auto &[first, model] = terms[0];
    const Type element = model.last()->getResult(0).getType();
    SmallVector<Value> sizes;
    for (int64_t axis : input.dynamicAxes())
      sizes.push_back(extentValue(b, op.getLoc(), op.getInput(), axis));
    auto map = b.create<MapOp>(op.getLoc(), NamedTensorType::get(element, input.getAxes()),
                               ValueRange(op.getInput()), sizes);
    SmallVector<Type> types{input.getElementType()};
    types.append(static_cast<size_t>(input.getRank()), b.getI64Type());
    Block *body =
        b.createBlock(&map.getBody(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
    IRMapping copies;
    copies.map(Value(first), body->getArgument(0));
    for (Operation *inner : model.operations)
      b.clone(*inner, copies);
    b.create<YieldOp>(op.getLoc(), copies.lookup(model.last()->getResult(0)));
    op.getInputMutable().set(map.getResult());
    for (BlockArgument argument :
         op.getBody().front().getArguments().drop_back(static_cast<size_t>(input.getRank())))
      argument.setType(element);
    for (const auto &[argument, term] : terms) {
      term.last()->getResult(0).replaceAllUsesWith(argument);
      for (Operation *inner : llvm::reverse(term.operations))
        inner->erase();
    }
    made.push_back(map);
  }
  return made;
}
