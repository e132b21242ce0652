// SPDX-License-Identifier: Apache-2.0
//
// How scans and filters go through rows and their elements.
//
// Where an axis that stays has neighbours side by side in memory, lanes lie along it. Else each row
// is a chain of additions that wait for each other, so several rows are gone through at once: in
// the lanes, or where rows are too few or short, one by one.
#include "compiler/Schedules/ReductionPlan.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

static constexpr int64_t rowsAtOnce = 4;
/// A maximum takes several operations that wait for each other, not one.
static constexpr int64_t rowsOfMaxima = 8;
/// A half of the nearest cache: what is read and written goes through the other one.
static constexpr int64_t mostBytesOfBand = 1 << 14;

/// The axis along which elements lie side by side; -1: `along`, which `op` goes along, or none.
static int64_t laneAxisOf(Operation *op, Value value, int64_t along, const StoredValues &stored) {
  constexpr int64_t nearEnough = 4, fewest = 4;
  NamedTensorType type = tensorOf(value);
  const Axis &own = type.getAxes()[along];
  if (along == type.getRank() - 1 && !(own.isStatic() && own.extent <= mostScannedUnrolled))
    return -1;
  int64_t best = -1, distance = nearEnough + 1;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const auto extent = extentInCode(op, axis);
    const auto apart = penstock::analysis::elementsApart(stored.memory(), value, axis);
    if (axis == along || !apart || *apart < 1 || *apart >= distance || (extent && *extent < fewest))
      continue;
    best = axis;
    distance = *apart;
  }
  return best;
}

/// As many rows along `axis` as have their numbers, of so many bytes, in a part of the nearest
/// cache, if these are more than one vector: one vector's elements alone lie a row of memory apart.
static int64_t bandOf(Operation *op, int64_t axis, int64_t lanes, int64_t bytes) {
  const int64_t rows = extentInCode(op, axis).value_or(0);
  const int64_t most = mostBytesOfBand / std::max<int64_t>(bytes, 1);
  const int64_t band = std::min(most, rows + lanes - 1) / lanes * lanes;
  return band > lanes && rows > lanes ? band : 0;
}

/// Element by element, of up to `most` rows.
static ScanAttr oneByOne(Operation *op, int64_t rank, int64_t own, int64_t most) {
  const int64_t other = besideAxisOf(rank, own);
  const int64_t rows = other < 0 ? 1 : extentInCode(op, other).value_or(1);
  int64_t beside = 1;
  while (2 * beside <= std::min(most, rows))
    beside *= 2;
  return ScanAttr::get(op->getContext(), ScanWay::single, StringAttr(), 1, beside, false, 0);
}

ScanAttr penstock::schedules::scanFor(ScanOp op, const StoredValues &stored,
                                      const lane::Features &has) {
  NamedTensorType type = tensorOf(op.getResult());
  const int64_t own = type.axisIndex(op.getAxis()), rank = type.getRank();
  const Type element = computedIn(type.getElementType());
  if (const int64_t axis = laneAxisOf(op, op.getValue(), own, stored); axis >= 0) {
    const int64_t elements = extentInCode(op, own).value_or(0), lanes = lanesAcross(has, element);
    const bool unrolled = elements >= 1 && elements <= mostScannedUnrolled;
    return ScanAttr::get(op.getContext(), ScanWay::across,
                         StringAttr::get(op.getContext(), type.getAxes()[axis].name), lanes, 1,
                         unrolled, unrolled ? 0 : bandOf(op, axis, lanes, scalarBytes(element)));
  }
  constexpr int64_t fewest = 8; // fewer are no faster than one by one
  auto transposed = ScanAttr::get(op.getContext(), ScanWay::transposed, StringAttr(),
                                  has.lanesOf(scalarBytes(element)), 1, false, 0);
  if (transposed.getLanes() >= fewest && whyNot(op, transposed).empty())
    return transposed;
  return oneByOne(op, rank, own, op.getKind() == ScanKind::max ? rowsOfMaxima : rowsAtOnce);
}

/// The state is in f64, whatever elements are.
ScanAttr penstock::schedules::filterFor(FilterOp op, const StoredValues &stored,
                                        const lane::Features &has) {
  NamedTensorType type = tensorOf(op.getResult());
  const int64_t own = type.axisIndex(op.getAxis());
  const Type state = Float64Type::get(op.getContext());
  const int64_t lanes = lanesAcross(has, state),
                count = std::max(tensorOf(op.getNumerator()).getAxes()[0].extent,
                                 tensorOf(op.getDenominator()).getAxes()[0].extent);
  if (const int64_t axis = laneAxisOf(op, op.getValue(), own, stored); axis >= 0)
    return ScanAttr::get(op.getContext(), ScanWay::across,
                         StringAttr::get(op.getContext(), type.getAxes()[axis].name), lanes, 1,
                         false, bandOf(op, axis, lanes, (count - 1) * scalarBytes(state)));
  return oneByOne(op, type.getRank(), own, rowsAtOnce);
}
