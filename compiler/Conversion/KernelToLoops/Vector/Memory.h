// SPDX-License-Identifier: Apache-2.0
//
// Indices per lane, and loads and stores by them.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"

namespace penstock::conversion {

/// An index along one axis, for all lanes: base + lane * stride, or any vector. Lanes
/// that go through two axes, `period` of them along the inner one at a time, have
/// base + lane / period * stride + lane % period * inner.
struct Index {
  mlir::Value base;          ///< i64
  int64_t stride = 0;        ///< between lanes
  mlir::Value runtimeStride; ///< i64, in place of `stride`
  mlir::Value vector;        ///< vector of i64, in place of everything else
  int64_t period = 0, inner = 0;

  bool uniform() const { return !stride && !runtimeStride && !vector && !period; }
  bool affine() const { return !runtimeStride && !vector && !period; }
};

/// Returns whether the element differs between lanes.
inline bool anyLanes(llvm::ArrayRef<Index> at) {
  return llvm::any_of(at, [](const Index &index) { return !index.uniform(); });
}

/// The lanes first .. last (i64) of an access stand for elements that exist.
struct LiveLanes {
  mlir::Value first, last;
};

/// How far apart lanes of 2 and 4 bytes are still taken out of registers.
constexpr int64_t mostApart = 16;

/// A tensor in memory. Strides in bytes; `known` where they follow from the
/// type, because the axes further in are static and dense.
struct Buffer {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> strides;
  llvm::SmallVector<std::optional<int64_t>> known;
  mlir::Type element;
  bool constant = false; ///< an input: nobody writes it while the kernel runs, and 64 bytes can be
                         ///< read behind it
  std::optional<Interval> written = {}; ///< of what the kernel wrote there; no signalling NaN
  bool roomy = false;                   ///< some elements more can be read behind the last one
  bool streaming = false;               ///< stores bypass the caches; all vectors are aligned
};

/// Index arithmetic, and memory access, at the builder's place.
class Memory {
public:
  explicit Memory(const Lanes &lanes, std::optional<LiveLanes> live = std::nullopt)
      : l(lanes), live(live) {}

  Lanes l;
  /// While set, loads touch nothing for other lanes than these, and give 0 there. One element that
  /// all lanes read stays a number.
  std::optional<LiveLanes> live;
  /// While set, what is loaded is not kept in registers from a load of the same bytes before: the
  /// code at hand hardly ever runs.
  bool rare = false;

  Index constant(int64_t value) const { return {l.i64(value), 0, {}, {}}; }
  Index uniform(mlir::Value value) const { return {value, 0, {}, {}}; }
  /// The i64 number in each lane: a scalar if uniform, else a vector.
  mlir::Value numbers(const Index &index) const;
  /// The same as f32, where the index lies below 2^24 wherever there is an element;
  /// null where no step is known.
  mlir::Value realNumbers(const Index &index) const;
  Index add(const Index &a, const Index &b) const;
  Index mul(const Index &a, const Index &b) const;
  /// The index of lanes that go through two axes, along the outer one or the inner one.
  Index outerOf(mlir::Value base, int64_t period) const { return {base, 1, {}, {}, period, 0}; }
  Index innerOf(int64_t period) const { return {l.i64(0), 0, {}, {}, period, 1}; }
  /// From numbers computed otherwise.
  Index of(mlir::Value numbers) const;
  /// Evaluates `expr` with indices for dimensions and symbols.
  Index affine(mlir::AffineExpr expr, llvm::ArrayRef<Index> dims,
               llvm::ArrayRef<Index> symbols) const;
  /// min(max(index, 0), extent - 1), and never below 0.
  Index clamp(const Index &index, mlir::Value extent) const;

  LaneValue load(const Buffer &buffer, llvm::ArrayRef<Index> at) const;
  /// For each lane, whether it is live.
  mlir::Value liveMask(const LiveLanes &live) const;
  /// Stores canonical NaN. Lanes must not overlap.
  void store(const Buffer &buffer, llvm::ArrayRef<Index> at, LaneValue value) const;
  /// Stores `values[c]` at bytes start + lane * count * size + c * size.
  void storeInterleaved(const Buffer &buffer, llvm::ArrayRef<Index> at,
                        llvm::ArrayRef<LaneValue> values) const;

  /// Returns whether elements of `size` bytes and `step` apart, more than 4, are taken out of
  /// registers.
  bool takesApart(int64_t size, int64_t step) const;
  mlir::Value address(mlir::Value pointer, mlir::Value bytes) const;
  mlir::Value loadPlain(mlir::Type type, mlir::Value address, bool constant = false) const;
  void storePlain(mlir::Value value, mlir::Value address, bool streaming = false) const;
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int64_t> mask) const;
  /// Lanes `bytes` apart, of which the first begins `phase` bytes behind `address`; null where they
  /// lie too far apart.
  mlir::Value loadStrided(mlir::Type type, int64_t size, mlir::Value address, int64_t bytes,
                          int64_t phase, bool constant, bool onlyLanes = false,
                          bool roomy = false) const;

private:
  /// How far lanes lie from the first, in bytes, where `apart` says so, and `turns` if it is not
  /// null.
  mlir::Value loadPieces(mlir::Type type, mlir::Value address, const Index &apart,
                         mlir::Value turns, bool constant) const;
  /// Lanes of up to 4 bytes as i32, extended with zeros; null where they lie too
  /// far apart. `base` is the offset of lane 0, less `phase` bytes.
  mlir::Value loadWindows(const Buffer &buffer, mlir::Value base, int64_t size, int64_t bytes,
                          int64_t phase) const;
  /// Pixels of three dense bytes (PixelSum says how), where each lane has one
  /// and `at` names a channel; null elsewhere, and without permutations of bytes.
  mlir::Value loadPixels(const Buffer &buffer, llvm::ArrayRef<Index> at, mlir::Value base) const;
};

} // namespace penstock::conversion
