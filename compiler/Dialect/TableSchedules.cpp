// SPDX-License-Identifier: Apache-2.0
//
// Which bytes may be looked up.
#include "compiler/Dialect/ScheduleDialect.h"

using namespace mlir;
using namespace penstock::pipe;

int64_t penstock::pipe::byteIndexOf(LoadOp op) {
  NamedTensorType type = tensorOf(op.getTensor());
  if (!type.isStatic() || !type.getElementType().isUnsignedInteger(8))
    return -1;
  for (auto [axis, index] : llvm::enumerate(op.getIndices())) {
    auto cast = index.getDefiningOp<CastOp>();
    if (cast && cast.getMode() == CastMode::value && type.getAxes()[axis].extent >= 256 &&
        cast.getValue().getType().isUnsignedInteger(8))
      return static_cast<int64_t>(axis);
  }
  return -1;
}

bool penstock::pipe::canBeTabled(Operation &op) {
  if (auto load = llvm::dyn_cast<LoadOp>(op))
    return byteIndexOf(load) >= 0;
  return llvm::isa<UnaryOp, BinaryOp, SelectOp, CastOp>(op) &&
         llvm::isa_and_nonnull<MapOp>(op.getParentOp()) &&
         op.getResult(0).getType().isUnsignedInteger(8);
}

LogicalResult penstock::pipe::verifyTurns(KernelOp kernel) {
  const auto found = kernel.getBody().walk([](Operation *op) {
    Attribute stated = op->getAttr("table");
    if (!stated || (llvm::isa<BoolAttr>(stated) && canBeTabled(*op)))
      return WalkResult::advance();
    (void)(op->emitOpError() << "has `table = " << stated
                             << "` (C26); it is true or false, of what gives a byte in a map, or a "
                                "load of a byte at a byte's place");
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}
