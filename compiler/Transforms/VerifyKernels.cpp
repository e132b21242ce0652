// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-verify-kernels.
#include "compiler/Transforms/Passes.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;

/// 8 MiB of numbers for one sample.
static constexpr int64_t mostSlots = 1 << 20;

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

/// Code writes and reads slots by their numbers alone.
static LogicalResult verifySlot(Operation *op, int64_t slots) {
  auto read = llvm::dyn_cast<EntryOp>(op);
  auto written = llvm::dyn_cast<SetEntryOp>(op);
  const auto index = static_cast<int64_t>(read      ? read.getIndex()
                                          : written ? written.getIndex()
                                                    : 0);
  if (index < 0 || index >= slots)
    return op->emitError() << (read ? "reads" : "writes") << " a slot beyond the parameter block";
  return success();
}

/// Verifies that values which the plan looks up by their definitions have the ones it needs.
static LogicalResult verifyDefinitions(Operation *op) {
  if (auto param = llvm::dyn_cast<ParamOp>(op);
      param && !isScalarType(param.getType()) && !llvm::isa<TextType>(param.getType()))
    return op->emitError() << "is a parameter of type " << param.getType()
                           << "; parameters are numbers and texts";
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (llvm::isa<TableType>(operand.getType()) && !llvm::isa_and_nonnull<SourceOp>(producer))
      return op->emitError("reads a table that is no source");
    if (llvm::isa<RowType>(operand.getType()) && !llvm::isa_and_nonnull<RowOp, PickOp>(producer))
      return op->emitError("reads a row of no table");
    if (llvm::isa<BytesType>(operand.getType()) && !llvm::isa_and_nonnull<FieldOp>(producer))
      return op->emitError("decodes bytes that do not come from a row");
  }
  return success();
}

/// The runtime reads all samples' values where one kernel has written them side by side.
static LogicalResult verifyPeers(PeersOp peers) {
  auto made = peers.getValue().getDefiningOp<LaunchOp>();
  if (!made || made.getOnce())
    return peers.emitError("reads a value of every sample that no kernel makes for each of them");
  if (llvm::any_of(peers.getValue().getUsers(),
                   [](Operation *user) { return llvm::isa<OutputOp>(user); }))
    return peers.emitError("reads a value of every sample that is stored as an output");
  return success();
}

static LogicalResult verifyInPipeline(Operation *op, int64_t slots, const SymbolTable &symbols) {
  if (failed(verifySlot(op, slots)) || failed(verifyDefinitions(op)))
    return failure();
  if (auto peers = llvm::dyn_cast<PeersOp>(op); peers && failed(verifyPeers(peers)))
    return failure();
  if (auto launch = llvm::dyn_cast<LaunchOp>(op))
    if (failed(verifyLaunch(launch, symbols)))
      return failure();
  if (auto chosen = llvm::dyn_cast<SwitchOp>(op))
    for (Value input : chosen.getInputs())
      if (input.getType() != chosen.getType()) // C1
        return op->emitError() << "gives " << input.getType() << " as " << chosen.getType();
  if (llvm::isa<EntryOp, ParamOp, FieldOp, FieldExtentOp, ProbeOp, LengthOp, RowIndexOp, SetEntryOp,
                SourceOp, ConstantOp>(op))
    return success();
  if (!llvm::isa<RowOp, AdmitOp, PickOp, FieldsOp, DecodeOp, LaunchOp, SwitchOp, PeerOp, PeersOp,
                 BatchOp, OutputOp>(op))
    return op->emitError("is left in the pipeline after the split");
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    const bool constantSize = llvm::isa<BatchOp>(op) && llvm::isa_and_nonnull<ConstantOp>(producer);
    if (isScalarType(operand.getType()) && !constantSize &&
        !llvm::isa_and_nonnull<EntryOp>(producer))
      return op->emitError("reads a scalar that is not a slot");
  }
  return success();
}

static LogicalResult verifyInKernel(Operation *op) {
  if (llvm::isa<DecodeOp, EncodeOp, RecompressOp, FieldOp, ProbeOp, ParamOp, RowOp, PickOp, PeerOp,
                PeersOp, KeyOp, ContextOp, CheckOp, EntryOp, SetEntryOp, LaunchOp, SwitchOp,
                EachOp>(op))
    return op->emitError("stands in a kernel of pixels");
  return success();
}

/// Setup and its like have scalars alone, and no memory but the parameter block, constants and
/// fields of rows, which they load elements of.
static LogicalResult verifyInSetup(Operation *op, int64_t slots) {
  auto isTensor = [](Type type) { return llvm::isa<NamedTensorType>(type); };
  auto load = llvm::dyn_cast<LoadOp>(op);
  const bool isInMemory = load && (llvm::isa<BlockArgument>(load.getTensor()) ||
                                   load.getTensor().getDefiningOp<ConstantOp>());
  if (!isInMemory && !llvm::isa<ConstantOp>(op) &&
      (llvm::any_of(op->getOperandTypes(), isTensor) ||
       llvm::any_of(op->getResultTypes(), isTensor)))
    return op->emitError("computes a tensor outside of the kernels of pixels");
  return verifySlot(op, slots);
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
    int64_t slots = 0;
    for (auto pipeline : getOperation().getOps<PipelineOp>()) {
      if (!pipeline.getSlots()) {
        check(pipeline.emitError("has not been split"));
        continue;
      }
      slots = static_cast<int64_t>(*pipeline.getSlots());
      if (slots < 0 || slots > mostSlots)
        check(pipeline.emitError() << "has a parameter block of " << slots << " slots; at most "
                                   << mostSlots << " make sense");
      pipeline.walk([&](Operation *op) {
        if (op != pipeline)
          check(verifyInPipeline(op, slots, symbols));
      });
    }
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (kernel.getKind() == "pixels")
        kernel.getBody().walk([&](Operation *op) { check(verifyInKernel(op)); });
      else if (kernel.getKind() != "codec")
        kernel.getBody().walk([&](Operation *op) { check(verifyInSetup(op, slots)); });
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
