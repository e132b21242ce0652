// SPDX-License-Identifier: Apache-2.0
//
// Scalars and regions of scalars.
#pragma once

#include "compiler/Conversion/KernelToGpu/GpuContext.h"

namespace penstock::conversion {

/// Returns the value emitted for a scalar of the kernel.
inline mlir::Value scalarOf(const GpuSite &site, mlir::Value scalar) {
  return site.ctx.scalars.lookupOrDefault(scalar);
}
/// An i64 scalar as an index.
inline mlir::Value asIndex(const GpuSite &site, mlir::Value scalar) {
  return site.x.toIndex(scalarOf(site, scalar));
}
mlir::LogicalResult emitScalar(const GpuSite &around, mlir::Operation &op);
/// The values that a block ends with, after its ops.
llvm::SmallVector<mlir::Value> results(const GpuSite &site, mlir::Block &block);

} // namespace penstock::conversion
