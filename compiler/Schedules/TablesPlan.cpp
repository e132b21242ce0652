// SPDX-License-Identifier: Apache-2.0
//
// Among how many tables histograms count, and scatters add up.
//
// Neighbours often come to the same place, where each waits until the one before it is in memory.
#include "compiler/Schedules/ReductionPlan.h"

using namespace mlir;
using namespace penstock::pipe;

static constexpr int64_t severalTables = 4;
/// Of one table; all together stay in the first cache.
static constexpr int64_t tableBytes = 4096;
/// Fewer elements than this for each of a table are not worth adding up.
static constexpr int64_t elementsForEach = 16;

static int64_t elementsOf(NamedTensorType type) {
  int64_t elements = 1;
  for (const Axis &axis : type.getAxes())
    elements *= axis.extent;
  return elements;
}

template <typename Op> static TablesAttr tablesOfValues(Op op, Value values) {
  const TablesAttr one = TablesAttr::get(op.getContext(), 1),
                   several = TablesAttr::get(op.getContext(), severalTables);
  if (!whyNot(op, several).empty())
    return one;
  NamedTensorType table = tensorOf(op.getResult());
  const int64_t places = elementsOf(table);
  return places * scalarBytes(table.getElementType()) <= tableBytes &&
                 elementsOf(tensorOf(values)) >= elementsForEach * places
             ? several
             : one;
}

TablesAttr penstock::schedules::tablesFor(HistogramOp op) {
  return tablesOfValues(op, op.getValue());
}

TablesAttr penstock::schedules::tablesFor(ScatterOp op) {
  return tablesOfValues(op, op.getValues());
}
