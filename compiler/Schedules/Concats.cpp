// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are joined along the axis of lanes.
#include "compiler/Schedules/Concats.h"
#include "compiler/Analysis/WindowMargins.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::usualLaneAxis;

/// Returns the axis along which lanes of a tensor of this type lie.
static StringRef lanesOf(NamedTensorType type) {
  return type.getRank() ? type.getAxes()[usualLaneAxis(type)].name : StringRef();
}

/// Returns whether `user` reads most of what it is given. What reads a few elements finds them
/// faster than all are stored.
static bool readsMost(Operation *user, NamedTensorType given) {
  auto view = llvm::dyn_cast<ViewOp>(user);
  if (!view || !given.isStatic() || !tensorOf(view.getResult()).isStatic())
    return true;
  return 2 * tensorOf(view.getResult()).numElements() >= given.numElements();
}

SmallVector<ConcatOp> penstock::schedules::concatsAlongLanes(KernelOp kernel) {
  Operation *end = kernel.getBody().front().getTerminator();
  llvm::SetVector<Operation *> toStore;
  // What is stored itself will store its parts one by one, unless each row goes through all.
  auto willStoreParts = [&](Operation *user) {
    auto outer = llvm::dyn_cast<ConcatOp>(user);
    if (!outer)
      return user == end;
    NamedTensorType type = tensorOf(outer.getResult());
    return type.axisIndex(outer.getAxis()) <= usualLaneAxis(type) &&
           (toStore.contains(outer) || outer->hasAttr("schedule") ||
            llvm::is_contained(outer->getUsers(), end));
  };
  SmallVector<ConcatOp> all;
  kernel.walk([&](ConcatOp op) { all.push_back(op); });
  for (ConcatOp op : llvm::reverse(all)) { // readers first
    NamedTensorType type = tensorOf(op.getResult());
    auto isOfLanes = [&](Type stored) {
      return lanesOf(llvm::cast<NamedTensorType>(stored)) == op.getAxis();
    };
    const bool alongLanes = isOfLanes(type) || llvm::any_of(end->getOperandTypes(), isOfLanes);
    const bool isRead = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return !willStoreParts(user) && readsMost(user, type);
    });
    if (alongLanes && isRead && !op->hasAttr("schedule"))
      toStore.insert(op);
  }
  SmallVector<ConcatOp> found;
  for (Operation *op : llvm::reverse(toStore))
    found.push_back(llvm::cast<ConcatOp>(op));
  return found;
}
