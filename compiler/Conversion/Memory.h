//===- Memory.h - indices per lane, and loads and stores by them ----------===//
#ifndef PENSTOCK_COMPILER_CONVERSION_MEMORY_H
#define PENSTOCK_COMPILER_CONVERSION_MEMORY_H

#include "compiler/Conversion/Lanes.h"

namespace penstock::conversion {

/// An index along one axis, for all lanes: base + lane * stride, or any vector.
struct Index {
  mlir::Value base;          ///< i64
  int64_t stride = 0;        ///< between lanes
  mlir::Value runtimeStride; ///< i64, in place of `stride`
  mlir::Value vector;        ///< vector of i64, in place of everything else

  bool uniform() const { return !stride && !runtimeStride && !vector; }
  bool affine() const { return !runtimeStride && !vector; }
};

/// Whether the element differs between lanes.
inline bool anyLanes(llvm::ArrayRef<Index> at) {
  return llvm::any_of(at, [](const Index &index) { return !index.uniform(); });
}

/// A tensor in memory. Strides in bytes; `known` where they follow from the
/// type, because the axes further in are static and dense.
struct Buffer {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> strides;
  llvm::SmallVector<std::optional<int64_t>> known;
  mlir::Type element;
};

/// Index arithmetic, and memory access, at the builder's place.
class Memory {
public:
  explicit Memory(Lanes &lanes) : l(lanes) {}

  Index constant(int64_t value) { return {l.i64(value), 0, {}, {}}; }
  Index uniform(mlir::Value value) { return {value, 0, {}, {}}; }
  /// The i64 number in each lane: a scalar if uniform, else a vector.
  mlir::Value numbers(const Index &index);
  Index add(const Index &a, const Index &b);
  Index mul(const Index &a, const Index &b);
  /// From numbers computed otherwise.
  Index of(mlir::Value numbers);
  /// Evaluates `expr` with indices for dimensions and symbols.
  Index affine(mlir::AffineExpr expr, llvm::ArrayRef<Index> dims, llvm::ArrayRef<Index> symbols);
  /// min(max(index, 0), extent - 1), and never below 0.
  Index clamp(const Index &index, mlir::Value extent);

  LaneValue load(const Buffer &buffer, llvm::ArrayRef<Index> at);
  /// Stores canonical NaN. Lanes must not overlap.
  void store(const Buffer &buffer, llvm::ArrayRef<Index> at, LaneValue value);
  /// Stores `values[c]` at bytes start + lane * count * size + c * size.
  void storeInterleaved(const Buffer &buffer, llvm::ArrayRef<Index> at,
                        llvm::ArrayRef<LaneValue> values);

  mlir::Value address(mlir::Value pointer, mlir::Value bytes);
  mlir::Value loadPlain(mlir::Type type, mlir::Value address);
  void storePlain(mlir::Value value, mlir::Value address);
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int64_t> mask);

private:
  mlir::Value loadStrided(mlir::Type type, int64_t size, mlir::Value address, int64_t bytes,
                          int64_t phase);
  mlir::Value fromMemory(mlir::Value value, mlir::Type element);
  mlir::Value toMemory(LaneValue value);

  Lanes &l;
};

} // namespace penstock::conversion

#endif
