// SPDX-License-Identifier: Apache-2.0
//
// Launches that are one: pst_joined_sample in runtime/abi/kernel.h.
#pragma once

#include "codegen/cuda/Printer.h"
#include "compiler/Dialect/PipeDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace penstock::codegen {

/// The launches of one group, after `pipe-kernel-to-gpu`.
struct JoinedLaunch {
  std::string name;                          ///< of the kernel, for cudaKernelName()
  llvm::SetVector<mlir::Operation *> bodies; ///< functions; a step says by number which one it runs
  size_t steps = 0;                          ///< launches; several may run one function
  int64_t threads = 0;                       ///< of a block
  int64_t shared = 0; ///< bytes of shared memory, of the function that takes most
};

/// By their groups, from 0 on in the order of the module. Emits an error and fails where a group
/// cannot be one launch.
mlir::FailureOr<llvm::MapVector<int64_t, JoinedLaunch>> joinedLaunches(mlir::ModuleOp module);

/// Prints the kernel that runs the steps of each sample.
void printJoined(llvm::raw_ostream &os, const JoinedLaunch &launch,
                 const CudaPrinterOptions &options);

} // namespace penstock::codegen
