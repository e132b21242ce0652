// SPDX-License-Identifier: Apache-2.0
//
// Inputs that maps read again and again, laid out as they read them.
#include "compiler/Schedules/TransposeInputs.h"

using namespace mlir;
using namespace penstock::pipe;

/// Reads of each element that a copy is worth.
static constexpr int64_t fewestReads = 8, fewestReadsNear = 32;
/// Elements that lie apart and are still taken out of registers.
static constexpr int64_t nearEnough = 4;
/// A copy that a core's own cache holds.
static constexpr int64_t mostBytes = int64_t{1} << 18;
/// A matrix is worth a larger one: across its rows, each number is read by itself.
static constexpr int64_t mostMatrixBytes = int64_t{1} << 21;

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

/// Returns whether elements of a view that follow each other along `axis` lie apart, be it a
/// little. A number's do not.
static bool liesApart(ViewOp view, int64_t axis) {
  AffineMap map = view.getMap();
  return map.getNumResults() > 0 &&
         llvm::any_of(map.getResults().drop_back(), [&](AffineExpr place) {
           return place.isFunctionOfDim(static_cast<unsigned>(axis));
         });
}

/// Returns whether a copy of `view` is small, and worth it where it is read `reads` times.
static bool isWorthACopy(ViewOp view, int64_t reads, int64_t fewest, int64_t most) {
  NamedTensorType type = tensorOf(view.getResult());
  return type.isStatic() && reads >= fewest && !view->hasAttr("schedule") &&
         llvm::isa<BlockArgument>(view.getInput()) &&
         type.numElements() * scalarBytes(type.getElementType()) <= most;
}

/// Lists the views that a map or a product reads along its lanes, which lie apart there.
static void storeViews(KernelOp kernel, SmallVectorImpl<ViewOp> &made) {
  auto store = [&](ViewOp view) {
    if (!llvm::is_contained(made, view))
      made.push_back(view);
  };
  for (auto map : kernel.getBody().front().getOps<MapOp>()) {
    NamedTensorType domain = tensorOf(map.getResult());
    if (!domain.isStatic() || domain.getRank() < 2)
      continue;
    for (Value input : map.getInputs()) {
      auto view = input.getDefiningOp<ViewOp>();
      NamedTensorType type = tensorOf(input);
      if (!view || type.getRank() != 1 || type.getAxes().back() != domain.getAxes().back())
        continue;
      const int64_t reads = domain.numElements() / std::max<int64_t>(type.numElements(), 1);
      if (liesApart(view, 0) && isWorthACopy(view, reads, fewestReadsNear, mostBytes))
        store(view);
    }
  }
  for (auto product : kernel.getBody().front().getOps<ContractOp>()) {
    auto view = product.getMatrix().getDefiningOp<ViewOp>();
    NamedTensorType value = tensorOf(product.getValue());
    // Lanes lie along the matrix's rows where the value has no run of its own.
    if (view && value.isStatic() && value.getRank() > 0 && liesApart(view, 1) &&
        value.getAxes().back().name == tensorOf(view.getResult()).getAxes()[0].name &&
        isWorthACopy(view,
                     value.numElements() / std::max<int64_t>(value.getAxes().back().extent, 1),
                     fewestReads, mostMatrixBytes))
      store(view);
  }
}

SmallVector<ViewOp> penstock::schedules::transposeInputs(KernelOp kernel) {
  SmallVector<ViewOp> made;
  storeViews(kernel, made);
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
