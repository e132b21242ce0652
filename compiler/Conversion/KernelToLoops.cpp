//===- KernelToLoops.cpp - every kernel becomes a function -----------------===//

#include "compiler/Conversion/KernelEmitter.h"
#include "compiler/Conversion/Passes.h"
#include "compiler/Dialect/UserPlaces.h"
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

/// What the plan wants to know of a kernel and cannot see in loops: its kind, the
/// draws that it leaves in slots, and its checks in the order of their ids.
static void keepForPlan(KernelOp kernel, func::FuncOp function) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> draws, checks;
  kernel.walk([&](SetSlotOp op) {
    if (auto path = op->getAttrOfType<StringAttr>("draw"))
      draws.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("path", path),
           builder.getNamedAttr("slot", op.getIndexAttr()),
           builder.getNamedAttr("type", TypeAttr::get(op.getValue().getType()))}));
  });
  kernel.walk([&](CheckOp op) {
    const FileLineColLoc place = userPlaceOf(op.getLoc());
    checks.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("message", op.getMessageAttr()),
         builder.getNamedAttr("file", builder.getStringAttr(place ? place.getFilename().strref() : "")),
         builder.getNamedAttr("line", builder.getI64IntegerAttr(place ? place.getLine() : 0)),
         builder.getNamedAttr("column", builder.getI64IntegerAttr(place ? place.getColumn() : 0))}));
  });
  function->setAttr("pipe.kind", kernel.getKindAttr());
  if (!draws.empty())
    function->setAttr("pipe.draws", builder.getArrayAttr(draws));
  if (!checks.empty())
    function->setAttr("pipe.checks", builder.getArrayAttr(checks));
}

/// A function without code: the plan has a step of the runtime for its launches.
/// `pipe.quality` is the place of the quality among their scalars.
static void declareCodec(KernelOp kernel, func::FuncOp function) {
  Builder builder(kernel.getContext());
  function.setPrivate();
  function->setAttr("pipe.kind", kernel.getKindAttr());
  Operation *op = codecOf(kernel);
  auto encode = llvm::dyn_cast<EncodeOp>(op);
  function->setAttr("pipe.codec",
                    builder.getStringAttr(encode ? stringifyCodec(encode.getFormat()) : "recompress"));
  Value quality = encode ? encode.getQuality() : llvm::cast<RecompressOp>(op).getQuality();
  if (!quality)
    return;
  int64_t place = 0;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    if (argument == quality)
      break;
    place += !llvm::isa<NamedTensorType>(argument.getType());
  }
  function->setAttr("pipe.quality", builder.getI64IntegerAttr(place));
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
    for (KernelOp kernel : llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      builder.setInsertionPoint(kernel);
      auto function = builder.create<func::FuncOp>(kernel.getLoc(), kernel.getSymName(), type);
      if (kernel.getKind() == "codec") {
        declareCodec(kernel, function);
        kernel.erase();
        continue;
      }
      keepForPlan(kernel, function);
      if (failed(KernelEmitter(kernel, function, nextCheck).run()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
