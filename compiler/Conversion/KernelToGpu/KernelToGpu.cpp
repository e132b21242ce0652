// SPDX-License-Identifier: Apache-2.0
//
// Kernels of pixels become what threads do.
#include "compiler/Conversion/KernelToGpu/GpuKernel.h"
#include "compiler/Conversion/Passes.h"
#include "compiler/Conversion/PlanNotes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock::conversion {
#define GEN_PASS_DEF_KERNELTOGPU
#include "compiler/Conversion/Passes.h.inc"
} // namespace penstock::conversion

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Returns whether a schedule has put this kernel on the GPU.
static DictionaryAttr gpuSchedule(KernelOp kernel) {
  auto schedule = kernel.getScheduleAttr();
  return schedule && schedule.contains("threads") ? schedule : DictionaryAttr();
}

namespace {
struct KernelToGpuPass : penstock::conversion::impl::KernelToGpuBase<KernelToGpuPass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    // Ids of checks count over all kernels, as on the CPU.
    int64_t nextCheck = 1;
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      DictionaryAttr schedule = gpuSchedule(kernel);
      if (!schedule) {
        kernel.walk([&](CheckOp) { ++nextCheck; });
        continue;
      }
      builder.setInsertionPoint(kernel);
      auto function = builder.create<func::FuncOp>(kernel.getLoc(), kernel.getSymName(),
                                                   builder.getFunctionType({}, {}));
      keepForPlan(kernel, function);
      if (failed(emitGpuKernel(kernel, function, nextCheck)))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
