// SPDX-License-Identifier: Apache-2.0
//
// Resampling along rows, a column for each thread.
#pragma once

#include "compiler/Conversion/KernelToGpu/GpuLoops.h"

namespace penstock::conversion {

/// The weights of four taps: 16 bits of the first two and of the last two, and their highest bytes.
struct ColumnTaps {
  mlir::Value first, last, high;
};

/// What there is to make: columns of pixels, each of so many channels.
struct Columns {
  pipe::ResampleOp op;
  int64_t across, down; ///< axes: along which it is resampled, and the other one
  int64_t channels, width;
  int64_t channel;  ///< its axis; -1: a pixel is one number
  mlir::Value read; ///< the tensor in memory of which it reads neighbours in their order

  // What a thread holds that has one column, for all rows of a tile: the column, the first row, and
  // whether it has one; its taps. Null where a thread has several.
  mlir::Value column = {}, first = {}, isTaken = {}, start = {};
  llvm::SmallVector<ColumnTaps> taps = {};
};

/// Columns of `part` of a value, if that is how it goes once what it reads is copied.
std::optional<Columns> columnsOf(const GpuSite &site, mlir::Value tensor, const GpuPart &part);
/// Returns whether each thread has at most one column.
bool isHeld(const GpuSite &site, const Columns &columns);
/// More taps than columns are made of.
mlir::Value hasManyTaps(const GpuSite &site, const Columns &columns);
/// Reads what a thread holds, before rows of the value are stored to `to`. Returns whether taps
/// were copied to where these will lie: a barrier before the first one is the caller's then.
bool holdTaps(const GpuSite &site, Columns &columns, const GpuBuffer &to);
/// Makes `part` of a value, whose input is copied, a column for each thread; with many taps,
/// `byElements` emits what makes it. False where what it reads is no copy.
bool fillColumns(const GpuSite &site, const Columns &columns, const GpuBuffer &to,
                 const GpuPart &part, llvm::function_ref<void()> byElements);

} // namespace penstock::conversion
