// SPDX-License-Identifier: Apache-2.0
//
// Terms that rows or columns of elements share, once for all of them.
//
// What takes long (a sine, a normal variate) is worth a table of any size that two elements of the
// domain read; of what takes a few operations, a near cache has to hold it, and many have to read
// it.
#include "compiler/Schedules/SharedTerms.h"
#include "compiler/Schedules/Costs.h"
#include "compiler/Schedules/Tables.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include <algorithm>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Axes up to this long are unrolled, or looped over outside of lanes.
static constexpr int64_t shortAxis = 4;
/// A load and a store of each element must be worth it.
static constexpr int64_t fewestOperations = 3;
/// A gather does so much else that a few operations of its coordinates make no difference.
static constexpr int64_t fewestOfPlaces = 8;
/// What rows alone decide leaves the loop along them by itself, but for what is loaded.
static constexpr int64_t fewestOfRows = 9;
/// Terms have so many operations at most for each of the body.
static constexpr size_t mostCopies = 2;
/// The extent of an axis of which nothing is known, and beyond which it makes no difference.
static constexpr int64_t usualExtent = 8;

/// The axis that lanes lie along, if it is long.
static std::optional<int64_t> laneAxis(NamedTensorType type) {
  std::optional<int64_t> found;
  for (auto [number, axis] : llvm::enumerate(type.getAxes()))
    if (!axis.isStatic() || axis.extent > shortAxis)
      found = number;
  return found;
}

namespace {
/// Of one map or gather, in front of `before`: itself, or what it is a part of.
class Split {
public:
  Split(Operation *op, Operation *before, SmallVectorImpl<MapOp> &made)
      : op(op), before(before), body(op->getRegion(0).front()), made(made),
        map(llvm::dyn_cast<MapOp>(op)),
        domain(llvm::cast<NamedTensorType>(op->getResult(0).getType())) {}
  void run();

private:
  using Axes = llvm::SmallBitVector;
  size_t inputs() { return map ? map.getInputs().size() : 0; }
  /// Returns whether `value` is there in front of `before`.
  bool isOutside(Value value) {
    return !before->isAncestor(value.getParentRegion()->getParentOp());
  }
  Value sizeOf(unsigned axis);
  void findAxes();
  bool leaves(Operation &inner, const Axes &axes);
  int64_t fewestOfFar(const Axes &axes);
  bool paysOff(Operation *result, const Axes &axes);
  void moveOut(Operation *result);
  Value readOf(MapOp term, const Axes &axes);

  Operation *op, *before;
  Block &body;
  SmallVectorImpl<MapOp> &made;
  MapOp map;
  NamedTensorType domain;
  llvm::DenseMap<Value, Axes> axesOf; ///< of what is a function of inputs and coordinates
  size_t length = 0, copied = 0;      ///< operations, and those in terms
};
} // namespace

/// The extent of an axis of the domain; null if it is static.
Value Split::sizeOf(unsigned axis) {
  auto outer = domain.getAxes().take_front(axis);
  const auto number = llvm::count_if(outer, [](const Axis &other) { return !other.isStatic(); });
  return domain.getAxes()[axis].isStatic()
             ? Value()
             : llvm::cast<SizedOpInterface>(op).getSizes()[static_cast<size_t>(number)];
}

void Split::findAxes() {
  const auto rank = static_cast<unsigned>(domain.getRank());
  Axes known(rank); // those whose extents are there
  for (unsigned axis = 0; axis < rank; ++axis)
    if (Value size = sizeOf(axis); !size || isOutside(size))
      known.set(axis);
  for (BlockArgument argument : body.getArguments()) {
    Axes axes(rank);
    if (argument.getArgNumber() >= inputs()) {
      axes.set(argument.getArgNumber() - static_cast<unsigned>(inputs()));
    } else {
      Value input = map.getInputs()[argument.getArgNumber()];
      if (!isOutside(input))
        continue;
      for (const Axis &axis : llvm::cast<NamedTensorType>(input.getType()).getAxes())
        axes.set(static_cast<unsigned>(domain.axisIndex(axis.name)));
    }
    if (!axes.test(known))
      axesOf[argument] = axes;
  }
  for (Operation &inner : body.without_terminator()) {
    if (!isPure(&inner) || inner.getNumResults() != 1 ||
        !isScalarType(inner.getResult(0).getType()))
      continue;
    Axes axes(rank);
    bool isKnown = true;
    inner.walk([&](Operation *part) {
      for (Value operand : part->getOperands())
        if (operand.getParentBlock() == &body) {
          auto found = axesOf.find(operand);
          isKnown &= found != axesOf.end();
          if (isKnown)
            axes |= found->second;
        } else if (!inner.isAncestor(operand.getParentRegion()->getParentOp())) {
          isKnown &= isOutside(operand);
        }
    });
    if (isKnown)
      axesOf[inner.getResult(0)] = axes;
  }
}

/// Returns whether something else than a term over the same axes reads `inner`.
bool Split::leaves(Operation &inner, const Axes &axes) {
  return llvm::any_of(inner.getUsers(), [&](Operation *user) {
    Operation *reader = body.findAncestorOpInBlock(*user);
    auto other = reader->getNumResults() ? axesOf.find(reader->getResult(0)) : axesOf.end();
    return other == axesOf.end() || other->second != axes;
  });
}

/// Of so many operations a table over `axes` saves enough for each element of the domain, wherever
/// it lies. Along short axes, such as channels, elements are made together.
int64_t Split::fewestOfFar(const Axes &axes) {
  int64_t repeats = 1;
  bool hasLong = false;
  for (auto [number, axis] : llvm::enumerate(domain.getAxes())) {
    if (axis.isStatic() && axis.extent <= shortAxis)
      continue;
    if (axes.test(static_cast<unsigned>(number)))
      hasLong = true;
    else
      repeats = std::min(repeats * (axis.isStatic() ? axis.extent : usualExtent), usualExtent);
  }
  // Of what a choice may leave out, few repeats would save nothing.
  const bool isRepeated = repeats > 1 && (before == op || repeats == usualExtent);
  return hasLong && isRepeated ? fewestWorthStoring(static_cast<double>(repeats)) : INT64_MAX;
}

bool Split::paysOff(Operation *result, const Axes &axes) {
  const bool isNear = llvm::isa<Float32Type, Float64Type>(result->getResult(0).getType()) &&
                      isWorthATable(domain, axes, 8);
  const int64_t fewestFar = fewestOfFar(axes);
  if (!isNear && fewestFar == INT64_MAX)
    return false;
  int64_t operations = 0;
  bool readsInput = false, loads = false;
  llvm::SetVector<Operation *> needed;
  needed.insert(result);
  for (size_t next = 0; next < needed.size(); ++next) {
    needed[next]->walk([&](Operation *inner) {
      operations += costOf(inner);
      loads |= llvm::isa<LoadOp>(inner);
      for (Value operand : inner->getOperands()) {
        auto argument = llvm::dyn_cast<BlockArgument>(operand);
        readsInput |=
            argument && argument.getOwner() == &body && argument.getArgNumber() < inputs();
        Operation *deeper = operand.getDefiningOp();
        if (deeper && deeper->getBlock() == &body)
          needed.insert(deeper);
      }
    });
    // No further: a body may have thousands of operations.
    if (operations >= fewestFar)
      return true;
  }
  if (!isNear || loads)
    return false;
  if (axes.test(static_cast<unsigned>(*laneAxis(domain))))
    return operations >= (map ? fewestOperations : fewestOfPlaces);
  return readsInput && operations >= fewestOfRows;
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
  const Axes axes = axesOf[result->getResult(0)]; // a copy: the map grows
  const llvm::SetVector<Operation *> needed = operationsFor(body, result->getResult(0));
  // Terms that share operations compute them for each.
  if (copied + needed.size() > mostCopies * length)
    return;
  copied += needed.size();
  OpBuilder b(before);
  SmallVector<Axis> own;
  SmallVector<Value> sizes;
  for (unsigned axis : axes.set_bits()) {
    own.push_back(domain.getAxes()[axis]);
    if (Value size = sizeOf(axis))
      sizes.push_back(size);
  }
  llvm::SetVector<Value> read; // inputs of the new map
  for (Operation *inner : needed)
    inner->walk([&](Operation *part) {
      for (Value operand : part->getOperands())
        if (auto argument = llvm::dyn_cast<BlockArgument>(operand);
            argument && argument.getOwner() == &body && argument.getArgNumber() < inputs())
          read.insert(argument);
    });
  SmallVector<Value> tensors;
  SmallVector<Type> types;
  for (Value argument : read) {
    tensors.push_back(map.getInputs()[llvm::cast<BlockArgument>(argument).getArgNumber()]);
    types.push_back(argument.getType());
  }
  types.append(own.size(), b.getI64Type());
  const Location loc = result->getLoc();
  auto term = b.create<MapOp>(loc, NamedTensorType::get(result->getResult(0).getType(), own),
                              tensors, sizes);
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
  axesOf[here] = axes;
  result->getResult(0).replaceAllUsesWith(here); // also in terms that follow
  made.push_back(term);
}

void Split::run() {
  if (!laneAxis(domain) ||
      body.getNumArguments() != inputs() + static_cast<size_t>(domain.getRank()))
    return;
  findAxes();
  SmallVector<Operation *> all;
  for (Operation &inner : body.without_terminator())
    all.push_back(&inner);
  length = all.size();
  for (Operation *inner : all) {
    auto found = axesOf.find(inner->getNumResults() ? inner->getResult(0) : Value());
    if (found == axesOf.end() || found->second.none() || found->second.all())
      continue;
    const Axes axes = found->second;
    if (leaves(*inner, axes) && paysOff(inner, axes))
      moveOut(inner);
  }
  for (Operation *inner : llvm::reverse(all))
    if (isOpTriviallyDead(inner))
      inner->erase();
}

SmallVector<MapOp> penstock::schedules::splitSharedTerms(KernelOp kernel) {
  SmallVector<MapOp> made;
  SmallVector<Operation *> all; // also those in the arms of choices
  kernel.walk([&](Operation *op) {
    if (llvm::isa<MapOp, GatherOp>(op))
      all.push_back(op);
  });
  for (Operation *op : all)
    Split(op, kernel.getBody().front().findAncestorOpInBlock(*op), made).run();
  return made;
}
