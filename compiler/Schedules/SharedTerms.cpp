// SPDX-License-Identifier: Apache-2.0
//
// Terms that rows or columns of elements share, once for all of them.
#include "compiler/Schedules/SharedTerms.h"
#include "compiler/Schedules/Tables.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::schedules::isWorthATable;
using penstock::schedules::operationsFor;

/// Axes up to this long are unrolled, or looped over outside of lanes.
static constexpr int64_t shortAxis = 4;
/// A load and a store of each element must be worth it.
static constexpr int64_t fewestOperations = 3;
/// A gather does so much else that a few operations of its coordinates make no difference.
static constexpr int64_t fewestOfPlaces = 8;
/// Operations that a division or a root takes as long as.
static constexpr int64_t longOperation = 8;

/// The axis that lanes lie along, if it is long.
static std::optional<int64_t> laneAxis(NamedTensorType type) {
  std::optional<int64_t> found;
  for (auto [number, axis] : llvm::enumerate(type.getAxes()))
    if (!axis.isStatic() || axis.extent > shortAxis)
      found = number;
  return found;
}

namespace {
/// Of one map or gather.
class Split {
public:
  Split(Operation *op, SmallVectorImpl<MapOp> &made)
      : op(op), body(op->getRegion(0).front()), made(made), map(llvm::dyn_cast<MapOp>(op)),
        domain(llvm::cast<NamedTensorType>(op->getResult(0).getType())) {}
  void run();

private:
  using Axes = llvm::SmallBitVector;
  size_t inputs() { return map ? map.getInputs().size() : 0; }
  void findAxes();
  bool paysOff(Operation *result, const Axes &axes);
  void moveOut(Operation *result);
  Value readOf(MapOp term, const Axes &axes);

  Operation *op;
  Block &body;
  SmallVectorImpl<MapOp> &made;
  MapOp map;
  NamedTensorType domain;
  llvm::DenseMap<Value, Axes> axesOf; ///< of what is arithmetic on inputs and coordinates
};
} // namespace

void Split::findAxes() {
  const auto rank = static_cast<unsigned>(domain.getRank());
  for (BlockArgument argument : body.getArguments()) {
    Axes axes(rank);
    if (argument.getArgNumber() >= inputs())
      axes.set(argument.getArgNumber() - static_cast<unsigned>(inputs()));
    else
      for (const Axis &axis :
           llvm::cast<NamedTensorType>(map.getInputs()[argument.getArgNumber()].getType())
               .getAxes())
        axes.set(static_cast<unsigned>(domain.axisIndex(axis.name)));
    axesOf[argument] = axes;
  }
  for (Operation &inner : body.without_terminator()) {
    if (!llvm::isa<UnaryOp, BinaryOp, CompareOp, SelectOp, CastOp>(inner))
      continue;
    Axes axes(rank);
    bool known = true;
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() == &body) {
        auto found = axesOf.find(operand);
        known &= found != axesOf.end();
        if (known)
          axes |= found->second;
      }
    if (known && axes.any())
      axesOf[inner.getResult(0)] = axes;
  }
}

bool Split::paysOff(Operation *result, const Axes &axes) {
  if (!llvm::isa<Float32Type, Float64Type>(result->getResult(0).getType()))
    return false;
  if (!isWorthATable(domain, axes, 8))
    return false;
  int64_t operations = 0;
  bool readsMemory = false;
  for (Operation *inner : operationsFor(body, result->getResult(0))) {
    auto binary = llvm::dyn_cast<BinaryOp>(inner);
    auto unary = llvm::dyn_cast<UnaryOp>(inner);
    const bool isLong =
        llvm::isa<FloatType>(inner->getResult(0).getType()) &&
        ((binary && llvm::is_contained({BinaryKind::div, BinaryKind::rem}, binary.getKind())) ||
         (unary && unary.getKind() == UnaryKind::sqrt));
    operations += isLong ? longOperation : 1;
    for (Value operand : inner->getOperands())
      if (auto argument = llvm::dyn_cast<BlockArgument>(operand))
        readsMemory |= argument.getOwner() == &body && argument.getArgNumber() < inputs();
  }
  const auto lanes = laneAxis(domain);
  if (lanes && axes.test(static_cast<unsigned>(*lanes)))
    return operations >= (map ? fewestOperations : fewestOfPlaces);
  return readsMemory && operations > longOperation;
}

/// Returns the value that reads an element of `term` in the body.
Value Split::readOf(MapOp term, const Axes &axes) {
  Type element = llvm::cast<NamedTensorType>(term.getResult().getType()).getElementType();
  if (map) {
    BlockArgument read =
        body.insertArgument(static_cast<unsigned>(inputs()), element, term.getLoc());
    map.getInputsMutable().append(term.getResult());
    return read;
  }
  SmallVector<Value> places;
  for (unsigned axis : axes.set_bits())
    places.push_back(body.getArgument(axis));
  OpBuilder b(&body, body.begin());
  return b.create<LoadOp>(term.getLoc(), element, term.getResult(), places);
}

/// A map over the axes of `result` that computes it, which the body reads in its place.
void Split::moveOut(Operation *result) {
  const Axes axes = axesOf[result->getResult(0)];
  const llvm::SetVector<Operation *> needed = operationsFor(body, result->getResult(0));
  OpBuilder b(op);
  SmallVector<Axis> own;
  for (unsigned axis : axes.set_bits())
    own.push_back(domain.getAxes()[axis]);
  llvm::SetVector<Value> read; // inputs of the new map
  for (Operation *inner : needed)
    for (Value operand : inner->getOperands())
      if (auto argument = llvm::dyn_cast<BlockArgument>(operand);
          argument && argument.getOwner() == &body && argument.getArgNumber() < inputs())
        read.insert(argument);
  SmallVector<Value> tensors;
  SmallVector<Type> types;
  for (Value argument : read) {
    tensors.push_back(map.getInputs()[llvm::cast<BlockArgument>(argument).getArgNumber()]);
    types.push_back(argument.getType());
  }
  types.append(own.size(), b.getI64Type());
  const Location loc = result->getLoc();
  auto term = b.create<MapOp>(loc, NamedTensorType::get(result->getResult(0).getType(), own),
                              tensors, ValueRange());
  Block *block =
      b.createBlock(&term.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  IRMapping copies;
  for (auto [number, argument] : llvm::enumerate(read))
    copies.map(argument, block->getArgument(static_cast<unsigned>(number)));
  unsigned place = static_cast<unsigned>(read.size());
  for (unsigned axis : axes.set_bits())
    copies.map(body.getArgument(static_cast<unsigned>(inputs()) + axis),
               block->getArgument(place++));
  for (Operation *inner : needed)
    b.clone(*inner, copies);
  b.create<YieldOp>(loc, copies.lookup(result->getResult(0)));
  Value here = readOf(term, axes);
  // Terms over the same axes keep theirs: they may be moved, too.
  result->getResult(0).replaceUsesWithIf(here, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    auto found = user->getNumResults() ? axesOf.find(user->getResult(0)) : axesOf.end();
    return found == axesOf.end() || found->second != axes;
  });
  made.push_back(term);
}

void Split::run() {
  const auto lanes = laneAxis(domain);
  if (!lanes || body.getNumArguments() != inputs() + static_cast<size_t>(domain.getRank()))
    return;
  findAxes();
  SmallVector<Operation *> terms;
  for (Operation &inner : body.without_terminator()) {
    auto found = axesOf.find(inner.getNumResults() ? inner.getResult(0) : Value());
    if (found == axesOf.end() || found->second.all())
      continue;
    const bool leaves = llvm::any_of(inner.getUsers(), [&](Operation *user) {
      auto other = user->getNumResults() ? axesOf.find(user->getResult(0)) : axesOf.end();
      return other == axesOf.end() || other->second != found->second;
    });
    if (leaves && paysOff(&inner, found->second))
      terms.push_back(&inner);
  }
  for (Operation *term : terms)
    moveOut(term);
  SmallVector<Operation *> all;
  for (Operation &inner : body.without_terminator())
    all.push_back(&inner);
  for (Operation *inner : llvm::reverse(all))
    if (isOpTriviallyDead(inner))
      inner->erase();
}

SmallVector<MapOp> penstock::schedules::splitSharedTerms(KernelOp kernel) {
  SmallVector<MapOp> made;
  for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front()))
    if (llvm::isa<MapOp, GatherOp>(op))
      Split(&op, made).run();
  return made;
}
