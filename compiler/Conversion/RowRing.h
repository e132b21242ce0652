//===- RowRing.h - rows resampled horizontally, on demand -----------------===//
#ifndef PENSTOCK_COMPILER_CONVERSION_ROWRING_H
#define PENSTOCK_COMPILER_CONVERSION_ROWRING_H

#include "compiler/Conversion/Memory.h"

namespace penstock::conversion {

/// The result of a horizontal `pillow` pass over u8[rows, columns, channels],
/// of which only the rows around the current output row exist: planar, at
/// pointer + (row & mask) * rowBytes + channel * planeBytes + column.
struct RowRing {
  mlir::Value pointer, mask, tags;
  int64_t channels = 0;
  mlir::Value planeBytes, rowBytes;
  // What the function that fills rows needs besides.
  mlir::Value source, sourceStride, rows, columns, offsets, weights, steps;
};

/// The tables of one pass, packed for multiply-add: how many pairs of taps
/// matter, and where in `start .. start + taps` they begin for each output.
struct PackedTaps {
  mlir::Value steps;  ///< i64: pairs of taps per output
  mlir::Value starts; ///< address of one i64 per output
  mlir::Value pairs;  ///< address of {high, low} i32 per output and pair
};

/// Sums of pairs of taps on 32-bit lanes, by the multiply-add of the level.
/// `pairs` are lanes of two i16, `weights` likewise.
mlir::Value multiplyAdd(Lanes &lanes, mlir::Value pairs, mlir::Value weights);

/// (high << 11) + low, where low starts as 2^21, shifted right by 22; i32 lanes.
mlir::Value combineHalves(Lanes &lanes, mlir::Value high, mlir::Value low);

/// Four vectors of i32 lanes, clamped to bytes: byte j of lane l is lane l of
/// vector j.
mlir::Value packBytes(Lanes &lanes, Memory &memory, llvm::ArrayRef<mlir::Value> vectors);

} // namespace penstock::conversion

#endif
