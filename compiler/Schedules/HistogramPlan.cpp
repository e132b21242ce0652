// SPDX-License-Identifier: Apache-2.0
//
// How histograms count.
//
// Neighbours are often equal, and a count waits until the one before it is in memory.
#include "compiler/Schedules/ReductionPlan.h"

using namespace mlir;
using namespace penstock::pipe;

static constexpr int64_t severalTables = 4;
/// Of one table; all together stay in the first cache.
static constexpr int64_t tableBytes = 4096;
/// Fewer elements than this for each count are not worth adding up.
static constexpr int64_t elementsPerCount = 16;

HistogramAttr penstock::schedules::histogramFor(HistogramOp op) {
  NamedTensorType in = tensorOf(op.getValue()), out = tensorOf(op.getResult());
  const HistogramAttr one = HistogramAttr::get(op.getContext(), 1),
                      several = HistogramAttr::get(op.getContext(), severalTables);
  if (!whyNot(op, several).empty())
    return one;
  int64_t elements = 1, counts = 1;
  for (const Axis &axis : in.getAxes())
    elements *= axis.extent;
  for (const Axis &axis : out.getAxes())
    counts *= axis.extent;
  return counts * 4 <= tableBytes && elements >= elementsPerCount * counts ? several : one;
}
