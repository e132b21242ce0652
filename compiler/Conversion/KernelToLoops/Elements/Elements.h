// SPDX-License-Identifier: Apache-2.0
//
// The elements of a tensor at given indices.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"
#include "compiler/Conversion/KernelToLoops/Seen.h"

namespace penstock::conversion {

LaneValue emit(const Site &site, mlir::Value tensor, llvm::ArrayRef<Index> at);
mlir::Value extent(const Site &site, mlir::Value tensor, int64_t axis);
/// Notes that other channels may read the same, unless the channel's number is among
/// the indices.
void noteRead(const Site &site, llvm::ArrayRef<Index> at);
void bindCoordinates(const Site &site, mlir::Block &body, size_t first, llvm::ArrayRef<Index> at);
LaneValue emitLoad(const Site &site, pipe::LoadOp op);

// ByteTables.cpp
/// An error where the schedule asks for tables that the machine has no instruction for.
mlir::LogicalResult checkTables(pipe::KernelOp kernel, const lane::Features &has);
/// Emits what `wanted` needs of the map's body, with tables for its bytes; false where there are
/// none.
bool emitByTables(const Site &site, pipe::MapOp op, llvm::ArrayRef<LaneValue> inputs,
                  mlir::Value wanted);
/// A load of bytes from a table of 256 that is complete before the loops, by bytes:
/// the table stands in registers. Null where that cannot be said.
std::optional<LaneValue> loadByTable(const Site &site, pipe::LoadOp op, llvm::ArrayRef<Index> at);

//===--- a function for each op, in a file named after what it does -----------===//

LaneValue emitPad(const Site &site, pipe::PadOp op, llvm::ArrayRef<Index> at);
LaneValue emitWindow(const Site &site, pipe::WindowOp op, llvm::ArrayRef<Index> at);
LaneValue emitMap(const Site &site, pipe::MapOp op, llvm::ArrayRef<Index> at);
/// The index at which a bordered read happens; `inside` is set (or narrowed)
/// for a constant border.
Index bordered(const Site &site, const Index &index, mlir::Value extent, pipe::Border border,
               mlir::Value &inside);
/// The same for a place of a pad, `low` further on than `index`, and a border that repeats
/// elements: without a division in each lane.
Index repeated(const Site &site, const Index &index, mlir::Value low, mlir::Value extent,
               pipe::Border border);
/// Returns whether first and last lane of an affine index lie inside, `low` and `high` away from
/// them too; null if that cannot be said for all lanes at once.
mlir::Value wholeInside(const Lanes &l, const Index &index, mlir::Value extent, int64_t low = 0,
                        int64_t high = 0);
/// Returns whether `value` at inactive lanes is harmless: loads care for
/// themselves, everything on the way is arithmetic and affine.
bool readsPlainly(const Site &site, mlir::Value value);

// Taps.cpp
const TapLoops *tapLoopsOf(const Site &site, pipe::WindowOp op);
/// A neighbour by the row of the window's last axis in which it stands, counted along the axes
/// before that, and its place there.
struct TapPlace {
  mlir::Value row, column;
};
/// \param rows, columns  of the window's neighbours
void emitTapLoop(const Site &site, const TapLoop &loop, bool vector, int64_t rows, int64_t columns,
                 llvm::function_ref<LaneValue(TapPlace)> neighbour);

} // namespace penstock::conversion
