// SPDX-License-Identifier: Apache-2.0
//
// The ways to scan.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"
#include "compiler/Dialect/ScheduleDialect.h"

namespace penstock::conversion {

/// Returns the value before the first element.
LaneValue scanStart(const Lanes &l, pipe::ScanOp op, mlir::Type element);
/// Returns the value up to an element. A NaN that a running maximum carries is canonical.
LaneValue scanStep(const Site &site, pipe::ScanOp op, LaneValue sofar, LaneValue value,
                   LaneValue factor);
/// Stores rows once more where one of them has a NaN.
void storeCanonical(const Site &site, const Buffer &to, llvm::SmallVector<Index> &at, int64_t along,
                    mlir::Value columns, mlir::Value any, int64_t rows,
                    llvm::function_ref<void(int64_t)> moveToRow);
/// Room for what a band has so far, of so many numbers a row.
mlir::Value roomOfBand(const Site &site, pipe::ScanAttr scan, int64_t numbers, mlir::Type element);
/// Takes on the numbers of as many rows as there are lanes, by element `i` of each.
using BandStep = llvm::function_ref<void(const Site &, Index row, mlir::Value i,
                                         llvm::MutableArrayRef<mlir::Value> numbers)>;
/// Goes through `rows` with lanes along them, band by band, and through the `elements` of each band
/// in order. `start`: what each row has before its first element.
void scanBands(const Site &site, pipe::ScanAttr scan, int64_t rows, mlir::Value elements,
               mlir::Value room, llvm::ArrayRef<mlir::Value> start, BandStep step);
/// Rows in the lanes.
void scanTransposed(const Site &site, pipe::ScanOp op, const Buffer &to, LaneValue factor);

} // namespace penstock::conversion
