// SPDX-License-Identifier: Apache-2.0
//
// Where partial sums of a reduction live, and how many numbers are added in 32 bits.
//
// 32 bits hold the sum of as many as their range says. It pays where a number comes in 32 bits
// anyway: one that is made as wide first takes as long to add up.
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
/// Elements that lie apart are loaded by windows of 16 bytes, four of them as 32 bits each.
static constexpr int64_t elementsOfWindow = 4;

namespace {
/// Whether numbers are there as 32 bits, with `lanes` along the axis `along` of a tensor.
struct Widened {
  const penstock::analysis::InMemory &memory;
  int64_t lanes;
  penstock::analysis::ValueRanges ranges = {};

  bool comes(Value value, int64_t along);
  bool comesOfCast(Value from, Type to, CastMode mode, int64_t along);
  bool comesOfView(ViewOp view, int64_t along);
  bool isLoaded(Value tensor, int64_t along) const;
};
} // namespace

static Type elementOf(Value value) {
  auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
  return type ? type.getElementType() : value.getType();
}

/// Small numbers that lie apart are.
bool Widened::isLoaded(Value tensor, int64_t along) const {
  const int64_t size = scalarBytes(elementOf(tensor));
  const auto apart = penstock::analysis::elementsApart(memory, tensor, along);
  return apart && *apart > 1 && isUnsigned(elementOf(tensor)) && size < 4 &&
         *apart * size <= elementsOfWindow && lanes % elementsOfWindow == 0;
}

bool Widened::comesOfCast(Value from, Type to, CastMode mode, int64_t along) {
  const Type was = elementOf(from);
  const unsigned width = to.getIntOrFloatBitWidth(),
                 before = llvm::isa<IntegerType>(was) ? was.getIntOrFloatBitWidth() : 0;
  const auto full = penstock::analysis::rangeOfType(to), range = ranges.of(from);
  if (!before)
    return width <= 16; // floats
  if (mode == CastMode::bits || width == 32 || to.isInteger(1))
    return false;
  if (!range.within(full.low, full.high))
    return mode == CastMode::clamp && before == 32 && width < 32;
  return before == 32 ? range.within(INT32_MIN, INT32_MAX) : comes(from, along);
}

bool Widened::comesOfView(ViewOp view, int64_t along) {
  if (memory.stridesOf(view.getInput()))
    return isLoaded(view.getResult(), along);
  for (auto [axis, expr] : llvm::enumerate(view.getMap().getResults()))
    if (expr.isFunctionOfDim(static_cast<unsigned>(along)))
      return comes(view.getInput(), static_cast<int64_t>(axis));
  return false;
}

bool Widened::comes(Value value, int64_t along) {
  auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
  if (type && memory.stridesOf(value))
    return isLoaded(value, along);
  if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
    auto map = llvm::dyn_cast<MapOp>(argument.getOwner()->getParentOp());
    if (!map || argument.getArgNumber() >= map.getInputs().size())
      return false;
    Value input = map.getInputs()[argument.getArgNumber()];
    const int64_t axis = tensorOf(input).axisIndex(tensorOf(map.getResult()).getAxes()[along].name);
    return axis >= 0 && comes(input, axis);
  }
  Operation *op = value.getDefiningOp();
  if (auto cast = llvm::dyn_cast<CastOp>(op))
    return comesOfCast(cast.getValue(), elementOf(value), cast.getMode(), along);
  if (auto map = llvm::dyn_cast<MapOp>(op))
    return comes(map.getBody().front().getTerminator()->getOperand(0), along);
  if (auto select = llvm::dyn_cast<SelectOp>(op)) {
    const bool one = comes(select.getOnTrue(), along), other = comes(select.getOnFalse(), along);
    return elementOf(value).getIntOrFloatBitWidth() < 32 ? one || other : one && other;
  }
  if (auto view = llvm::dyn_cast<ViewOp>(op))
    return comesOfView(view, along);
  return false;
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

static int64_t smallFor(ReduceOp op, ReductionAttr reduction, const StoredValues &stored) {
  const int64_t fit = penstock::analysis::addedIn32Bits(op), along = ReducedAxes(op).over.back();
  const auto memory = stored.memory();
  if (penstock::analysis::largestAdded(op) > largestSmall)
    return 0;
  // A sum of all lanes, too: of few vectors these take longest.
  const int64_t elements = reducedElements(op).value_or(0);
  if (elements >= reduction.getLanes() && elements <= fit &&
      elements <= vectorsOfShortRow * reduction.getLanes() && isWidenedFor(op.getValue()))
    return elements;
  if (op.getKind() == ReduceKind::sum &&
      !Widened{memory, reduction.getLanes()}.comes(op.getValue(), along))
    return 0;
  const int64_t all = elements / reduction.getLanes();
  return all > 0 && all <= fit ? all : std::min(fit, mostInSmall);
}

ReductionAttr penstock::schedules::withSums(ReduceOp op, ReductionAttr reduction,
                                            const StoredValues &stored) {
  const bool isLanes = reduction.getWay() == Way::lanes,
             isAcross = reduction.getWay() == Way::across && !reduction.getUnrolled();
  if ((isLanes || isAcross) && !whyNot(op, reduction).empty())
    if (const auto inMemory = reduction.withSums(ReductionSums::memory);
        whyNot(op, inMemory).empty())
      return inMemory;
  if (isLanes && whyNot(op, reduction.withSmall(1)).empty())
    return reduction.withSmall(smallFor(op, reduction, stored));
  return reduction;
}
