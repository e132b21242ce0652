// SPDX-License-Identifier: Apache-2.0
//
// The place of a window's best neighbour in two steps.
#include "compiler/Schedules/WindowPlaces.h"
#include "compiler/Schedules/WindowReductions.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Neighbours from which on it is done: as many uses as make a value one that all terms of a chain
/// share (TapChains.cpp).
static constexpr int64_t fewestNeighbours = 48;

static void split(const WindowReduction &reduction) {
  Operation *root = reduction.root;
  OpBuilder b(root);
  const Location loc = root->getLoc();
  SmallVector<Value> keys;
  for (const WindowTerm &term : reduction.terms)
    keys.push_back(term.operations.empty() ? Value(term.neighbour)
                                           : term.operations.back()->getResult(0));
  const Type key = keys[0].getType();
  Value best = keys[0];
  for (Value next : ArrayRef(keys).drop_front())
    best = b.create<BinaryOp>(loc, key, reduction.kind, best, next);
  // As wide as keys, so that they go in the same lanes; numbers of 4,096 neighbours fit 16 bits.
  const Type number =
      b.getIntegerType(static_cast<unsigned>(std::clamp<int64_t>(8 * scalarBytes(key), 16, 64)));
  auto constant = [&](int64_t value) -> Value {
    return b.create<ConstantOp>(loc, number, b.getIntegerAttr(number, value));
  };
  Value place;
  for (auto [at, next] : llvm::enumerate(keys)) {
    Value isBest = b.create<CompareOp>(loc, Predicate::eq, next, best);
    Value mine = b.create<SelectOp>(loc, isBest, constant(static_cast<int64_t>(at)),
                                    constant(reduction.count()));
    place = place ? b.create<BinaryOp>(loc, number, BinaryKind::min, place, mine) : mine;
  }
  if (place.getType() != reduction.type())
    place = b.create<CastOp>(loc, reduction.type(), CastMode::value, place, ValueRange());
  // The chain of choices goes, from its end backwards.
  root->getResult(0).replaceAllUsesWith(place);
  Block *body = root->getBlock();
  llvm::SetVector<Operation *> unused;
  unused.insert(root);
  while (!unused.empty()) {
    Operation *last = unused.pop_back_val();
    if (!last->use_empty() || last->getBlock() != body)
      continue;
    for (Value operand : last->getOperands())
      if (Operation *made = operand.getDefiningOp())
        unused.insert(made);
    last->erase();
  }
}

void penstock::schedules::splitPlaces(KernelOp kernel) {
  for (auto op : kernel.getBody().front().getOps<WindowOp>())
    if (std::optional<ReducedWindow> window = reducedWindow(op))
      for (const WindowReduction &reduction : window->reductions)
        if (reduction.isPlace && reduction.count() >= fewestNeighbours)
          split(reduction);
}
