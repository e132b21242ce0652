// SPDX-License-Identifier: Apache-2.0
//
// What maps read again and again, as they read it.
#include "compiler/Schedules/TransposeInputs.h"

using namespace mlir;
using namespace penstock::pipe;

/// Reads of each element that a copy is worth.
static constexpr int64_t fewestReads = 8;
/// Elements that lie apart and are still taken out of registers.
static constexpr int64_t nearEnough = 4;
/// A copy that a core's own cache holds.
static constexpr int64_t mostBytes = int64_t{1} << 18;

/// The axis of `input` to move to the end; null where that does not pay.
static std::optional<int64_t> movedAxis(MapOp map, NamedTensorType input) {
  auto domain = llvm::cast<NamedTensorType>(map.getResult().getType());
  if (!domain.isStatic() || domain.getRank() < 2 || input.getRank() < 2)
    return std::nullopt;
  const Axis &lanes = domain.getAxes().back();
  const int64_t axis = input.axisIndex(lanes.name);
  if (axis < 0 || lanes.extent < fewestReads)
    return std::nullopt;
  int64_t apart = 1, reads = 1;
  for (const Axis &inner : input.getAxes().drop_front(axis + 1))
    apart *= inner.extent;
  for (const Axis &other : domain.getAxes())
    reads *= input.axisIndex(other.name) < 0 ? other.extent : 1;
  if (apart <= nearEnough || reads < fewestReads ||
      input.numElements() * scalarBytes(input.getElementType()) > mostBytes)
    return std::nullopt;
  return axis;
}

SmallVector<ViewOp> penstock::schedules::transposeInputs(KernelOp kernel) {
  SmallVector<ViewOp> made;
  for (auto map : kernel.getBody().front().getOps<MapOp>())
    for (OpOperand &operand : map.getInputsMutable()) {
      auto input = llvm::cast<NamedTensorType>(operand.get().getType());
      const auto axis = movedAxis(map, input);
      if (!axis)
        continue;
      OpBuilder b(map);
      SmallVector<Axis> axes(input.getAxes());
      std::rotate(axes.begin() + *axis, axes.begin() + *axis + 1, axes.end());
      SmallVector<AffineExpr> places;
      for (int64_t place = 0; place < input.getRank(); ++place)
        places.push_back(
            b.getAffineDimExpr(static_cast<unsigned>(place == *axis  ? input.getRank() - 1
                                                     : place > *axis ? place - 1
                                                                     : place)));
      made.push_back(b.create<ViewOp>(
          map.getLoc(), NamedTensorType::get(input.getElementType(), axes), operand.get(),
          AffineMapAttr::get(
              AffineMap::get(static_cast<unsigned>(axes.size()), 0, places, b.getContext())),
          ValueRange(), ValueRange()));
      operand.set(made.back().getResult());
    }
  return made;
}
