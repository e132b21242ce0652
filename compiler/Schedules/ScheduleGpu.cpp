//===- ScheduleGpu.cpp - blocks, passes and warps --------------------------===//
//
// Plain: right for every kernel, fast for few. Where nothing has to be complete
// before something else reads it, elements are independent, and any number of
// blocks can share a sample. Elsewhere one block does a sample in passes, since
// threads of different blocks cannot wait for each other.
//
//===----------------------------------------------------------------------===//

#include "compiler/Schedules/Passes.h"
#include "compiler/Schedules/Stored.h"
#include "compiler/Schedules/Vectors.h"

namespace penstock::schedules {
#define GEN_PASS_DEF_SCHEDULEGPU
#include "compiler/Schedules/Passes.h.inc"
} // namespace penstock::schedules

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Enough to hide latency on every architecture, small enough for any kernel's
/// registers; a multiple of 32.
static constexpr int64_t threadsPerBlock = 256;

/// Runs of fewer elements keep a thread busy, not a warp.
static constexpr int64_t warpsFrom = 64;

/// Whether each result of a reduction is worth 32 threads.
static bool takesWarps(ReduceOp op) {
  auto type = llvm::cast<NamedTensorType>(op.getValue().getType());
  int64_t count = 1;
  for (auto name : op.getOver().getAsRange<StringAttr>()) {
    const Axis &axis = type.getAxes()[type.axisIndex(name)];
    if (!axis.isStatic())
      return true;
    count *= axis.extent;
  }
  return count >= warpsFrom;
}

/// Whether something has to be complete before others read it.
static bool needsPasses(KernelOp kernel) {
  const auto found = kernel.walk([](Operation *op) {
    auto isTensor = [](Value value) { return llvm::isa<NamedTensorType>(value.getType()); };
    if (llvm::none_of(op->getResults(), isTensor))
      return WalkResult::advance();
    if (formOf(op) == KernelForm::passes ||
        op->getAttr("schedule") == StringAttr::get(op->getContext(), "scratch"))
      return WalkResult::interrupt();
    const bool isWhole = formOf(op) == KernelForm::whole &&
                         op->getAttr("schedule") != StringAttr::get(op->getContext(), "inline");
    const bool isOutput = isWhole && op->hasOneUse() && llvm::isa<ReturnOp>(*op->user_begin());
    return isWhole && !isOutput ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found.wasInterrupted();
}

namespace {
struct ScheduleGpuPass : penstock::schedules::impl::ScheduleGpuBase<ScheduleGpuPass> {
  using ScheduleGpuBase::ScheduleGpuBase;
  void runOnOperation() override {
    Builder builder(&getContext());
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      // The host makes tables, in f64, also for pixels elsewhere.
      if (kernel.getSchedule() || kernel.getKind() != "pixels" || kernel->hasAttr("weights") ||
          (placed && !kernel->hasAttr("place")))
        continue;
      forEachStored(kernel, /*pixelsTogether=*/false, [&](Operation &op) {
        op.setAttr("schedule", builder.getStringAttr("scratch"));
        addRemark(
            &op, "schedule-gpu",
            "is computed once and stored in scratch memory: its elements are read more than once");
      });
      forEachInline(kernel, /*pixelsTogether=*/false, [&](Operation &op) {
        op.setAttr("schedule", builder.getStringAttr("inline"));
        addRemark(
            &op, "schedule-gpu",
            "is computed where it is read: it takes few elements, and each result is read once");
      });
      kernel.walk([&](ReduceOp op) {
        if (!op->hasAttr("schedule"))
          op->setAttr("schedule", builder.getStringAttr(takesWarps(op) ? "warps" : "threads"));
      });
      chooseVectors(kernel);
      const bool inPasses = needsPasses(kernel);
      addRemark(
          kernel, "schedule-gpu",
          inPasses
              ? "one block does a sample in passes: something is complete before others read it"
              : "its elements are spread over any number of blocks");
      kernel.setScheduleAttr(builder.getDictionaryAttr(
          {builder.getNamedAttr("mapping", builder.getStringAttr(inPasses ? "block" : "grid")),
           builder.getNamedAttr("threads", builder.getI64IntegerAttr(threadsPerBlock))}));
    }
  }
};
} // namespace
