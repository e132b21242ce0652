// SPDX-License-Identifier: Apache-2.0
//
// Places of a box of elements, row-major.
#pragma once

#include "compiler/Conversion/KernelToGpu/GpuContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace penstock::conversion {

inline int64_t product(llvm::ArrayRef<int64_t> counts) {
  int64_t all = 1;
  for (int64_t count : counts)
    all *= count;
  return all;
}

/// The places of a box, row-major.
inline void forEachPlace(llvm::ArrayRef<int64_t> counts,
                         llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  llvm::SmallVector<int64_t> place(counts.size(), 0);
  for (int64_t left = product(counts); left > 0; --left) {
    visit(place);
    for (size_t axis = counts.size(); axis-- > 0 && ++place[axis] == counts[axis];)
      place[axis] = 0;
  }
}

/// The number of a place in a box, row-major.
inline size_t numberOf(llvm::ArrayRef<int64_t> place, llvm::ArrayRef<int64_t> counts) {
  int64_t number = 0;
  for (auto [at, count] : llvm::zip(place, counts))
    number = number * count + at;
  return static_cast<size_t>(number);
}

inline llvm::SmallVector<mlir::Value> moved(const GpuSite &site, GpuIndices at,
                                            llvm::ArrayRef<int64_t> place) {
  auto [ctx, b, x, s] = site.parts();
  llvm::SmallVector<mlir::Value> there;
  for (auto [index, distance] : llvm::zip(at, place))
    there.push_back(x.add(index, x.constant(distance)));
  return there;
}

} // namespace penstock::conversion
