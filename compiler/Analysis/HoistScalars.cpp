// SPDX-License-Identifier: Apache-2.0
//
// Moves scalars and what they depend on.
#include "compiler/Analysis/HoistScalars.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

bool hoistScalars(Value value, Operation *before) {
  DominanceInfo dominance;
  SetVector<Operation *> moved;
  // Operands first, so that the order of `moved` is a valid order.
  auto collect = [&](auto &self, Value wanted) -> bool {
    Operation *op = wanted.getDefiningOp();
    if (!op)
      return wanted.getParentRegion()->isAncestor(before->getParentRegion());
    if (moved.contains(op) || dominance.properlyDominates(op, before))
      return true;
    if (!isPureScalar(op))
      return false;
    SetVector<Value> needed(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), needed);
    for (Value operand : needed)
      if (!self(self, operand))
        return false;
    moved.insert(op);
    return true;
  };
  if (!collect(collect, value))
    return false;
  for (Operation *op : moved)
    op->moveBefore(before);
  return true;
}

} // namespace penstock::analysis
