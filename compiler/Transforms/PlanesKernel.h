// SPDX-License-Identifier: Apache-2.0
//
// Pixels of luma and chroma.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace penstock::transforms {

/// The kernel that makes the pixels of a region of its planes (runtime/media/Planes.h), in the bits
/// of libjpeg-turbo. Arguments: Y over the region, Cb and Cr; then, in i64, the region's first row
/// and column, in pixels from the first sample of Cb, and 1 or 0 for whether chroma is halved along
/// rows (h) and columns (w).
pipe::KernelOp makePlanesKernel(mlir::OpBuilder &builder, mlir::Location loc,
                                pipe::NamedTensorType pixels);

/// Marks all decodes that may cross to a GPU as planes, and adds the kernel to the module where
/// there are any.
void crossAsPlanes(mlir::ModuleOp module);

} // namespace penstock::transforms
