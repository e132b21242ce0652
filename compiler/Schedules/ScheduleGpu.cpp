// SPDX-License-Identifier: Apache-2.0
//
// Blocks, passes and warps.
//
// Where nothing has to be complete before something else reads it, elements are
// independent, and any number of blocks can share a sample. Where what has to be are rows of
// which a tile of the outputs reads few, a block makes these for itself (Tiles.cpp). Elsewhere one
// block does a sample in passes, since threads of different blocks cannot wait for each other.
//
// 256 threads hide latency on every architecture, and leave any kernel enough registers. Every
// GPU gives a block 48 KiB of shared memory without being asked. Tiles of 16 rows make few
// rows twice, and are enough for all of a GPU.
#include "compiler/Schedules/Passes.h"
#include "compiler/Schedules/Stored.h"
#include "compiler/Schedules/Tiles.h"
#include "compiler/Schedules/Vectors.h"

namespace penstock::schedules {
#define GEN_PASS_DEF_SCHEDULEGPU
#include "compiler/Schedules/Passes.h.inc"
} // namespace penstock::schedules

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Runs of fewer elements keep a thread busy, not a warp.
static constexpr int64_t warpsFrom = 64;

/// Returns whether each result of a reduction is worth 32 threads.
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

/// Returns whether something has to be complete before others read it.
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
          isOfHost(kernel) || (placed && !kernel->hasAttr("place")))
        continue;
      forEachStored(kernel, /*pixelsTogether=*/false, [&](Operation &op) {
        op.setAttr("schedule", builder.getStringAttr("scratch"));
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
      const bool inPasses = needsPasses(kernel);
      chooseVectors(kernel, inPasses);
      SmallVector<NamedAttribute> schedule;
      auto add = [&](StringRef name, Attribute value) {
        schedule.push_back(builder.getNamedAttr(name, value));
      };
      if (DictionaryAttr tile = chooseTile(kernel, {shared, tileRows, tileAll})) {
        add("mapping", builder.getStringAttr("tile"));
        llvm::append_range(schedule, tile);
        addRemark(
            kernel, "schedule-gpu",
            "a block makes some rows: those of what is stored that they read fit shared memory");
      } else {
        add("mapping", builder.getStringAttr(inPasses ? "block" : "grid"));
        addRemark(
            kernel, "schedule-gpu",
            inPasses
                ? "one block does a sample in passes: something is complete before others read it"
                : "its elements are spread over any number of blocks");
      }
      add("threads", builder.getI64IntegerAttr(threads));
      kernel.walk([&](Operation *op) {
        if (op->getAttr("schedule") == builder.getStringAttr("scratch"))
          addRemark(op, "schedule-gpu",
                    "is computed once and stored in scratch memory: its elements are read more "
                    "than once");
        if (op->getAttr("schedule") == builder.getStringAttr("shared"))
          addRemark(op, "schedule-gpu",
                    "rows of it are stored in shared memory, for the tile that reads them: its "
                    "elements are read more than once");
      });
      kernel.setScheduleAttr(builder.getDictionaryAttr(schedule));
    }
  }
};
} // namespace
