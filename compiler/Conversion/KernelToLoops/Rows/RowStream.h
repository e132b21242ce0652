// SPDX-License-Identifier: Apache-2.0
//
// Two-pass resampling of u8 rows, row by row.
//
// A weight of 22 bits is cut into digits that a dot product of bytes or words
// takes, so that one instruction adds several taps of every lane:
//
// * pairs (all levels): w = high * 2^11 + low, two taps of i16 at a time;
// * quads (`dot_quads`): three signed digits of base 256, four taps at a time.
//
// Sums of the digits are exact in 32 bits, and so is their combination.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace penstock::conversion {

/// Facts about a stream of rows that are known when its code is made.
struct RowShape {
  int64_t channels = 1; ///< 1 to 4
  int64_t columns = 0;  ///< of the result
  int64_t vectorBytes = 16;
  bool quads = false;

  int64_t lanes() const { return vectorBytes / 4; }
  /// Taps of one dot product, and digits of a weight.
  int64_t taps() const { return quads ? 4 : 2; }
  int64_t digits() const { return quads ? 3 : 2; }
  /// Up to so many steps are unrolled.
  int64_t mostUnrolled() const { return quads ? 2 : 3; }
  /// Source rows that are resampled at once and share the loads of tables.
  int64_t rowsAtOnce() const { return quads ? 4 : 2; }
  /// Columns that are computed at once.
  int64_t block() const { return vectorBytes / 2; }
  /// Columns with room for whole blocks.
  int64_t plane() const { return llvm::alignTo(columns, block()); }
  /// Elements of a planar row, in whole vectors of bytes.
  int64_t elements() const { return llvm::alignTo(channels * plane(), vectorBytes); }
  /// Bytes of a row in the ring: quads keep bytes, pairs words.
  int64_t ringRow() const { return llvm::alignTo(elements() * (quads ? 1 : 2), 64); }
};

/// How the lanes of the horizontal pass are laid out. Dense: elements follow
/// each other without gaps, in order of columns and channels. A part of four
/// lanes (16, for quads) reads one window of the source, which their taps must
/// fit into. Else four lanes hold the channels of one column, whose taps fit at
/// any scale.
struct RowForm {
  const RowShape &shape;
  bool dense;

  bool wide() const { return dense && shape.quads; }
  int64_t perColumn() const { return dense ? shape.channels : 4; }
  int64_t vectors() const { return 2 * perColumn(); } ///< of lanes, in a block
  int64_t group() const { return wide() ? 16 : 4; }   ///< lanes that share a window
  int64_t groups() const { return shape.lanes() / group(); }
  int64_t windowBytes() const { return 4 * group(); }
  /// Shuffles of a vector: also one for the taps of a second step, where those
  /// lie in the same window.
  int64_t shuffles() const { return dense && !shape.quads ? 2 : 1; }
  /// Vectors of a table: shuffles, then digits per step.
  mlir::Value tableVectors(const Lanes &l, mlir::Value steps) const {
    return l.add(l.mul(steps, l.i64(shape.digits())), l.i64(shuffles()));
  }
  /// Bits that sums still keep when they are packed: clamping to words then
  /// clamps to bytes, and dropping the bits is part of a shuffle.
  int64_t spareBits() const { return wide() ? 0 : 8; }
  int64_t offsetBytes() const { return 8 * groups() * vectors(); } ///< of a block
  /// The element of a block in `lane` of vector `vector`. Within parts, so that
  /// packing two vectors puts eight columns' elements side by side.
  int64_t element(int64_t vector, int64_t lane) const {
    return wide() ? 16 * vector + lane : 8 * perColumn() * (lane / 4) + 4 * vector + lane % 4;
  }
  int64_t column(int64_t vector, int64_t lane) const { return element(vector, lane) / perColumn(); }
  int64_t channel(int64_t vector, int64_t lane) const {
    return std::min(element(vector, lane) % perColumn(), shape.channels - 1);
  }
};

/// Taps of one axis, without the zeros around them and cut into digits.
struct TapTable {
  mlir::Value length;  ///< i64: the most taps that an output has
  mlir::Value steps;   ///< i64: dot products per output
  mlir::Value starts;  ///< i32 per output: its first tap
  mlir::Value words;   ///< i32 [step][digit][output]: that digit of a step's taps
  int64_t outputs = 0; ///< with those past the last, whose weights are 0
};

/// The code of the horizontal pass. From `one` on: lanes are dense, and so many
/// steps are unrolled; `shared`: two steps of pairs, in one window.
enum class RowVariant : int64_t { sparse = -1, dense = 0, one = 1, two = 2, three = 3, shared = 4 };

/// The words of a stream's descriptor: what its function needs, written once
/// per call of the kernel.
enum class RowField : int64_t {
  source,       ///< address of element (0, 0, 0)
  sourceStride, ///< bytes between source rows
  rows,         ///< source rows
  offsets,      ///< i64 [block][vector][group]: where windows begin
  tables,       ///< [block][vector]: shuffles, then digits per step
  steps,        ///< of the horizontal pass
  variant,      ///< RowVariant of the horizontal pass
  ring,
  tags,
  mask,
  rowStarts,
  rowWords,
  rowSteps,
  rowLength,
  rowOutputs, ///< the vertical pass's taps
  result,     ///< u8 [channel][plane]: the current row
  current,    ///< its number, counted through all pictures, or -1
  picture,    ///< the one that the ring has rows of
  stop,       ///< pst_kernel_args::stop
  count
};

/// Emits the private function `name(descriptor, row)` that makes `row` the
/// stream's current row, or finds it.
mlir::func::FuncOp rowFunction(const Lanes &lanes, mlir::func::FuncOp beside, llvm::StringRef name,
                               const RowShape &shape);

// RowArithmetic.cpp: instructions of the level, on vectors of `lanes` i32.
mlir::Value constantLanes(const Lanes &l, llvm::ArrayRef<int32_t> values);
/// `scalar` in `lanes` lanes.
mlir::Value splatOf(const Lanes &l, mlir::Value scalar, int64_t lanes);
/// The bytes of a vector, moved by `table` within 16 bytes, or anywhere (`wide`).
mlir::Value moveBytes(const Lanes &l, bool wide, mlir::Value bytes, mlir::Value table);
/// sum + the dot products of `taps` (u8, or u16 for pairs) and `digits`.
mlir::Value addDot(const Lanes &l, const RowShape &shape, mlir::Value sum, mlir::Value taps,
                   mlir::Value digits);
/// Returns the initial sums of each digit, high first.
llvm::SmallVector<mlir::Value> firstSums(const Lanes &l, const RowShape &shape);
/// The rounded result of sums per digit, not clamped, with `spare` bits behind it.
mlir::Value combineSums(const Lanes &l, const RowShape &shape, mlir::ValueRange sums,
                        int64_t spare);
/// The same from all steps' taps at once.
mlir::Value dotAll(const Lanes &l, const RowShape &shape, llvm::ArrayRef<mlir::Value> taps,
                   int64_t spare,
                   llvm::function_ref<mlir::Value(size_t step, int64_t digit)> digitOf);
/// Two vectors of i32, clamped to u16, within 128-bit parts.
mlir::Value packWords(const Lanes &l, mlir::Value a, mlir::Value b);
/// Two vectors of i16, clamped to u8, within 128-bit parts.
mlir::Value packBytes(const Lanes &l, mlir::Value a, mlir::Value b);
/// The low or high halves of the 128-bit parts of `a` and `b`, element by element.
mlir::Value interleave(const Lanes &l, mlir::Value a, mlir::Value b, bool high);
/// A shuffle that is the same in every part of 16 bytes; elements of the second
/// vector's part count on.
mlir::Value shuffleParts(const Lanes &l, mlir::Value a, mlir::Value b,
                         llvm::ArrayRef<int64_t> pattern);
/// Another element type for the same bits.
mlir::Value asElements(const Lanes &l, mlir::Value vector, unsigned bits);

} // namespace penstock::conversion
