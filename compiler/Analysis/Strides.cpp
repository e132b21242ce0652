// SPDX-License-Identifier: Apache-2.0
//
// How far apart elements of a kernel's tensors lie in memory.
#include "compiler/Analysis/Strides.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::Room;
using penstock::analysis::Strides;

int64_t penstock::analysis::axesOfRuntime(NamedTensorType type, int64_t outsideBatch) {
  return type.getRank() == 1 ? outsideBatch : std::max<int64_t>(outsideBatch, 1);
}

Strides penstock::analysis::denseStrides(NamedTensorType type) {
  Strides known(type.getRank());
  std::optional<int64_t> bytes = scalarBytes(type.getElementType());
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    known[axis] = bytes;
    const Axis &a = type.getAxes()[axis];
    if (bytes && a.isStatic())
      bytes = *bytes * a.extent;
    else
      bytes.reset();
  }
  return known;
}

static Strides argumentStrides(KernelOp kernel, int64_t number, NamedTensorType type,
                               int64_t outsideBatch) {
  Strides known = penstock::analysis::denseStrides(type);
  if (isDense(kernel, number))
    return known;
  // The others are dense where the type says how far apart.
  for (int64_t axis = 0;
       axis < std::min(type.getRank(), penstock::analysis::axesOfRuntime(type, outsideBatch));
       ++axis)
    known[axis].reset();
  return known;
}

Strides penstock::analysis::inputStrides(KernelOp kernel, int64_t number) {
  return argumentStrides(kernel, number,
                         llvm::cast<NamedTensorType>(
                             kernel.getBody().getArgument(static_cast<unsigned>(number)).getType()),
                         0);
}

Strides penstock::analysis::outputStrides(KernelOp kernel, int64_t number) {
  Value output =
      kernel.getBody().front().getTerminator()->getOperand(static_cast<unsigned>(number));
  auto outside = kernel->getAttrOfType<DenseI64ArrayAttr>("outside_n");
  return argumentStrides(kernel, inputsOf(kernel) + number, tensorOf(output),
                         outside ? outside[number] : 0);
}

/// Loads of a window, and of other readers, may run so far over the end of what they want.
static constexpr int64_t slack = 64;
static constexpr int64_t line = 64;

Room penstock::analysis::roomOf(NamedTensorType type, const Margin &margin) {
  Room room{Strides(type.getRank()), 0, scalarBytes(type.getElementType())};
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    room.strides[axis] = room.bytes;
    room.before += margin.low[axis] * room.bytes;
    room.bytes *= type.getAxes()[axis].extent + margin.low[axis] + margin.high[axis];
    if (room.bytes >= 2 * line)
      room.bytes = static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(room.bytes), line));
  }
  room.before =
      static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(room.before + slack), line));
  room.bytes += room.before + slack;
  return room;
}

Room penstock::analysis::roomOf(NamedTensorType type) {
  const SmallVector<int64_t> none(type.getRank(), 0);
  return roomOf(type, {Border::edge, none, none});
}
