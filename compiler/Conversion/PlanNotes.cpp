// SPDX-License-Identifier: Apache-2.0
//
// What the plan asks of a function.
#include "compiler/Conversion/PlanNotes.h"
#include "compiler/Dialect/UserPlaces.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::pipe;

void conversion::keepForPlan(KernelOp kernel, func::FuncOp function) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> draws, checks;
  kernel.walk([&](SetSlotOp op) {
    if (auto path = op->getAttrOfType<StringAttr>("draw"))
      draws.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("path", path), builder.getNamedAttr("slot", op.getIndexAttr()),
           builder.getNamedAttr("type", TypeAttr::get(op.getValue().getType()))}));
  });
  kernel.walk([&](CheckOp op) {
    const FileLineColLoc place = userPlaceOf(op.getLoc());
    checks.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("message", op.getMessageAttr()),
         builder.getNamedAttr("file",
                              builder.getStringAttr(place ? place.getFilename().strref() : "")),
         builder.getNamedAttr("line", builder.getI64IntegerAttr(place ? place.getLine() : 0)),
         builder.getNamedAttr("column",
                              builder.getI64IntegerAttr(place ? place.getColumn() : 0))}));
  });
  function->setAttr("pipe.kind", kernel.getKindAttr());
  if (!draws.empty())
    function->setAttr("pipe.draws", builder.getArrayAttr(draws));
  if (!checks.empty())
    function->setAttr("pipe.checks", builder.getArrayAttr(checks));
}

int64_t conversion::checkCount(Operation *function) {
  auto checks = function->getAttrOfType<ArrayAttr>("pipe.checks");
  return checks ? static_cast<int64_t>(checks.size()) : 0;
}
