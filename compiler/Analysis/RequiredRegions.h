//===- RequiredRegions.h - what is needed of every value --------*- C++ -*-===//
#ifndef PENSTOCK_COMPILER_ANALYSIS_REQUIREDREGIONS_H
#define PENSTOCK_COMPILER_ANALYSIS_REQUIREDREGIONS_H

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace penstock::analysis {

/// The indices `low` ..< `high` of an axis; null for the whole axis.
struct Interval {
  mlir::Value low, high;
  bool isWhole() const { return !low; }
};
using Box = llvm::SmallVector<Interval>;

/// From the outputs backwards, the box of each tensor that its users read: the
/// union over users (under a choose, over its arms). Boxes are scalars of the
/// sample, emitted where the builder stands; all scalars of the pipeline must
/// dominate that place.
///
/// A box lies inside the value. It is exact for views, pads, maps, joins and
/// windows; along a resampled axis it may hold a few elements more than the
/// taps need; behind reductions, gathers and non-constant reflections it is
/// the whole axis.
class RequiredRegions {
public:
  RequiredRegions(pipe::PipelineOp pipeline, mlir::OpBuilder &builder);

  /// The box of `tensor`, or null if nothing reads it.
  const Box *boxOf(mlir::Value tensor) const {
    auto found = boxes.find(tensor);
    return found == boxes.end() ? nullptr : &found->second;
  }

private:
  void visitBlock(mlir::Block &block);
  void visit(mlir::Operation *op);
  void need(mlir::Value tensor, const Box &box);
  void needWhole(mlir::Value tensor);
  /// What a resample along one axis reads for the outputs in `wanted`.
  Interval resampled(pipe::ResampleOp op, Interval wanted);
  Box viewed(pipe::ViewOp view, const Box &box);
  Interval padded(pipe::PadOp pad, int64_t axis, Interval wanted);
  /// `wanted` with `below` more elements before and `above` behind, clamped.
  Interval widened(mlir::Value input, int64_t axis, Interval wanted, int64_t below, int64_t above);

  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Value, Box> boxes;
};

} // namespace penstock::analysis

#endif
