// SPDX-License-Identifier: Apache-2.0
//
// A sample that is imagined, to learn what samples cost.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace penstock::analysis {

/// Assumptions about data that nobody has read.
struct TypicalData {
  /// Numbers of headers (runtime/abi/media.h): "image.height".
  llvm::StringMap<double> header;
  double rows = 100'000; ///< of a table
  double extent = 1'000; ///< of an axis of which nothing is known
  double batch = 256;    ///< samples, where a pipeline's batch has no such number
};

/// One sample of a module at stage `kernels`: its scalars, computed by the folders of the dialect
/// with draws of a generator of its own, and with the headers of TypicalData. What depends on
/// anything else (a field of the row, a parameter without default) is not known.
class TypicalSample {
public:
  /// Runs select and setup. Samples 2k and 2k + 1 draw opposite numbers, u and 1 - u, so that the
  /// mean of a few comes close to that of many (antithetic variates).
  TypicalSample(mlir::ModuleOp module, const TypicalData &data, int number);

  /// A scalar of the pipeline, or of what was entered last; null where it is not known.
  mlir::Attribute valueOf(mlir::Value scalar) const;
  std::optional<int64_t> integerOf(mlir::Value scalar) const;
  double extentOf(mlir::Value tensor, size_t axis) const;
  double elementsOf(mlir::Value tensor) const;
  double bytesOf(mlir::Value tensor) const;
  /// The tensor that a `switch` names, also by way of others; any other tensor itself.
  mlir::Value chosen(mlir::Value tensor) const;
  /// The arm of a `choose` that runs; the first where that is not known.
  mlir::Block &armOf(pipe::ChooseOp choose) const;
  double samplesOfBatch() const { return batch; }

  /// A kernel begins: its arguments are those of a launch.
  void enter(pipe::KernelOp kernel, pipe::LaunchOp launch);
  /// Computes the scalars of an op; no effect on one that computes tensors.
  void run(mlir::Operation &op);

private:
  void runAll(mlir::Block &block);
  void bind(mlir::Value argument, mlir::Value value);
  mlir::Attribute draw(pipe::DrawOp op);
  mlir::Attribute headerOf(pipe::ProbeOp op) const;
  mlir::Attribute loaded(pipe::LoadOp op) const;
  void search(pipe::SearchOp op);
  void repeat(pipe::RepeatOp op);
  void fold(mlir::Operation &op);
  double uniform();

  const TypicalData &data;
  uint64_t state;
  bool isOpposite;
  double batch;
  llvm::DenseMap<mlir::Value, mlir::Attribute> known;
  llvm::DenseMap<int64_t, mlir::Attribute> entries;
  /// Of the arguments of the kernel that was entered last.
  llvm::DenseMap<mlir::Value, mlir::SmallVector<double>> extents;
};

} // namespace penstock::analysis
