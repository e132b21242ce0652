//===- VerifyKernels.cpp - pipe-verify-kernels ----------------------------===//

#include "compiler/Analysis/OpClass.h"
#include "compiler/Transforms/Passes.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;

static LogicalResult verifyLaunch(LaunchOp launch, const SymbolTable &symbols) {
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  if (!kernel)
    return launch.emitError() << "launches `" << launch.getKernel() << "`, which is no kernel";
  SmallVector<Type> given(launch.getTensors().getTypes());
  llvm::append_range(given, launch.getScalars().getTypes());
  if (!llvm::equal(given, kernel.getBody().getArgumentTypes()))
    return launch.emitError() << "gives other arguments than `" << launch.getKernel() << "` takes";
  if (!llvm::equal(launch.getResultTypes(), kernel.getBody().front().back().getOperandTypes()))
    return launch.emitError() << "has other results than `" << launch.getKernel() << "` returns";
  return success();
}

static LogicalResult verifyInPipeline(Operation *op, int64_t slots, const SymbolTable &symbols) {
  if (auto launch = llvm::dyn_cast<LaunchOp>(op))
    if (failed(verifyLaunch(launch, symbols)))
      return failure();
  if (auto slot = llvm::dyn_cast<SlotOp>(op))
    return static_cast<int64_t>(slot.getIndex()) < slots
               ? success()
               : op->emitError("reads a slot beyond the parameter block");
  if (llvm::isa<ParamOp, FieldOp, FieldExtentOp, ProbeOp, SetSlotOp, SourceOp, ConstantOp>(op))
    return success();
  if (!llvm::isa<RowOp, AdmitOp, PickOp, DecodeOp, LaunchOp, SwitchOp, PeerOp, BatchOp,
                 OutputOp>(op))
    return op->emitError("is left in the pipeline after the split");
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    const bool constantSize = llvm::isa<BatchOp>(op) && llvm::isa_and_nonnull<ConstantOp>(producer);
    if (isScalarType(operand.getType()) && !constantSize &&
        !llvm::isa_and_nonnull<SlotOp>(producer))
      return op->emitError("reads a scalar that is not a slot");
  }
  return success();
}

static LogicalResult verifyInKernel(Operation *op) {
  if (llvm::isa<DecodeOp, EncodeOp, RecompressOp, FieldOp, ProbeOp, ParamOp, RowOp, PickOp, PeerOp, KeyOp,
                ContextOp, CheckOp, SlotOp, SetSlotOp, LaunchOp, SwitchOp, EachOp>(op))
    return op->emitError("stands in a kernel of pixels");
  return success();
}

namespace {
struct VerifyKernelsPass : penstock::transforms::impl::VerifyKernelsBase<VerifyKernelsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    LogicalResult result = success();
    auto check = [&](LogicalResult found) {
      if (failed(found))
        result = failure();
    };
    for (auto pipeline : getOperation().getOps<PipelineOp>()) {
      if (!pipeline.getSlots()) {
        check(pipeline.emitError("has not been split"));
        continue;
      }
      pipeline.walk([&](Operation *op) {
        if (op != pipeline)
          check(verifyInPipeline(op, static_cast<int64_t>(*pipeline.getSlots()), symbols));
      });
    }
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (kernel.getKind() == "pixels")
        kernel.getBody().walk([&](Operation *op) { check(verifyInKernel(op)); });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
