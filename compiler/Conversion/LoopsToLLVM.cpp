// SPDX-License-Identifier: Apache-2.0
//
// Upstream's conversions, in one pass.
#include "compiler/Conversion/KernelContract.h"
#include "compiler/Conversion/LaneToLLVM/LaneToLLVM.h"
#include "compiler/Conversion/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Rewrite/PatternApplicator.h"
#include "runtime/abi/kernel.h"

namespace penstock::conversion {
#define GEN_PASS_DEF_LOOPSTOLLVM
#include "compiler/Conversion/Passes.h.inc"
} // namespace penstock::conversion

using namespace mlir;

/// The flag is read anew each time, and where it is set the function ends.
struct LeaveAtPoint : OpConversionPattern<penstock::pipe::CancellationPointOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(penstock::pipe::CancellationPointOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto function = llvm::dyn_cast<LLVM::LLVMFuncOp>(op->getParentOp());
    if (!function)
      return rewriter.notifyMatchFailure(op, "still inside a loop");
    const Location loc = op.getLoc();
    Block *here = op->getBlock(), *rest = rewriter.splitBlock(here, op->getIterator());
    Block *leave = rewriter.createBlock(&function.getBody(), function.getBody().end());
    Type result = function.getFunctionType().getReturnType();
    Value status;
    if (!llvm::isa<LLVM::LLVMVoidType>(result))
      status = rewriter.create<LLVM::ConstantOp>(loc, result, PST_KERNEL_STOPPED);
    rewriter.create<LLVM::ReturnOp>(loc, status ? ValueRange(status) : ValueRange());
    rewriter.setInsertionPointToEnd(here);
    Type byte = rewriter.getI8Type();
    Value stop = rewriter.create<LLVM::LoadOp>(loc, byte, adaptor.getFlag(), /*alignment=*/1,
                                               /*isVolatile=*/true);
    Value zero = rewriter.create<LLVM::ConstantOp>(loc, byte, 0);
    Value stopped = rewriter.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::ne, stop, zero);
    rewriter.create<LLVM::CondBrOp>(loc, stopped, leave, rest);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Operations of code over a sample's numbers, above which it is compiled as it stands:
/// it runs once for each sample, and making it fast would take seconds.
static constexpr int64_t mostTuned = 5'000;

/// For LLVM, which knows no kinds of kernels.
static void leaveLargeSetupsPlain(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    StringAttr kind = penstock::conversion::kindOf(function);
    if (!kind || kind == "pixels" || function.isExternal())
      continue;
    int64_t count = 0;
    function.walk([&](Operation *) { ++count; });
    if (count > mostTuned) {
      Builder b(module.getContext());
      function->setAttr("passthrough", b.getStrArrayAttr({"noinline", "optnone"}));
    }
  }
}

/// LLVM compares halves where both sides are extended ones, or a constant that is a half, and no
/// processor of ours can: it does so one by one. What stands behind a fence is no extension.
static void compareHalvesAsFloats(ModuleOp module) {
  module.walk([](arith::CmpFOp compare) {
    auto isHalf = [](Value value) {
      auto extended = value.getDefiningOp<arith::ExtFOp>();
      return extended && getElementTypeOrSelf(extended.getIn()).isF16();
    };
    for (OpOperand &side : compare->getOpOperands()) {
      if (!isHalf(side.get()))
        continue;
      OpBuilder b(compare);
      side.set(b.create<LLVM::CallIntrinsicOp>(compare.getLoc(), side.get().getType(),
                                               b.getStringAttr("llvm.arithmetic.fence"), side.get())
                   .getResult(0));
      return;
    }
  });
}

/// Makes branches of loops and conditions, the last of a block first: each splits its block, so
/// that what follows moves. In the order of the text, and noted for an undo, as conversions are,
/// thousands of loops in a row are quadratic.
static void branchesFromLoops(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet set(context);
  populateSCFToControlFlowConversionPatterns(set);
  const FrozenRewritePatternSet patterns(std::move(set));
  PatternApplicator applicator(patterns);
  applicator.applyDefaultCostModel();
  SmallVector<Operation *> structured;
  module.walk<WalkOrder::PreOrder, ReverseIterator>([&](Operation *op) {
    // Upstream's pattern for these reads an op that it has replaced: the conversion keeps that.
    if (llvm::isa<scf::WhileOp>(op))
      return WalkResult::skip();
    if (llvm::isa<scf::ForOp, scf::IfOp>(op))
      structured.push_back(op);
    return WalkResult::advance();
  });
  PatternRewriter rewriter(context);
  for (Operation *op : structured) { // outer ones first, whose regions are one block then
    rewriter.setInsertionPoint(op);
    (void)applicator.matchAndRewrite(op, rewriter); // else the conversion says why
  }
}

namespace {
struct LoopsToLLVMPass : penstock::conversion::impl::LoopsToLLVMBase<LoopsToLLVMPass> {
  using LoopsToLLVMBase::LoopsToLLVMBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto pipeline : llvm::make_early_inc_range(module.getOps<penstock::pipe::PipelineOp>()))
      pipeline.erase(); // the plan has what it says
    leaveLargeSetupsPlain(module);
    compareHalvesAsFloats(module);
    branchesFromLoops(module);
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp>();
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
    patterns.add<LeaveAtPoint>(&getContext());
    penstock::conversion::populateLaneToLLVMPatterns(patterns, level);
    populateSCFToControlFlowConversionPatterns(patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
