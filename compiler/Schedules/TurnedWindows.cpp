// SPDX-License-Identifier: Apache-2.0
//
// Windows whose results are read across their rows.
#include "compiler/Schedules/TurnedWindows.h"
#include "compiler/Analysis/WindowMargins.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::usualLaneAxis;

/// Returns whether elements of `op` are made of windows' at the same places.
static bool isOfWindows(Operation *op) {
  llvm::SetVector<Operation *> reached;
  reached.insert(op);
  for (size_t next = 0; next < reached.size(); ++next) {
    if (llvm::isa<WindowOp>(reached[next]))
      return true;
    if (!llvm::isa<MapOp, CastOp>(reached[next]) || reached[next]->hasAttr("schedule"))
      continue;
    for (Value operand : reached[next]->getOperands())
      if (Operation *inner = operand.getDefiningOp())
        reached.insert(inner);
  }
  return false;
}

/// Returns whether elements side by side in the input are not so in the result.
static bool turnsRows(ViewOp op) {
  NamedTensorType from = tensorOf(op.getInput()), to = tensorOf(op.getResult());
  if (from.getRank() < 2 || to.getRank() < 2)
    return false;
  auto place = llvm::dyn_cast<AffineDimExpr>(
      op.getMap().getResult(static_cast<unsigned>(usualLaneAxis(from))));
  return place && place.getPosition() != usualLaneAxis(to);
}

SmallVector<Operation *> penstock::schedules::turnedWindows(KernelOp kernel) {
  llvm::SetVector<Operation *> found;
  for (auto view : kernel.getBody().front().getOps<ViewOp>())
    if (Operation *made = view.getInput().getDefiningOp();
        made && !made->hasAttr("schedule") && turnsRows(view) && isOfWindows(made))
      found.insert(made);
  return found.takeVector();
}
