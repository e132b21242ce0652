// SPDX-License-Identifier: Apache-2.0
//
// A block makes some rows of a sample's outputs.
#pragma once

#include "compiler/Analysis/RowRegions.h"
#include "compiler/Conversion/KernelToGpu/GpuContext.h"
#include "llvm/ADT/DenseSet.h"

namespace penstock::conversion {

/// Buffers in shared memory begin where an access of 16 bytes may.
inline constexpr int64_t sharedAlign = 16;

/// For the mapping "tile"; adds the outputs that are made so to `tiled`.
mlir::LogicalResult emitTiles(const GpuSite &site, llvm::DenseSet<mlir::Value> &tiled);

struct RowRange {
  mlir::Value low, high; ///< the first, and the one after the last
};
/// Goes through rows, some at a time: all, halved until they fit, or one.
void inSteps(const GpuSite &site, RowRange all, llvm::function_ref<mlir::Value(RowRange)> fits,
             llvm::function_ref<void(RowRange)> body);

// GpuTileRows.cpp
/// The rows of `step.read` that some rows of its op's result read.
RowRange rowsRead(const GpuSite &site, const analysis::RowStep &step, RowRange rows);
/// Of values that a tile reads, or has, which rows of them.
using RowsOfValues = llvm::DenseMap<mlir::Value, RowRange>;
RowsOfValues rowsNeeded(const GpuSite &site, const analysis::RowRegions &regions, RowRange tile);
/// Those of what is stored.
llvm::MapVector<mlir::Value, RowRange>
rowsStored(const GpuSite &site, const analysis::RowRegions &regions, RowRange tile);

} // namespace penstock::conversion
