// SPDX-License-Identifier: Apache-2.0
//
// How kernels become loops, as attributes.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

#include "compiler/Dialect/ScheduleDialect.h.inc"
#include "compiler/Dialect/ScheduleEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/ScheduleAttrs.h.inc"

namespace penstock::pipe {

/// Axes that `unroll` may name: code is written once for each of their elements.
constexpr int64_t mostSideBySide = 16;

/// The attribute `loops` of an op speaks of results, one of an array for each, or of its only one;
/// null where there is none.
LoopsAttr loopsOf(mlir::OpResult result);
/// The attribute `copies` of what stores its operands elsewhere (`pipe.return`, `pipe.concat`)
/// speaks of those that are stored already.
LoopsAttr copyLoopsOf(mlir::OpOperand &operand);
void setLoops(mlir::Operation *op, llvm::StringRef name, llvm::ArrayRef<mlir::Attribute> loops);

/// `loops` and `copies` inside of a kernel name axes that are there.
mlir::LogicalResult verifyLoops(KernelOp kernel);

} // namespace penstock::pipe
