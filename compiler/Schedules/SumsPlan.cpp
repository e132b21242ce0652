// SPDX-License-Identifier: Apache-2.0
//
// Where partial sums of a reduction live, and how many numbers are added in 32 bits.
//
// 32 bits hold the sum of as many as their range says: half of the registers, and half of the
// additions.
#include "compiler/Analysis/ValueRanges.h"
#include "compiler/Dialect/SmallReduction.h"
#include "compiler/Schedules/ReductionPlan.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Numbers larger than that are added in 64 bits; elements of a lane that are added in 32 at a
/// time.
static constexpr double largestSmall = 0xFFFF;
static constexpr int64_t mostInSmall = 1 << 14;
/// Vectors of a row that is added up in 32 bits whatever its numbers come as.
static constexpr int64_t vectorsOfShortRow = 4;
static Type elementOf(Value value) {
  auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
  return type ? type.getElementType() : value.getType();
}

/// Returns whether numbers of fewer than 32 bits are widened for the sum alone, as far as that
/// takes.
static bool isWidenedFor(Value value) {
  if (auto map = value.getDefiningOp<MapOp>())
    value = map.getBody().front().getTerminator()->getOperand(0);
  auto cast = value.getDefiningOp<CastOp>();
  const Type was = cast ? elementOf(cast.getValue()) : Type();
  return was && llvm::isa<IntegerType>(was) && was.getIntOrFloatBitWidth() < 32;
}

static int64_t smallFor(ReduceOp op, ReductionAttr reduction) {
  const int64_t fit = penstock::analysis::addedIn32Bits(op);
  if (penstock::analysis::largestAdded(op) > largestSmall)
    return 0;
  // A sum of all lanes, too: of few vectors these take longest.
  const int64_t elements = reducedElements(op).value_or(0);
  if (elements >= reduction.getLanes() && elements <= fit &&
      elements <= vectorsOfShortRow * reduction.getLanes() && isWidenedFor(op.getValue()))
    return elements;
  const int64_t all = elements / reduction.getLanes();
  return all > 0 && all <= fit ? all : std::min(fit, mostInSmall);
}

ReductionAttr penstock::schedules::withSums(ReduceOp op, ReductionAttr reduction) {
  const bool isLanes = reduction.getWay() == Way::lanes,
             isAcross = reduction.getWay() == Way::across && !reduction.getUnrolled();
  if ((isLanes || isAcross) && !whyNot(op, reduction).empty())
    if (const auto inMemory = reduction.withSums(ReductionSums::memory);
        whyNot(op, inMemory).empty())
      return inMemory;
  if (isLanes && whyNot(op, reduction.withSmall(1)).empty())
    return reduction.withSmall(smallFor(op, reduction));
  return reduction;
}
