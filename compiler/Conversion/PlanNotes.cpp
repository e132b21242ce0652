// SPDX-License-Identifier: Apache-2.0
//
// Notes on a function for the plan.
#include "compiler/Conversion/PlanNotes.h"
#include "compiler/Dialect/UserPlaces.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::pipe;

conversion::KeptCheck conversion::keptCheck(CheckOp op) {
  const FileLineColLoc place = userPlaceOf(op.getLoc());
  Builder b(op.getContext());
  if (!place)
    return {op.getMessageAttr(), b.getStringAttr(""), 0, 0};
  return {op.getMessageAttr(), place.getFilename(), place.getLine(), place.getColumn()};
}

void conversion::keepForPlan(KernelOp kernel, func::FuncOp function) {
  SmallVector<KeptDraw> draws;
  SmallVector<KeptCheck> checks;
  kernel.walk([&](SetEntryOp op) {
    if (auto path = op->getAttrOfType<StringAttr>("draw"))
      draws.push_back({path, static_cast<int64_t>(op.getIndex()), op.getValue().getType()});
  });
  kernel.walk([&](CheckOp op) { checks.push_back(keptCheck(op)); });
  setKind(function, kernel.getKindAttr());
  if (!draws.empty())
    setDraws(function, draws);
  if (!checks.empty())
    setChecks(function, checks);
}
