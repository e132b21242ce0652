// SPDX-License-Identifier: Apache-2.0
//
// Registration, and what vectors ops take.
#include "compiler/Lane/LaneDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::lane;

#include "compiler/Lane/LaneDialect.cpp.inc"
#include "compiler/Lane/LaneEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Lane/LaneAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/Lane/LaneOps.cpp.inc"

void LaneDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/Lane/LaneAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/Lane/LaneOps.cpp.inc"
      >();
}

static int64_t bytesOf(VectorType type) {
  return type.getNumElements() * static_cast<int64_t>(type.getElementTypeBitWidth()) / 8;
}

LogicalResult DotPairsOp::verify() {
  if (bytesOf(getA().getType()) != bytesOf(getResult().getType())) // C1
    return emitOpError("gives other than one sum for two products");
  return success();
}

LogicalResult PackOp::verify() {
  VectorType from = getA().getType(), to = getResult().getType();
  if (2 * from.getNumElements() != to.getNumElements() ||
      from.getElementTypeBitWidth() != 2 * to.getElementTypeBitWidth()) // C1
    return emitOpError("gives other than the elements of both, half as wide");
  return success();
}
