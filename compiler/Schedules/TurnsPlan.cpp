// SPDX-License-Identifier: Apache-2.0
//
// Among how many tables histograms count, and scatters add up.
//
// Neighbours often come to the same place, where each waits until the one before it is in memory.
// What a condition leaves is mostly 0: neighbours that all are need no place.
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Schedules/ReductionPlan.h"

using namespace mlir;
using namespace penstock::pipe;

static constexpr int64_t severalTables = 4;
/// Of one table; all together stay in the first cache.
static constexpr int64_t tableBytes = 4096;
/// Fewer elements than this for each of a table are not worth adding up.
static constexpr int64_t elementsForEach = 16;

/// Neighbours that are looked at together, as vectors.
static constexpr int64_t mostSkipped = 32;

static int64_t elementsOf(NamedTensorType type) {
  int64_t elements = 1;
  for (const Axis &axis : type.getAxes())
    elements *= axis.extent;
  return elements;
}

template <typename Op> static TurnsAttr turnsOfValues(Op op, Value values, int64_t skip = 1) {
  const TurnsAttr one = TurnsAttr::get(op.getContext(), 1, skip),
                  several = TurnsAttr::get(op.getContext(), severalTables, skip);
  if (!whyNot(op, several).empty())
    return one;
  NamedTensorType table = tensorOf(op.getResult());
  const int64_t places = elementsOf(table);
  return places * scalarBytes(table.getElementType()) <= tableBytes &&
                 elementsOf(tensorOf(values)) >= elementsForEach * places
             ? several
             : one;
}

TurnsAttr penstock::schedules::turnsFor(HistogramOp op) { return turnsOfValues(op, op.getValue()); }

/// Returns whether elements are 0 wherever a condition does not hold, or does.
static bool isZeroElsewhere(Value values) {
  while (auto view = values.getDefiningOp<ViewOp>()) // whose axes were merged
    values = view.getInput();
  auto map = values.getDefiningOp<MapOp>();
  Operation *made =
      map ? map.getBody().front().getTerminator()->getOperand(0).getDefiningOp() : nullptr;
  if (auto cast = llvm::dyn_cast_if_present<CastOp>(made))
    return cast.getValue().getType().isInteger(1);
  auto chosen = llvm::dyn_cast_if_present<SelectOp>(made);
  return chosen && (constantOf(chosen.getOnTrue()) == 0 || constantOf(chosen.getOnFalse()) == 0);
}

TurnsAttr penstock::schedules::turnsFor(ScatterOp op) {
  const bool skips = isZeroElsewhere(op.getValues()) &&
                     whyNot(op, TurnsAttr::get(op.getContext(), 1, mostSkipped)).empty();
  return turnsOfValues(op, op.getValues(), skips ? mostSkipped : 1);
}
