//===- LoopsToLLVM.cpp - upstream's conversions, in one pass ---------------===//

#include "compiler/Conversion/Passes.h"
#include "compiler/Dialect/PipeDialect.h"
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

namespace penstock::conversion {
#define GEN_PASS_DEF_LOOPSTOLLVM
#include "compiler/Conversion/Passes.h.inc"
} // namespace penstock::conversion

using namespace mlir;

namespace {
struct LoopsToLLVMPass : penstock::conversion::impl::LoopsToLLVMBase<LoopsToLLVMPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto pipeline :
         llvm::make_early_inc_range(module.getOps<penstock::pipe::PipelineOp>()))
      pipeline.erase(); // the plan has what it says
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp>();
    LLVMTypeConverter converter(&getContext());
    RewritePatternSet patterns(&getContext());
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
