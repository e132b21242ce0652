// SPDX-License-Identifier: Apache-2.0
//
// Which reductions have their rows made when they are read.
#include "compiler/Dialect/RowStreams.h"
#include "compiler/Schedules/ReductionPlan.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Between elements of a row, which lie in the same room for each.
static penstock::analysis::Strides stridesOfRow(ReduceOp op) {
  NamedTensorType type = tensorOf(op.getResult());
  auto strides = penstock::analysis::denseStrides(type);
  for (int64_t axis = 0; axis < type.getRank() - storedByRows(op).inRow; ++axis)
    strides[axis] = 0;
  return strides;
}

/// Returns whether rows of `op`, which has the schedule "ring", can be made when they are read.
/// Their reader gets the `reduction` that this takes, if it has none.
static bool makesRows(ReduceOp op, const StoredValues &sofar, const penstock::lane::Features &has) {
  auto [stored, inRow] = storedByRows(op);
  if (!stored || op->getBlock() != stored.getParentBlock() || !goesByRows(op, inRow, sofar, has))
    return false;
  NamedTensorType type = tensorOf(stored);
  const int64_t last = type.getRank() - 1;
  StoredValues then = sofar;
  then.add(op.getResult(), stridesOfRow(op));
  auto reader = stored.getDefiningOp<ReduceOp>();
  auto isScheduled = [&](StringRef as) {
    return reader && reader->getAttr("schedule") == StringAttr::get(op.getContext(), as);
  };
  if (reader && inRow == 2)
    return isScheduled("ring") && makesRows(reader, then, has);
  if (reader && !isScheduled("inline")) {
    const ReductionAttr reduction =
        reader->hasAttr("reduction") ? reductionOf(reader) : reductionFor(reader, then, has);
    if (!isAxis(reduction.getAlong(), type.getAxes()[last]))
      return false;
    reader->setAttr("reduction", reduction);
    return true;
  }
  // Of elements that lie too far apart for vectors, rows are stored.
  if (reader && !goesByRows(reader, 1, then, has))
    return false;
  // By the loops that it gets, if it has none.
  auto result = llvm::dyn_cast<OpResult>(stored);
  const LoopsAttr loops = result ? loopsOf(result) : LoopsAttr();
  const int64_t usual = penstock::analysis::usualLaneAxis(type),
                along = loops && loops.getAlong() ? type.axisIndex(loops.getAlong()) : usual;
  const bool unrolls = loops ? isAxis(loops.getUnroll(), type.getAxes()[last]) : usual < last;
  return along == last + 1 - inRow && (inRow == 1 || unrolls);
}

bool penstock::schedules::planReduction(ReduceOp op, StoredValues &stored,
                                        const lane::Features &has) {
  const bool isRing = op->getAttr("schedule") == StringAttr::get(op.getContext(), "ring"),
             byRows = isRing && makesRows(op, stored, has);
  if (isRing && !byRows)
    op->setAttr("schedule", StringAttr::get(op.getContext(), "scratch"));
  if (!op->hasAttr("reduction")) {
    op->setAttr("reduction", byRows ? rowsFor(op, stored, has) : reductionFor(op, stored, has));
    if (joinsBefore(op, stored, has)) {
      op->setAttr("reduction", reductionOf(op).withJoined(true));
      addRemark(op, "schedule-cpu",
                "goes by the loops of the reduction before it: what both read is read once");
    }
  }
  if (byRows)
    stored.add(op.getResult(), stridesOfRow(op));
  return byRows;
}
