// SPDX-License-Identifier: Apache-2.0
//
// The pass pipelines from pipe to kernels.
#pragma once

#include "mlir/Pass/PassManager.h"
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::pipelines {

/// The stages that `--emit` prints and `--from` reads (docs/rationale/ir.md).
enum class Stage { pipe, pipeOpt, kernels, schedule, loops, llvm, assembly, object };

/// An optimising pass: it changes no bit and can be left out.
struct OptimisingPass {
  /// As in `--disable-pass=NAME`.
  std::string_view name;
  /// The measure that gets worse without it.
  std::string_view measure;
};
const std::vector<OptimisingPass> &optimisingPasses();

/// The optimising passes that run.
struct PassSelection {
  std::set<std::string, std::less<>> disabled;
  /// The level at which values cross to a GPU (compiler/Analysis/TransferFrontier.h).
  std::string transfer = "pixels";
  /// Some kernels will run on a GPU, and its blocks may have so many bytes of shared memory.
  bool device = false;
  int64_t shared = 0;
  /// All passes, for such GPUs ("sm_90").
  static PassSelection ofDevice(const std::vector<std::string> &gpus);
  bool runs(std::string_view name) const { return !disabled.contains(name); }
};

/// pipe -> pipe-opt.
void buildOptPipeline(mlir::OpPassManager &manager, const PassSelection &selection);
/// pipe-opt -> kernels.
void buildKernelsPipeline(mlir::OpPassManager &manager, const PassSelection &selection);

/// Makes `--penstock-opt-pipeline` and `--penstock-kernels-pipeline` known to
/// penstock-opt, with the option `disable=a,b`.
void registerPipelines();

} // namespace penstock::pipelines
