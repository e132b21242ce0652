// SPDX-License-Identifier: Apache-2.0
//
// Values that are the same for all samples of a batch.
#include "compiler/Analysis/OncePerBatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

/// Returns whether an op tells samples apart by itself, whatever it reads.
static bool differsBetweenSamples(Operation *op) {
  if (auto context = llvm::dyn_cast<ContextOp>(op))
    return context.getKind() == ContextKind::slot;
  if (auto key = llvm::dyn_cast<KeyOp>(op))
    return key.getScope() == KeyScope::sample;
  if (llvm::isa<ParamOp, SourceOp, LengthOp, PeerOp, SwitchOp>(op))
    return false;
  const OpClass found = classOf(op);
  if (found == OpClass::scalar)
    return !isPureScalar(op) ||
           llvm::isa<FieldOp, FieldExtentOp, FieldElementOp, ProbeOp, RowOp, RowIndexOp, PickOp>(
               op);
  return !llvm::is_contained({OpClass::constant, OpClass::weights, OpClass::index, OpClass::point,
                              OpClass::halo, OpClass::gather, OpClass::barrier},
                             found);
}

OncePerBatch::OncePerBatch(ArrayRef<Block *> blocks, DenseMap<Operation *, Value> &guards) {
  for (Block *block : blocks)
    for (Operation &op : *block) {
      if (llvm::isa<PeersOp>(op)) {
        same.insert(&op);
        continue;
      }
      if (op.getNumResults() == 0)
        continue;
      SetVector<Value> used(op.operand_begin(), op.operand_end());
      getUsedValuesDefinedAbove(op.getRegions(), used);
      const Value guard = guards.lookup(&op);
      const bool inBatch = llvm::isa<BatchOp>(op.getParentOp());
      bool isSameForAll = (!guard || inBatch || isSame(guard)) && !differsBetweenSamples(&op);
      op.walk([&](Operation *inner) {
        isSameForAll &=
            inner == &op || !llvm::isa<KeyOp, ContextOp>(inner) || !differsBetweenSamples(inner);
      });
      // A value that all samples share is the same whichever sample's it is.
      if (!llvm::isa<PeerOp>(op) || !isSame(op.getOperand(0)))
        for (Value value : used)
          isSameForAll &= isSame(value);
      if (!isSameForAll)
        continue;
      same.insert(&op);
      if (guard && inBatch && !isSame(guard))
        guards.erase(&op);
    }
}

} // namespace penstock::analysis
