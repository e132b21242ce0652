// SPDX-License-Identifier: Apache-2.0
//
// Resampling across the rows of a tile.
#pragma once

#include "compiler/Conversion/KernelToGpu/GpuCopies.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuTiles.h"

namespace penstock::conversion {

/// Tables in shared memory, of what sums up rows that a tile stores: of each row of it the first
/// eight taps, in two entries. An entry is what `pst_weigh` takes of four taps, and where the row
/// of the first one lies.
using GpuRowTables = llvm::MapVector<mlir::Operation *, mlir::Value>;
/// Those of a tile.
struct GpuRowTaps {
  mlir::Value table, first; ///< words, and the row whose entries come first
};
using GpuRowTapsOf = llvm::DenseMap<mlir::Operation *, GpuRowTaps>;

/// Makes room for tables, of `height` rows each, from byte `used` of `shared` on, which moves on;
/// `copies` give it up. `stored` is where the rows lie that are summed up.
GpuRowTables rowTables(const GpuSite &site, const analysis::RowRegions &rows, int64_t height,
                       const GpuBuffers &stored, GpuCopies &copies, mlir::Value shared,
                       int64_t &used);
/// The rows of a value that a tile stores: `part` of it, to `buffer`.
struct GpuStoredRows {
  mlir::Value value;
  const GpuPart &part;
  const GpuBuffer &buffer;
};
/// All threads of a block fill the tables of what sums up `stored` for the rows of `tile`, whose
/// needs are `needed`, and add them to `taps`. A barrier before they are read is the caller's.
void packRowTaps(const GpuSite &site, const GpuRowTables &tables, const GpuStoredRows &stored,
                 const RowsOfValues &needed, RowRange tile, GpuRowTapsOf &taps);
/// Where few rows are stored, all threads store what is read behind the last one.
void padRows(const GpuSite &site, const GpuStoredRows &stored, const GpuRowTapsOf &taps);
/// Elements whose taps are packed; nothing where they lie in no words.
llvm::SmallVector<mlir::Value> sumRows(const GpuSite &site, pipe::ResampleOp op,
                                       const GpuRowTaps &taps, GpuIndices at,
                                       llvm::ArrayRef<int64_t> counts);

} // namespace penstock::conversion
