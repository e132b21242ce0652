// SPDX-License-Identifier: Apache-2.0
//
// Values of the pipeline, as entries of the plan.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "runtime/abi/plan_generated.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace penstock::codegen {

/// The plan's name of an element type.
plan::DType planType(mlir::Type type);

/// An attribute of one of the parameter types, as a plan's default or argument.
struct Literal {
  plan::DType type = plan::DType::none;
  int64_t integer = 0;
  double number = 0;
  std::string text;
};
Literal literalOf(mlir::Attribute attribute);

/// Maps values to the numbers that the plan knows them by, while the plan is
/// being built. Everything that fails has emitted an error.
class PlanScope {
public:
  explicit PlanScope(plan::PlanT &plan) : plan(plan) {}

  /// The slot behind a scalar operand, which must be a `pipe.entry`.
  mlir::FailureOr<int> slotOf(mlir::Value scalar);
  /// The plan's dimensions of a tensor value.
  mlir::FailureOr<std::vector<std::unique_ptr<plan::DimT>>> dimsOf(mlir::Value tensor);
  /// The number of the buffer that holds `tensor`; creates it when it is a
  /// field, a constant or a switch.
  mlir::FailureOr<int> bufferOf(mlir::Value tensor);
  /// Returns the access of a step to `tensor`: its buffer, of this sample, a peer or all samples.
  mlir::FailureOr<std::unique_ptr<plan::AccessT>> accessOf(mlir::Value tensor);
  /// A new buffer for `tensor`.
  mlir::FailureOr<int> addBuffer(mlir::Value tensor, plan::BufferKind kind);
  /// The first stage in which `tensor` may be read by a step of this sample, or, with
  /// `once`, by one that runs once for the batch.
  int stageOf(mlir::Value tensor, bool once = false);

  int rowOf(mlir::Value row);
  /// The number of the column `name` of the table behind `row`, or -1.
  int columnOf(mlir::Value row, llvm::StringRef name);
  /// Of bytes that are read as several media, each is an entry of its own.
  int mediaOf(mlir::Value bytes, llvm::StringRef media);

  llvm::DenseMap<mlir::Value, int> params, sources, rows, buffers, stages;
  llvm::DenseMap<int64_t, int> groups;  ///< the first row of each group of picked ones
  llvm::DenseSet<mlir::Value> madeOnce; ///< for a batch

private:
  llvm::DenseMap<std::pair<mlir::Value, int>, int> choices; ///< stages of switches
  plan::PlanT &plan;
};

} // namespace penstock::codegen
