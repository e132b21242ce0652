// SPDX-License-Identifier: Apache-2.0
//
// Moves scalars and what they depend on.
#include "compiler/Analysis/HoistScalars.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

bool hoistScalars(Value value, Operation *before) {
  SetVector<Operation *> moved;
  // Operands first, so that the order of `moved` is a valid order.
  auto collect = [&](auto &self, Value wanted) -> bool {
    Operation *op = wanted.getDefiningOp();
    if (!op)
      return wanted.getParentRegion()->isAncestor(before->getParentRegion());
    // What is outside stands before it. (To ask for the order of ops in their block, where each one
    // that moves changes it, takes the square of their number.)
    if (moved.contains(op) || !before->isProperAncestor(op))
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
