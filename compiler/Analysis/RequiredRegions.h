// SPDX-License-Identifier: Apache-2.0
//
// Boxes that are needed of every value.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/MapVector.h"

namespace penstock::analysis {

/// The box that is read of a tensor, and in which samples.
struct Need {
  pipe::Box box;
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
class RequiredRegions final : private pipe::BoxRequest {
public:
  RequiredRegions(pipe::PipelineOp pipeline, mlir::OpBuilder &builder);

  /// Returns what is needed of `tensor`, or null if nothing reads it.
  const Need *needOf(mlir::Value tensor) const {
    auto found = needs.find(tensor);
    return found == needs.end() ? nullptr : &found->second;
  }

private:
  void visitBlock(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitArms(pipe::ChooseOp choose);
  /// Adds what the op that is being visited reads, under its own condition.
  void need(mlir::Value tensor, const pipe::Box &box) override;
  mlir::OpBuilder &at() override { return builder; }
  bool isKnown(mlir::Value scalar) const override;
  void add(mlir::Value tensor, const Need &more);
  /// One need of the needs in the arms that read a tensor (null elsewhere).
  Need chosen(pipe::ChooseOp choose, llvm::ArrayRef<const Need *> arms, mlir::Value tensor);

  mlir::OpBuilder &builder;
  llvm::MapVector<mlir::Value, Need> needs;
  /// Of the op that is being visited.
  mlir::Value when;
  bool byPeer = false;
};

} // namespace penstock::analysis
