// SPDX-License-Identifier: Apache-2.0
//
// Blocks, passes and warps.
//
// Where nothing has to be complete before something else reads it, elements are
// independent, and any number of blocks can share a sample. Where what has to be are rows of
// which a tile of the outputs reads few, a block makes these for itself (Tiles.cpp). Elsewhere one
// block does a sample in passes, since threads of different blocks cannot wait for each other.
//
// 256 threads hide latency on every architecture, and leave any kernel enough registers; somewhat
// fewer where each has a column of a first pass, so that none is without one. Every
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

/// Runs of fewer elements keep a thread busy, not a warp; and a warp, not a block.
static constexpr int64_t warpsFrom = 64, blocksFrom = 2048;
/// What a multiprocessor of today has; of shared memory, each block takes some bytes more.
static constexpr int64_t multiprocessorBytes = 228 << 10, reservedBytes = 1024,
                         multiprocessorRegisters = 65536;
/// More results keep the warps of a block busy.
static constexpr int64_t resultsForBlocks = 8;

/// Whoever makes a result: the elements of all lanes have one order where floats are added up.
static StringRef workersOf(ReduceOp op) {
  auto type = llvm::cast<NamedTensorType>(op.getValue().getType());
  int64_t count = 1, results = 1;
  for (const Axis &axis : type.getAxes()) {
    const bool isReduced =
        llvm::is_contained(op.getOver().getAsValueRange<StringAttr>(), StringRef(axis.name));
    int64_t &extents = isReduced ? count : results;
    // Whoever writes a loop over what only a sample knows expects many.
    extents = std::min(extents * (axis.isStatic() ? axis.extent : blocksFrom), blocksFrom);
  }
  const bool hasOrder =
      llvm::is_contained({ReduceKind::argmin, ReduceKind::argmax}, op.getKind()) ||
      (op.getKind() == ReduceKind::sum && llvm::isa<FloatType>(type.getElementType()));
  const bool isBit = type.getElementType().isInteger(1) && op.getKind() != ReduceKind::count;
  if (count >= blocksFrom && results <= resultsForBlocks && !hasOrder && !isBit)
    return "block";
  return count >= warpsFrom ? "warps" : "threads";
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

/// Columns of what a tile stores of its first pass, of which a thread has one (GpuColumns.cpp); 0:
/// it has none.
static int64_t columnsOf(KernelOp kernel) {
  int64_t columns = 0;
  kernel.walk([&](ResampleOp op) {
    NamedTensorType type = tensorOf(op.getResult());
    const Axis &axis = type.getAxes()[type.axisIndex(op.getAxis())];
    if (op->getAttr("schedule") == StringAttr::get(op.getContext(), "shared") &&
        op.getNumerics() == Numerics::pillow && axis.isStatic())
      columns = std::max(columns, axis.extent);
  });
  return columns;
}

/// So many threads, at most `most` and at least half of them, that fewest are without a column.
static int64_t threadsFor(int64_t columns, int64_t most) {
  auto inPasses = [&](int64_t threads) { // threads that take part in all passes, for each column
    const int64_t passes = llvm::divideCeil(columns, threads), rows = threads / columns;
    return rows > 1 ? static_cast<double>(threads) / static_cast<double>(rows)
                    : static_cast<double>(passes * threads);
  };
  constexpr int64_t warp = 32;
  int64_t best = most;
  for (int64_t threads = most - warp; threads >= most / 2; threads -= warp)
    if (columns > 0 && inPasses(threads) < inPasses(best))
      best = threads;
  return best;
}

/// Registers that a thread which has a column makes do with: ptxas spills none, and left alone
/// takes twice as many, or spills some for one block more.
static int64_t registersOf(KernelOp kernel, DictionaryAttr tile) {
  int64_t stored = 0;
  kernel.walk([&](Operation *op) {
    stored += op->getAttr("schedule") == StringAttr::get(op->getContext(), "shared");
  });
  const auto pictures = llvm::count_if(kernel.getBody().getArgumentTypes(), [](Type type) {
    auto tensor = llvm::dyn_cast<NamedTensorType>(type);
    return tensor && isUnsigned(tensor.getElementType()) && tensor.getElementType().isInteger(8);
  });
  if (pictures > 1)
    return 112;
  if (stored > 1)
    return 72;
  const bool isOfRows = tile.getAs<DictionaryAttr>("tile").size() == 1 &&
                        kernel.getBody().front().getTerminator()->getNumOperands() == 1;
  return isOfRows ? 56 : 80;
}

/// Of those that shared memory has room for, as many blocks as leave each thread its registers.
static int64_t residentBlocks(KernelOp kernel, DictionaryAttr tile, int64_t threads,
                              int64_t shared) {
  return std::max<int64_t>(
      1, std::min(multiprocessorBytes / (shared + reservedBytes),
                  multiprocessorRegisters / (threads * registersOf(kernel, tile))));
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
          op->setAttr("schedule", builder.getStringAttr(workersOf(op)));
      });
      const bool inPasses = needsPasses(kernel);
      chooseVectors(kernel, inPasses, stripTurns);
      SmallVector<NamedAttribute> schedule;
      int64_t ofBlock = threads;
      auto add = [&](StringRef name, Attribute value) {
        schedule.push_back(builder.getNamedAttr(name, value));
      };
      if (DictionaryAttr tile = chooseTile(kernel, {shared, tileRows, tileAll})) {
        add("mapping", builder.getStringAttr("tile"));
        const int64_t columns = columnsOf(kernel);
        ofBlock = threadsFor(columns, threads);
        if (columns > 0)
          add("resident", builder.getI64IntegerAttr(residentBlocks(kernel, tile, ofBlock, shared)));
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
      add("threads", builder.getI64IntegerAttr(ofBlock));
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
