//===- RequiredRegions.h - what is needed of every value --------*- C++ -*-===//
#ifndef PENSTOCK_COMPILER_ANALYSIS_REQUIREDREGIONS_H
#define PENSTOCK_COMPILER_ANALYSIS_REQUIREDREGIONS_H

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/MapVector.h"

namespace penstock::analysis {

/// The indices `low` ..< `high` of an axis; null for the whole axis.
struct Interval {
  mlir::Value low, high;
  bool isWhole() const { return !low; }
};
using Box = llvm::SmallVector<Interval>;

/// What is read of a tensor, and in which samples.
struct Need {
  Box box;
  /// Null: in every sample. Where it is false, nothing of the tensor is read.
  mlir::Value when;
  /// Other samples read it too: the branches around this read do not decide.
  bool byPeer = false;
};

/// From the outputs backwards, the box of each tensor that its users read, and
/// the condition of the branches that read it. A box is the union over those
/// users whose branch is taken. Boxes and conditions are scalars of the sample,
/// emitted where the builder stands; all scalars of the pipeline must dominate
/// that place, but for those that depend on pixels.
///
/// A box lies inside the value. It is exact for views, pads, maps, joins and
/// windows; along a resampled axis it may hold a few elements more than the
/// taps need; behind reductions, gathers and non-constant reflections it is
/// the whole axis.
class RequiredRegions {
public:
  RequiredRegions(pipe::PipelineOp pipeline, mlir::OpBuilder &builder);

  /// What is needed of `tensor`, or null if nothing reads it.
  const Need *needOf(mlir::Value tensor) const {
    auto found = needs.find(tensor);
    return found == needs.end() ? nullptr : &found->second;
  }

private:
  void visitBlock(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitArms(pipe::ChooseOp choose);
  /// Adds what the op that is being visited reads, under its own condition.
  void need(mlir::Value tensor, const Box &box);
  void needWhole(mlir::Value tensor);
  void add(mlir::Value tensor, const Need &more);
  /// Whether a scalar is there where boxes are emitted.
  bool isKnown(mlir::Value scalar) const;
  /// One need of the needs in the arms that read a tensor (null elsewhere).
  Need chosen(pipe::ChooseOp choose, llvm::ArrayRef<const Need *> arms, mlir::Value tensor);
  /// What a resample along one axis reads for the outputs in `wanted`.
  Interval resampled(pipe::ResampleOp op, Interval wanted);
  Box viewed(pipe::ViewOp view, const Box &box);
  Interval padded(pipe::PadOp pad, int64_t axis, Interval wanted);
  /// `wanted` with `below` more elements before and `above` behind, clamped.
  Interval widened(mlir::Value input, int64_t axis, Interval wanted, int64_t below, int64_t above);

  mlir::OpBuilder &builder;
  llvm::MapVector<mlir::Value, Need> needs;
  /// Of the op that is being visited.
  mlir::Value when;
  bool byPeer = false;
};

} // namespace penstock::analysis

#endif
