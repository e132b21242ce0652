// SPDX-License-Identifier: Apache-2.0
//
// Inputs of which a block copies what it reads into shared memory.
#pragma once

#include "compiler/Analysis/InputBoxes.h"
#include "compiler/Conversion/KernelToGpu/GpuColumns.h"
#include "compiler/Conversion/KernelToGpu/GpuTiles.h"
#include "llvm/ADT/MapVector.h"

namespace penstock::conversion {

/// The schedule's copies (`copied = {bytes = 20272, inputs = array<i64: 0, 1>}`), and where they
/// lie.
class GpuCopies {
public:
  static mlir::FailureOr<GpuCopies> of(pipe::KernelOp kernel,
                                       llvm::function_ref<bool(mlir::Operation *)> isStored);

  /// Bytes of shared memory that copies may take; 0: there are none.
  int64_t bytes() const { return room; }
  /// Leaves some of them to others, if those are few; returns whether they are.
  bool giveUp(int64_t bytes);
  /// They lie in `memory` from byte `first` on.
  void setMemory(mlir::Value memory, int64_t first) { shared = {memory, first}; }
  /// Copies what `value` reads and all tiles share: what depends on no axis of `tiled`. A barrier
  /// is the caller's, once for all values.
  void copyTables(const GpuSite &site, mlir::Value value, llvm::ArrayRef<int64_t> tiled);
  /// Behind the last of them: counts the rows for which the tables leave room.
  void endTables(const GpuSite &site);
  /// Stores rows of a value along `rowAxis` for a tile, as many at a time as those fit which they
  /// read; where those of a single one do not, inputs are read where they lie.
  void fill(const GpuSite &site, mlir::Value value, int64_t rowAxis, const GpuPart &part,
            const GpuBuffer &to) const;

private:
  using Ranges = llvm::DenseMap<std::pair<mlir::Value, int64_t>, RowRange>; ///< by axis of a value
  /// The reads of one value, of inputs that are copied.
  struct Reads {
    analysis::InputBoxes boxes;
    GpuBuffers tables;
    llvm::DenseSet<mlir::Value> ofManyTaps; ///< tables that are copied only then: threads hold taps
    llvm::SmallVector<mlir::Value> rows;    ///< inputs of which each tile has its own
    Ranges same;                            ///< for all tiles
    mlir::Value rowBytes = {};              ///< from one row to the next, of one input alone
    mlir::Value together = {};              ///< rows of it that fit; null: that depends on which
  };
  /// Elements side by side, copied in words; none where elements are copied one by one.
  struct Row {
    size_t outer;                 ///< axes outside of it
    mlir::Value neighbours, size; ///< elements of it, and that it takes
    mlir::Value stride = {};      ///< to the next one, in elements
  };
  /// A box of an input in shared memory.
  struct Copy {
    mlir::Value input;
    llvm::SmallVector<mlir::Value> low, count;
    Row row;
    llvm::SmallVector<mlir::Value> strides; ///< in elements
    mlir::Value begin, end;                 ///< bytes
    bool isWide() const { return bool(row.neighbours); }
  };
  static Row rowOf(const GpuSite &site, mlir::Value input, llvm::ArrayRef<mlir::Value> counts);
  static mlir::Value strideOf(const GpuSite &site, mlir::Value input, size_t axis,
                              mlir::Value size);
  static RowRange rangeOf(const GpuSite &site, const analysis::InputBoxes &boxes, mlir::Value value,
                          int64_t axis, Ranges &known);
  static Copy layOut(const GpuSite &site, mlir::Value input, llvm::ArrayRef<RowRange> box,
                     mlir::Value begin);
  llvm::SmallVector<Copy> layOutRows(const GpuSite &site, const Reads &reads, mlir::Value value,
                                     const GpuPart &part) const;
  using Held = std::optional<Columns>;
  bool isTogether(const GpuSite &site, const Reads &reads, mlir::Value value, int64_t rowAxis,
                  const GpuPart &part) const;
  void fillFromCopies(const GpuSite &site, const Reads &reads, const Held &columns,
                      mlir::Value value, const GpuPart &part, const GpuBuffer &to) const;
  void fillSome(const GpuSite &site, const Reads &reads, const Held &columns, mlir::Value value,
                const GpuPart &part, const GpuBuffer &to) const;
  void copyTable(const GpuSite &site, Reads &reads, mlir::Value input, llvm::ArrayRef<RowRange> box,
                 mlir::Value isWanted);
  GpuBuffer place(const GpuSite &site, const Copy &copy) const;
  void copyInto(const GpuSite &site, const Copy &copy, const GpuBuffer &to) const;
  mlir::Value fits(const GpuSite &site, mlir::Value end) const;

  llvm::MapVector<mlir::Value, Reads> readBy; ///< by the value that is stored, or returned
  int64_t room = 0;
  std::pair<mlir::Value, int64_t> shared;
  mlir::Value tablesEnd; ///< bytes that tables take
};

} // namespace penstock::conversion
