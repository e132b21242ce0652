// SPDX-License-Identifier: Apache-2.0
//
// Which reductions go along their rows although these are short.
//
// With lanes along results, rows of more elements than a few lie too far apart for them: each lane
// would be loaded by itself. Rows as they lie fill registers, at any length.
#include "compiler/Analysis/Strides.h"
#include "compiler/Dialect/SmallReduction.h"
#include "compiler/Schedules/ReductionPlan.h"
#include "runtime/abi/scalar.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

static constexpr int64_t partialSums = penstock::scalar::reductionLanes;
/// Rows with fewer elements leave most of a register empty, and results of fewer elements are as
/// well made with lanes along them.
static constexpr int64_t shortestRow = 6, fewestInShortRows = 17, fewestOfOthers = 8,
                         fewestOfChannels = 5;

int64_t penstock::schedules::lastAxesInRun(ReduceOp op,
                                           const penstock::analysis::InMemory &memory) {
  const NamedTensorType in = tensorOf(op.getValue());
  const ReducedAxes axes(op);
  if (reducedElements(op).value_or(0) < 1 || axes.over.empty() ||
      axes.over.back() != in.getRank() - 1)
    return 1;
  SmallVector<StringRef> names;
  for (int64_t axis : axes.over)
    names.push_back(in.getAxes()[axis].name);
  ArrayRef<StringRef> rest(names);
  while (rest.size() > 1 && !penstock::analysis::isOneRun(memory, op.getValue(), rest))
    rest = rest.drop_front();
  return static_cast<int64_t>(rest.size());
}

bool penstock::schedules::goesByShortRows(ReduceOp op, const penstock::analysis::InMemory &memory) {
  const NamedTensorType in = tensorOf(op.getValue());
  const ReducedAxes axes(op);
  const Type element = computedIn(in.getElementType());
  const bool isRealSum = op.getKind() == ReduceKind::sum && llvm::isa<FloatType>(element);
  const int64_t count = reducedElements(op).value_or(0);
  if (!llvm::is_contained({ReduceKind::sum, ReduceKind::min, ReduceKind::max}, op.getKind()) ||
      element.isInteger(1) || axes.over.empty() || count < fewestOfChannels)
    return false;
  const int64_t last = axes.over.back();
  if (last == in.getRank() - 1) {
    const int64_t run = lastAxesInRun(op, memory), length = lengthOfRun(op, run).value_or(0);
    const bool isOneRow = length == count && count <= partialSums;
    return (isOneRow || (isRealSum && length >= shortestRow && hasShortRows(op, run))) &&
           count >= (scalarBytes(element) == 4 ? fewestInShortRows : fewestOfOthers) &&
           penstock::analysis::elementsApart(memory, op.getValue(), last) == 1;
  }
  const Axis &inner = in.getAxes().back();
  return last == in.getRank() - 2 && inner.isStatic() && inner.extent > 1 &&
         inner.extent <= penstock::analysis::mostChannels &&
         (isRealSum ? hasShortRows(op, 1)
                    : axes.over.size() == 1 && count >= fewestOfOthers && count <= partialSums) &&
         penstock::analysis::isOneRun(memory, op.getValue(), {in.getAxes()[last].name, inner.name});
}
