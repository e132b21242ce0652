// SPDX-License-Identifier: Apache-2.0
//
// How scans go through rows and their elements.
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

/// The axis along which elements lie side by side; -1: the scan's own, or none.
static int64_t laneAxisOf(ScanOp op, const StoredValues &stored) {
  constexpr int64_t nearEnough = 4, fewest = 4;
  NamedTensorType type = tensorOf(op.getResult());
  const int64_t along = type.axisIndex(op.getAxis());
  const Axis &own = type.getAxes()[along];
  if (along == type.getRank() - 1 && !(own.isStatic() && own.extent <= mostScannedUnrolled))
    return -1;
  int64_t best = -1, distance = nearEnough + 1;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const auto extent = extentInCode(op, axis);
    const auto apart = penstock::analysis::elementsApart(stored.memory(), op.getValue(), axis);
    if (axis == along || !apart || *apart < 1 || *apart >= distance || (extent && *extent < fewest))
      continue;
    best = axis;
    distance = *apart;
  }
  return best;
}

ScanAttr penstock::schedules::scanFor(ScanOp op, const StoredValues &stored,
                                      const lane::Features &has) {
  NamedTensorType type = tensorOf(op.getResult());
  const int64_t own = type.axisIndex(op.getAxis()), rank = type.getRank();
  const Type element = computedIn(type.getElementType());
  if (const int64_t axis = laneAxisOf(op, stored); axis >= 0) {
    const int64_t elements = extentInCode(op, own).value_or(0);
    return ScanAttr::get(op.getContext(), ScanWay::across,
                         StringAttr::get(op.getContext(), type.getAxes()[axis].name),
                         lanesAcross(has, element), 1,
                         elements >= 1 && elements <= mostScannedUnrolled);
  }
  constexpr int64_t fewest = 8; // fewer are no faster than one by one
  auto transposed = ScanAttr::get(op.getContext(), ScanWay::transposed, StringAttr(),
                                  has.lanesOf(scalarBytes(element)), 1, false);
  if (transposed.getLanes() >= fewest && whyNot(op, transposed).empty())
    return transposed;
  const int64_t other = own == rank - 1 ? rank - 2 : rank - 1;
  const int64_t rows = other < 0 ? 1 : extentInCode(op, other).value_or(1),
                most = op.getKind() == ScanKind::max ? rowsOfMaxima : rowsAtOnce;
  int64_t beside = 1;
  while (2 * beside <= std::min(most, rows))
    beside *= 2;
  return ScanAttr::get(op.getContext(), ScanWay::single, StringAttr(), 1, beside, false);
}
