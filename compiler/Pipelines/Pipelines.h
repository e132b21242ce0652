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
  /// Some kernels will run on a GPU.
  bool device = false;
  static PassSelection ofDevice() {
    PassSelection all;
    all.device = true;
    return all;
  }
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
