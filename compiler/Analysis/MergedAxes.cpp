// SPDX-License-Identifier: Apache-2.0
//
// Views that put axes side by side together to one.
#include "compiler/Analysis/MergedAxes.h"

using namespace mlir;
using namespace penstock::pipe;

SmallVector<penstock::analysis::Part> penstock::analysis::partsOf(NamedTensorType from,
                                                                  NamedTensorType to) {
  if (!from.isStatic() || !to.isStatic())
    return {};
  SmallVector<Part> parts;
  size_t next = 0;
  for (auto [number, axis] : llvm::enumerate(to.getAxes())) {
    int64_t rest = axis.extent;
    do {
      if (next == from.getAxes().size())
        return {};
      const int64_t extent = from.getAxes()[next++].extent;
      if (extent < 1 || rest % extent != 0)
        return {};
      rest /= extent;
      parts.push_back({static_cast<int64_t>(number), rest});
    } while (rest > 1);
  }
  return next == from.getAxes().size() ? parts : SmallVector<Part>();
}

AffineMap penstock::analysis::mergeOf(NamedTensorType from, NamedTensorType to) {
  const SmallVector<Part> parts = partsOf(from, to);
  if (parts.empty())
    return {};
  SmallVector<AffineExpr> places;
  for (auto [part, axis] : llvm::zip(parts, from.getAxes())) {
    AffineExpr place = getAffineDimExpr(static_cast<unsigned>(part.axis), from.getContext());
    const int64_t extent = to.getAxes()[part.axis].extent;
    if (part.step > 1)
      place = place.floorDiv(part.step);
    if (axis.extent * part.step < extent)
      place = place % axis.extent;
    places.push_back(place);
  }
  return AffineMap::get(static_cast<unsigned>(to.getRank()), 0, places, from.getContext());
}

bool penstock::analysis::isMerge(ViewOp op) {
  NamedTensorType from = tensorOf(op.getInput()), to = tensorOf(op.getResult());
  return from.getRank() > to.getRank() && op.getMap() == mergeOf(from, to);
}
