// SPDX-License-Identifier: Apache-2.0
//
// How long elements take, beside a store and loads.
#include "compiler/Schedules/Costs.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;

/// Of floats, divisions and roots; and random bits of a block.
static constexpr int64_t longOperation = 8, drawnOperation = 32;
/// Operations that take as long as a load of what they make from a far cache, and a part of a
/// store.
static constexpr double farAccess = 16;

int64_t penstock::schedules::costOf(Operation *inner) {
  if (llvm::isa<DrawOp>(inner))
    return drawnOperation;
  auto binary = llvm::dyn_cast<BinaryOp>(inner);
  auto unary = llvm::dyn_cast<UnaryOp>(inner);
  const bool isLong =
      inner->getNumResults() == 1 && llvm::isa<FloatType>(inner->getResult(0).getType()) &&
      ((binary && llvm::is_contained({BinaryKind::div, BinaryKind::rem}, binary.getKind())) ||
       (unary && unary.getKind() == UnaryKind::sqrt));
  return isLong ? longOperation : 1;
}

int64_t penstock::schedules::fewestWorthStoring(double reads) {
  return reads > 1 ? static_cast<int64_t>(std::ceil(farAccess * reads / (reads - 1))) : INT64_MAX;
}
