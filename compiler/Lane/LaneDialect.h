// SPDX-License-Identifier: Apache-2.0
//
// Operations of machines on lanes.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/Lane/LaneDialect.h.inc"
#include "compiler/Lane/LaneEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Lane/LaneAttrs.h.inc"

#define GET_OP_CLASSES
#include "compiler/Lane/LaneOps.h.inc"
