// SPDX-License-Identifier: Apache-2.0
//
// Where elements lie in memory.
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// The buffers that there are by now, and the arms that loops are written for.
static penstock::analysis::InMemory memoryAt(const Site &site) {
  penstock::analysis::InMemory memory;
  memory.stridesOf = [&site](Value tensor) {
    const Buffer *stored = site.buffer(tensor);
    return stored ? &stored->known : nullptr;
  };
  memory.hasMargin = [&site](WindowOp op) { return hasMargin(site, op); };
  memory.armOf = [&site](Value tensor) { return specializedArm(site, tensor); };
  return memory;
}

std::optional<int64_t> penstock::conversion::elementsApart(const Site &site, Value tensor,
                                                           int64_t axis) {
  return penstock::analysis::elementsApart(memoryAt(site), tensor, axis);
}

bool penstock::conversion::isOneRun(const Site &site, Value tensor, ArrayRef<StringRef> names) {
  return penstock::analysis::isOneRun(memoryAt(site), tensor, names);
}

int64_t penstock::conversion::axesInRun(const Site &site, Value tensor) {
  return penstock::analysis::axesInRun(memoryAt(site), tensor);
}

/// The same of a buffer of that type.
int64_t penstock::conversion::axesInRun(NamedTensorType type, const Buffer &buffer) {
  int64_t axis = type.getRank() - 1;
  while (axis > 0 && buffer.known[axis - 1] && buffer.known[axis] &&
         type.getAxes()[axis].isStatic() &&
         *buffer.known[axis - 1] == *buffer.known[axis] * type.getAxes()[axis].extent)
    --axis;
  return type.getRank() - axis;
}

LogicalResult penstock::conversion::checkRun(const Site &site, ReduceOp op,
                                             ArrayRef<int64_t> axes) {
  SmallVector<StringRef> names;
  for (int64_t axis : axes)
    names.push_back(typeOf(op.getValue()).getAxes()[axis].name);
  if (axes.size() < 2 || isOneRun(site, op.getValue(), names))
    return success();
  return op.emitError() << "is scheduled with a run of `" << llvm::join(names, "`, `")
                        << "`, which are not one run of elements where they are read";
}
