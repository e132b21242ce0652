// SPDX-License-Identifier: Apache-2.0
//
// Kernels, codecs and checks as entries of the plan.
#pragma once

#include "codegen/cuda/Joined.h"
#include "codegen/plan/PlanScope.h"
#include "compiler/Conversion/KernelContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace penstock::codegen {

/// Returns the fields of a sample's launch record; `function` is a kernel after
/// `pipe-kernel-to-gpu`.
std::vector<plan::RecordField> recordOf(mlir::func::FuncOp function);

/// The kernels of a plan, with the draws and checks of their functions.
/// Everything that fails has emitted an error.
class PlanKernels {
public:
  PlanKernels(mlir::ModuleOp module, plan::PlanT &plan, PlanScope &scope)
      : module(module), plan(plan), scope(scope) {}

  /// Adds the kernels of the rows, select and setup phases, which no launch enters.
  mlir::LogicalResult addKernels();
  /// Sets the code of a launch, a kernel's or a codec, and its scalars.
  mlir::LogicalResult setCode(pipe::LaunchOp op, plan::StepT &step);
  /// The number of the kernel of this name, which no launch enters; -1: no device runs it.
  int planesKernel(llvm::StringRef name);

private:
  std::unique_ptr<plan::KernelT> entryOf(mlir::func::FuncOp function) const;
  void addDrawsAndChecks(mlir::func::FuncOp function);
  mlir::FailureOr<int> kernelOf(pipe::LaunchOp op);
  mlir::FailureOr<std::unique_ptr<plan::DimT>> scratchDim(pipe::LaunchOp op,
                                                          const conversion::ArgumentExtent &extent);

  mlir::ModuleOp module;
  plan::PlanT &plan;
  PlanScope &scope;
  llvm::StringMap<mlir::func::FuncOp> functions;
  llvm::StringMap<int> sharedKernels;            ///< those without scratch of dynamic size
  llvm::MapVector<int64_t, JoinedLaunch> joined; ///< by group
};

} // namespace penstock::codegen
