// SPDX-License-Identifier: Apache-2.0
//
// Reductions that go by the same loops.
//
// The mean and the deviation of pixels, or their minimum and maximum, read the same elements: they
// are loaded, and taken apart, once.
#include "compiler/Dialect/SmallReduction.h"
#include "compiler/Schedules/ReductionPlan.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Bytes that live from one element to the next.
static int64_t stateBytes(ReduceOp op) {
  const ReductionAttr reduction = reductionOf(op);
  NamedTensorType in = tensorOf(op.getValue());
  const bool isPlace = op.getKind() == ReduceKind::argmin || op.getKind() == ReduceKind::argmax,
             isCount = op.getKind() == ReduceKind::count;
  int64_t bytes = reduction.getSmall() > 0 ? 4
                  : isCount                ? 8
                                           : scalarBytes(computedIn(in.getElementType()));
  if (isPlace)
    bytes = 2 * std::max<int64_t>(bytes, 4);
  bytes *= reduction.getLanes();
  NamedTensorType out = tensorOf(op.getResult());
  if (StringAttr unroll = reduction.getUnroll())
    return bytes * out.getAxes()[out.axisIndex(unroll)].extent;
  // What rows have so far lives in memory.
  return reduction.getWay() == Way::rows ? bytes : bytes * reduction.getBeside();
}

/// Returns whether 32 bits hold all that comes to a lane, or each element is added in 64: sums
/// that move from 32 bits now and then have loops of their own.
static bool isOneLoop(ReduceOp op, ReductionAttr reduction) {
  const int64_t elements = reducedElements(op).value_or(0);
  return reduction.getSmall() == 0 ||
         (elements > 0 && elements / reduction.getLanes() <= reduction.getSmall());
}

bool penstock::schedules::joinsBefore(ReduceOp op, const StoredValues &stored,
                                      const lane::Features &has) {
  const ReductionAttr reduction = reductionOf(op);
  if (!whyNot(op, reduction.withJoined(true)).empty() || !isOneLoop(op, reduction))
    return false;
  ReduceOp before = reductionBefore(op);
  if (!isOneLoop(before, reductionOf(before)) ||
      !shareReads(op.getValue(), before.getValue(), op.getResult(), stored))
    return false;
  int64_t bytes = stateBytes(op);
  for (ReduceOp one = before; one;
       one = reductionOf(one).getJoined() ? reductionBefore(one) : ReduceOp())
    bytes += stateBytes(one);
  return bytes <= has.registers / 2 * has.registerBytes; // the others hold what is read
}
