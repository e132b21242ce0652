// SPDX-License-Identifier: Apache-2.0
//
// From the body of a pipeline to its plan.
#pragma once

#include "codegen/plan/PlanKernels.h"

namespace penstock::codegen {

/// One visit per op of the pipeline's body, in order. What is left of a
/// pipeline after the split maps one to one to tables of the plan.
class PlanVisitor {
public:
  explicit PlanVisitor(mlir::ModuleOp module)
      : module(module), scope(plan), kernels(module, plan, scope) {}

  mlir::LogicalResult build();
  plan::PlanT plan;

private:
  mlir::LogicalResult visitBody(mlir::Block &body);
  // Where values come from (PlanTables.cpp).
  mlir::LogicalResult visit(pipe::ParamOp op);
  mlir::LogicalResult visit(pipe::SourceOp op);
  mlir::LogicalResult visit(pipe::RowOp op);
  mlir::LogicalResult visit(pipe::AdmitOp op);
  mlir::LogicalResult visit(pipe::PickOp op);
  mlir::LogicalResult visit(pipe::ProbeOp op);
  mlir::LogicalResult visit(pipe::SetEntryOp op);
  // What is done with them (PlanBuilder.cpp).
  mlir::LogicalResult visit(pipe::DecodeOp op);
  mlir::LogicalResult visit(pipe::LaunchOp op);
  // What is delivered (PlanOutputs.cpp).
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
