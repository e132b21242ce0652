// SPDX-License-Identifier: Apache-2.0
//
// Every kernel becomes a function.
#include "compiler/Conversion/KernelToLoops/KernelBody.h"
#include "compiler/Conversion/Passes.h"
#include "compiler/Conversion/PlanNotes.h"
#include "compiler/Dialect/UserPlaces.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace penstock::conversion {
#define GEN_PASS_DEF_KERNELTOLOOPS
#include "compiler/Conversion/Passes.h.inc"
} // namespace penstock::conversion

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// A function without code: the plan has a step of the runtime for its launches.
static void declareCodec(KernelOp kernel, func::FuncOp function) {
  Builder builder(kernel.getContext());
  function.setPrivate();
  setKind(function, kernel.getKindAttr());
  Operation *op = codecOf(kernel);
  auto encode = llvm::dyn_cast<EncodeOp>(op);
  CodecCall call{builder.getStringAttr(encode ? stringifyCodec(encode.getFormat()) : "recompress"),
                 {}};
  Value quality = encode ? encode.getQuality() : llvm::cast<RecompressOp>(op).getQuality();
  if (quality)
    call.quality = llvm::count_if(
        kernel.getBody().getArguments().take_front(
            llvm::cast<BlockArgument>(quality).getArgNumber()),
        [](BlockArgument other) { return !llvm::isa<NamedTensorType>(other.getType()); });
  setCodecCall(function, call);
}

namespace {
struct KernelToLoopsPass : penstock::conversion::impl::KernelToLoopsBase<KernelToLoopsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder(&getContext());
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    auto type = builder.getFunctionType({pointer}, {builder.getI32Type()});
    // Ids of checks: 1 and up, in the order in which they stand in the module.
    int64_t nextCheck = 1;
    for (Operation &op : llvm::make_early_inc_range(module.getOps())) {
      auto kernel = llvm::dyn_cast<KernelOp>(op);
      if (!kernel) {
        nextCheck += checkCount(&op); // of a GPU's kernel
        continue;
      }
      builder.setInsertionPoint(kernel);
      auto function = builder.create<func::FuncOp>(kernel.getLoc(), kernel.getSymName(), type);
      if (kernel.getKind() == "codec") {
        declareCodec(kernel, function);
        kernel.erase();
        continue;
      }
      keepForPlan(kernel, function);
      if (failed(emitKernel(kernel, function, nextCheck)))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
