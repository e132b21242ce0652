// SPDX-License-Identifier: Apache-2.0
//
// Launches that are one: pst_joined_sample in runtime/abi/kernel.h.
#pragma once

#include "codegen/cuda/Printer.h"
#include "compiler/Dialect/PipeDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <algorithm>

namespace penstock::codegen {

/// The launches of one group, after `pipe-kernel-to-gpu`.
struct JoinedLaunch {
  std::string name;                          ///< of the kernel, for cudaKernelName()
  llvm::SetVector<mlir::Operation *> bodies; ///< functions; a step says by number which one it runs
  size_t steps = 0;                          ///< launches; several may run one function
  llvm::SmallVector<size_t> inChain;         ///< of each chain; empty: there are none
  int64_t threads = 0;                       ///< of a block
  int64_t shared = 0; ///< bytes of shared memory, of the function that takes most
  int64_t heldAt = 0; ///< where in it pictures of chains lie; of `least` to `most` bytes
  int64_t least = 0, most = 0;

  size_t chains() const { return inChain.size(); }
  /// Steps of a chain with its copies: of each launch, one away before one there, or before its own
  /// result takes the place.
  size_t room() const {
    return inChain.empty() ? 0 : 3 * *std::max_element(inChain.begin(), inChain.end());
  }
};

/// How many parts a launch makes, one in each chain of its group: 0 unless its function has one.
int64_t partsOf(pipe::LaunchOp launch, mlir::func::FuncOp function);

/// By their groups, from 0 on in the order of the module. Emits an error and fails where a group
/// cannot be one launch.
mlir::FailureOr<llvm::MapVector<int64_t, JoinedLaunch>> joinedLaunches(mlir::ModuleOp module);

/// Prints the kernel that runs the steps of each sample.
void printJoined(llvm::raw_ostream &os, const JoinedLaunch &launch,
                 const CudaPrinterOptions &options);

} // namespace penstock::codegen
