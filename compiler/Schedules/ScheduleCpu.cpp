// SPDX-License-Identifier: Apache-2.0
//
// How wide lanes are, rings, streaming.
#include "compiler/Dialect/RowStreams.h"
#include "compiler/Lane/Features.h"
#include "compiler/Schedules/Concats.h"
#include "compiler/Schedules/ConvertInputs.h"
#include "compiler/Schedules/GatherPlaces.h"
#include "compiler/Schedules/LoopPlan.h"
#include "compiler/Schedules/MovedValues.h"
#include "compiler/Schedules/Passes.h"
#include "compiler/Schedules/ReductionPlan.h"
#include "compiler/Schedules/Rereads.h"
#include "compiler/Schedules/RowTiles.h"
#include "compiler/Schedules/SeparateReductions.h"
#include "compiler/Schedules/SeparateWindows.h"
#include "compiler/Schedules/SharedTerms.h"
#include "compiler/Schedules/SplitAxes.h"
#include "compiler/Schedules/SplitPads.h"
#include "compiler/Schedules/Stored.h"
#include "compiler/Schedules/TransposeInputs.h"
#include "compiler/Schedules/WindowPlaces.h"
#include "compiler/Schedules/WindowSpans.h"

namespace penstock::schedules {
#define GEN_PASS_DEF_SCHEDULECPU
#include "compiler/Schedules/Passes.h.inc"
} // namespace penstock::schedules

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Returns whether a vertical pass alone reads `op`, and both can go row by row.
static bool streamsRows(ResampleOp op) {
  auto vertical = op->hasOneUse() ? llvm::dyn_cast<ResampleOp>(*op->user_begin()) : ResampleOp();
  return vertical && vertical.getInput() == op.getResult() && canStreamRows(op) &&
         canReadRows(vertical);
}

/// A number that is a constant, or the default of a run-time parameter.
static std::optional<int64_t> usualValue(PipelineOp pipeline, Value value) {
  Operation *op = value.getDefiningOp();
  Attribute number;
  if (auto constant = llvm::dyn_cast_if_present<ConstantOp>(op))
    number = constant.getValue();
  if (auto parameter = llvm::dyn_cast_if_present<ParamOp>(op))
    number = parameter.getDefaultValueAttr();
  if (auto slot = llvm::dyn_cast_if_present<EntryOp>(op))
    for (auto set : pipeline.getBody().getOps<SetEntryOp>())
      if (set.getIndex() == slot.getIndex())
        return usualValue(pipeline, set.getValue());
  if (auto integer = llvm::dyn_cast_if_present<IntegerAttr>(number))
    return integer.getInt();
  return std::nullopt;
}

/// Bytes of a batch of `value`, if outputs of the batch are all that reads it.
static std::optional<int64_t> batchBytes(PipelineOp pipeline, Value value) {
  auto type = llvm::cast<NamedTensorType>(value.getType());
  if (!type.isStatic() || value.use_empty())
    return std::nullopt;
  std::optional<int64_t> size;
  for (Operation *user : value.getUsers()) {
    auto batch = llvm::dyn_cast<BatchOp>(user->getParentOp());
    if (!llvm::isa<OutputOp>(user) || !batch)
      return std::nullopt;
    size = usualValue(pipeline, batch.getSize());
  }
  if (!size)
    return std::nullopt;
  return *size * type.numElements() * scalarBytes(type.getElementType());
}

/// Returns whether floats are divided by what is no constant.
static bool divides(KernelOp kernel) {
  return kernel
      .walk([](BinaryOp op) {
        return op.getKind() == BinaryKind::div && computedIn(op.getType()).isF32() &&
                       !op.getRhs().getDefiningOp<ConstantOp>()
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Batches from this size on are streamed to memory. At least two are in flight:
/// together they leave the caches that a core can call its own. Where it was
/// measured (docs/rationale/cpu-code.md), cached stores lose from there on.
static constexpr int64_t streamedBatch = 2 << 20;
static constexpr int64_t lineBytes = 64;

/// Kernels that do little but move data, into batches that no cache holds.
static bool streamsOutputs(KernelOp kernel, ModuleOp module) {
  for (Operation &op : kernel.getBody().front())
    if (llvm::is_contained({OpClass::halo, OpClass::gather, OpClass::barrier}, classOf(&op)))
      return false;
  bool any = false;
  for (auto pipeline : module.getOps<PipelineOp>())
    for (auto launch : pipeline.getOps<LaunchOp>()) {
      if (launch.getKernel() != kernel.getSymName())
        continue;
      for (Value result : launch.getResults()) {
        auto bytes = batchBytes(pipeline, result);
        if (!bytes || *bytes < streamedBatch)
          return false;
        any = true;
      }
    }
  return any;
}

/// Rows of so few elements are gone through as one: longer ones fill vectors by themselves.
static constexpr int64_t mostOfShortRow = 64;

static bool isOfShortRows(NamedTensorType type) {
  if (type.getRank() < 2)
    return false;
  int64_t elements = 1;
  for (const Axis &axis : type.getAxes().drop_front()) {
    if (!axis.isStatic() || axis.extent > mostOfShortRow)
      return false;
    elements *= axis.extent;
  }
  return elements > 0 && elements <= mostOfShortRow;
}

static bool isInBatchOrder(KernelOp kernel, int64_t output) {
  auto outside = kernel->getAttrOfType<DenseI64ArrayAttr>("outside_n");
  return !outside || outside[output] == 0;
}

/// The tensors of short rows that are dense wherever the kernel is launched: columns of tables,
/// what kernels make, media without a layout of their own (Medium.h), and outputs. Rows of
/// pictures, and what is taken of other samples, may have gaps between them.
static SmallVector<int64_t> denseTensors(KernelOp kernel, ModuleOp module) {
  SmallVector<LaunchOp> launches;
  module.walk([&](LaunchOp launch) {
    if (launch.getKernel() == kernel.getSymName())
      launches.push_back(launch);
  });
  if (launches.empty())
    return {};
  auto isDenseInput = [&](Value tensor) {
    if (auto launch = tensor.getDefiningOp<LaunchOp>())
      return isInBatchOrder(module.lookupSymbol<KernelOp>(launch.getKernel()),
                            llvm::cast<OpResult>(tensor).getResultNumber());
    if (auto decode = tensor.getDefiningOp<DecodeOp>())
      return decode.getMedia() != "image" && decode.getMedia() != "video";
    return tensor.getDefiningOp<FieldOp>() != nullptr;
  };
  SmallVector<int64_t> dense;
  const int64_t inputs = inputsOf(kernel);
  for (int64_t number = 0; number < inputs; ++number) {
    const auto place = static_cast<unsigned>(number);
    if (isOfShortRows(llvm::cast<NamedTensorType>(kernel.getBody().getArgument(place).getType())) &&
        llvm::all_of(launches,
                     [&](LaunchOp launch) { return isDenseInput(launch.getTensors()[place]); }))
      dense.push_back(number);
  }
  for (auto [number, type] :
       llvm::enumerate(kernel.getBody().front().getTerminator()->getOperandTypes()))
    if (isOfShortRows(llvm::cast<NamedTensorType>(type)) &&
        isInBatchOrder(kernel, static_cast<int64_t>(number)))
      dense.push_back(inputs + static_cast<int64_t>(number));
  return dense;
}

namespace {
struct ScheduleCpuPass : penstock::schedules::impl::ScheduleCpuBase<ScheduleCpuPass> {
  using ScheduleCpuBase::ScheduleCpuBase;

  static void store(Operation &op) {
    auto resample = llvm::dyn_cast<ResampleOp>(op);
    const bool ring = resample && streamsRows(resample);
    store(op, ring ? "ring" : "scratch",
          ring ? "its rows live in a ring until the pass along the other axis has used them"
               : "is computed once and stored in scratch memory: its elements are read more than "
                 "once");
  }

  static void markInline(Operation &op) {
    store(op, "inline",
          "is computed where it is read: it takes few elements, and each result is read once");
  }

  static void store(Operation &op, StringRef where, StringRef reason) {
    op.setAttr("schedule", StringAttr::get(op.getContext(), where));
    addRemark(&op, "schedule-cpu", reason);
  }

  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      if (kernel.getKind() == "codec")
        continue;
      if (!kernel.getSchedule())
        schedule(kernel);
      // Plans what a schedule leaves open.
      auto stated = kernel.getSchedule()->getAs<IntegerAttr>("level");
      if (!kernel.getSchedule()->contains("threads"))
        planLoops(kernel, stated ? penstock::lane::featuresOf(stated.getInt())
                                 : penstock::lane::Features());
    }
  }

  void schedule(KernelOp kernel) {
    Builder builder(&getContext());
    NamedAttrList chosen;
    chosen.set("level", builder.getI64IntegerAttr(level));
    if (auto dense = denseTensors(kernel, getOperation()); !dense.empty())
      chosen.set("dense", builder.getDenseI64ArrayAttr(dense));
    kernel.setScheduleAttr(chosen.getDictionary(&getContext()));
    if (kernel.getKind() == "pixels")
      for (MapOp split : splitAxes(kernel))
        addRemark(split, "schedule-cpu",
                  "is made with an axis for each digit of its places: lanes lie side by side");
    for (WindowOp rows : separateWindows(kernel))
      addRemark(
          rows, "schedule-cpu",
          "goes along one axis, and then another window along the other: neighbours share it");
    for (Operation *spans : spanWindows(kernel))
      store(*spans, "scratch",
            "is computed once and stored in scratch memory: a wide window is reduced span by span");
    splitPlaces(kernel);
    for (ConcatOp joined : splitPads(kernel))
      addRemark(joined, "schedule-cpu", "is joined of its borders and what lies between them");
    for (ReduceOp rows : separateReductions(kernel)) {
      addRemark(rows, "schedule-cpu",
                "is computed first, for whole columns: pieces side by side share it");
      // Conversion stores it as a whole where it is not read row by row.
      rows->setAttr("schedule", builder.getStringAttr("ring"));
    }
    for (ViewOp copy : transposeInputs(kernel))
      store(*copy, "scratch",
            "is computed once and stored in scratch memory: a map reads it many times, across "
            "its rows");
    for (MapOp converted : convertInputs(kernel))
      store(*converted, "scratch",
            "is computed once and stored in scratch memory: a window takes many neighbours of "
            "each element so");
    for (ConcatOp joined : concatsAlongLanes(kernel))
      store(*joined, "scratch",
            "is computed once and stored in scratch memory, part by part: a vector would hold "
            "elements of two parts");
    for (const MovedValue &moved : movedValues(kernel))
      store(*moved.made, "scratch",
            ("is computed once and stored in scratch memory: " + moved.reason).str());
    for (Operation *made : rereadValues(kernel))
      store(*made, "scratch",
            "is computed once and stored in scratch memory: a view reads its elements several "
            "times");
    for (MapOp places : splitGatherPlaces(kernel))
      store(*places, "scratch",
            "is computed once and stored in scratch memory: many elements are read there");
    for (MapOp term : splitSharedTerms(kernel))
      store(*term, "scratch",
            "is computed once and stored in scratch memory: many elements have it in common");
    for (ViewOp merged : splitStoredAxes(kernel))
      store(*merged, "scratch",
            "is computed once and stored in scratch memory, with an axis for each digit of its "
            "places");
    forEachStored(kernel, /*pixelsTogether=*/true, [](Operation &op) {
      if (!op.hasAttr("schedule"))
        store(op);
    });
    StoredValues inputs;
    inputs.addArguments(kernel);
    forEachInline(kernel, /*pixelsTogether=*/true, [&](Operation &op) {
      if (!goesByShortRows(llvm::cast<ReduceOp>(op), inputs.memory()))
        markInline(op);
    });
    keepCheapMapsApart(kernel);
    if (auto tile = rowTileOf(kernel)) {
      chosen.set("row_tile", builder.getI64IntegerAttr(*tile));
      addRemark(kernel, "schedule-cpu",
                "goes through its rows in tiles of " + std::to_string(*tile) +
                    ", which stay in a near cache");
    }
    // Both win where a register is a line, on the machines that were measured, and lose
    // on Zen 3, where it is half of one.
    if (penstock::lane::featuresOf(level).registerBytes >= lineBytes) {
      if (streamsOutputs(kernel, getOperation()))
        chosen.set("streaming", builder.getUnitAttr());
      if (divides(kernel))
        chosen.set("reciprocals", builder.getUnitAttr());
    }
    kernel.setScheduleAttr(chosen.getDictionary(&getContext()));
  }
};
} // namespace
