// SPDX-License-Identifier: Apache-2.0
//
// Values that views read several times.
//
// A view moves data only, so that what it reads is computed where the view is read: once for each
// of the frames that have it.
#include "compiler/Schedules/Rereads.h"
#include "compiler/Schedules/Costs.h"
#include "llvm/ADT/SetVector.h"
#include <algorithm>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Returns how many elements of `view` read one of its input where both have frames of it: `place`
/// is a multiple of one of the view's axes, whose extent follows from the input's, and another one;
/// 1 for all else, such as frames of a part.
static double readsOfFrames(ViewOp view, AffineExpr place) {
  auto sum = llvm::dyn_cast<AffineBinaryOpExpr>(place);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return 1;
  auto within = llvm::dyn_cast<AffineDimExpr>(sum.getRHS());
  auto frame = llvm::dyn_cast<AffineBinaryOpExpr>(sum.getLHS());
  if (!within || !frame || frame.getKind() != AffineExprKind::Mul)
    return 1;
  auto number = llvm::dyn_cast<AffineDimExpr>(frame.getLHS());
  auto step = llvm::dyn_cast<AffineConstantExpr>(frame.getRHS());
  ArrayRef<Axis> axes = tensorOf(view.getResult()).getAxes();
  if (!number || axes[number.getPosition()].isStatic() || !axes[within.getPosition()].isStatic() ||
      !step || step.getValue() < 1)
    return 1;
  return static_cast<double>(axes[within.getPosition()].extent) /
         static_cast<double>(step.getValue());
}

/// Returns how many elements of `view` read one of its input, about.
static double readsOf(ViewOp view) {
  NamedTensorType from = tensorOf(view.getInput()), to = tensorOf(view.getResult());
  if (from.isStatic() && to.isStatic())
    return static_cast<double>(to.numElements()) /
           static_cast<double>(std::max<int64_t>(from.numElements(), 1));
  double reads = 1;
  for (AffineExpr place : view.getMap().getResults())
    reads *= readsOfFrames(view, place);
  return reads;
}

/// How long an element of `made` takes out of what others have made, or `most` and more.
static int64_t operationsBehind(Operation *made, int64_t most) {
  llvm::SetVector<Operation *> reached;
  reached.insert(made);
  int64_t operations = 0;
  for (size_t next = 0; next < reached.size() && operations < most; ++next) {
    Operation *op = reached[next];
    if (!op || op->hasAttr("schedule") || !llvm::isa<MapOp, CastOp, WindowOp>(op))
      continue;
    if (op->getNumRegions())
      for (Operation &inner : op->getRegion(0).front().without_terminator())
        inner.walk([&](Operation *part) { operations += costOf(part); });
    if (llvm::isa<WindowOp>(op)) // what it reads often is stored
      operations += llvm::count_if(op->getRegion(0).getArguments(),
                                   [](Value neighbour) { return !neighbour.use_empty(); });
    else
      for (Value operand : op->getOperands())
        if (Operation *before = operand.getDefiningOp())
          reached.insert(before);
  }
  return operations;
}

SmallVector<Operation *> penstock::schedules::rereadValues(KernelOp kernel) {
  llvm::SetVector<Operation *> found;
  for (auto view : kernel.getBody().front().getOps<ViewOp>()) {
    Operation *made = view.getInput().getDefiningOp();
    if (!made || made->hasAttr("schedule") || !llvm::isa<MapOp, CastOp, WindowOp>(made))
      continue;
    const int64_t fewest = fewestWorthStoring(readsOf(view));
    if (fewest < INT64_MAX && operationsBehind(made, fewest) >= fewest)
      found.insert(made);
  }
  return found.takeVector();
}
