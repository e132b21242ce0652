// SPDX-License-Identifier: Apache-2.0
//
// From the body of a pipeline to its plan.
#pragma once

#include "codegen/plan/PlanKernels.h"

namespace penstock::codegen {

/// Visits each op of the pipeline's body once, in order. The ops that are left after the split map
/// one to one to tables of the plan.
class PlanVisitor {
public:
  explicit PlanVisitor(mlir::ModuleOp module)
      : module(module), scope(plan), kernels(module, plan, scope) {}

  mlir::LogicalResult build();
  plan::PlanT plan;

private:
  /// Before anything refers to one.
  mlir::LogicalResult numberTables(mlir::Block &body);
  mlir::LogicalResult visitBody(mlir::Block &body);
  // Sources of values (PlanTables.cpp).
  mlir::LogicalResult visit(pipe::ParamOp op);
  mlir::LogicalResult visit(pipe::SourceOp op);
  mlir::LogicalResult visit(pipe::RowOp op);
  mlir::LogicalResult visit(pipe::AdmitOp op);
  mlir::LogicalResult visit(pipe::PickOp op);
  mlir::LogicalResult visit(pipe::FieldsOp op);
  mlir::LogicalResult visit(pipe::ProbeOp op);
  mlir::LogicalResult visit(pipe::SetEntryOp op);
  // Decodes and launches (PlanBuilder.cpp).
  mlir::LogicalResult visit(pipe::DecodeOp op);
  mlir::LogicalResult visit(pipe::LaunchOp op);
  // Batches and outputs (PlanOutputs.cpp).
  mlir::LogicalResult visit(pipe::BatchOp op);
  mlir::LogicalResult visit(pipe::OutputOp op);
  mlir::LogicalResult addCounts(pipe::OutputOp op, plan::OutputT &output);
  mlir::LogicalResult batchNumber(mlir::Value value, int64_t &number, int32_t &slot);
  mlir::LogicalResult addLengths(pipe::BatchOp op);
  int addCheck(llvm::StringRef message, mlir::Location loc);

  mlir::ModuleOp module;
  PlanScope scope;
  PlanKernels kernels;
};

} // namespace penstock::codegen
