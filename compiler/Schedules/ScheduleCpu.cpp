//===- ScheduleCpu.cpp - what is stored on the way, and how wide lanes are --===//
//
// A value is recomputed at every read unless that costs more than storing it:
// things that only move data, and arithmetic read once per element, stay
// inline; what a window, a resampling or a gather reads several times is
// stored, unless it only moves data.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Schedules/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace penstock::schedules {
#define GEN_PASS_DEF_SCHEDULECPU
#include "compiler/Schedules/Passes.h.inc"
} // namespace penstock::schedules

using namespace mlir;
using namespace penstock::pipe;

/// Ops whose element is a copy of an input's element.
static bool onlyMoves(Operation *op) {
  return llvm::isa<ViewOp, PadOp, ConcatOp, StackOp, PlaceOp, CastOp, ConstantOp>(op);
}

/// Ops that read several elements of an input for one of theirs, or one element
/// more than once.
static bool readsOften(Operation *op) {
  return llvm::isa<WindowOp, ResampleOp, GatherOp, ReduceOp, ScanOp, HistogramOp, ContractOp, LoadOp>(op);
}

/// Whether `user` stands in a loop that `op` stands outside of.
static bool readsInLoop(Operation *user, Operation *op) {
  for (Operation *scope = user->getParentOp(); !scope->isAncestor(op); scope = scope->getParentOp())
    if (llvm::isa<RepeatOp>(scope))
      return true;
  return false;
}

/// The arm of a choice that `user` stands in and `op` outside of; null for none.
static Region *armAround(Operation *user, Operation *op) {
  Region *arm = nullptr;
  for (Operation *scope = user; !scope->getParentOp()->isAncestor(op); scope = scope->getParentOp())
    if (llvm::isa<ChooseOp>(scope->getParentOp()))
      arm = scope->getParentRegion();
  return arm;
}

static int readsOf(ArrayRef<OpOperand *> uses);

/// How often elements of `value` are read, through ops that only move data:
/// more than once counts as 2. Of the arms of a choice one runs.
static int reads(Value value) {
  SmallVector<OpOperand *> outside;
  llvm::MapVector<Region *, SmallVector<OpOperand *>> inArms;
  for (OpOperand &use : value.getUses()) {
    Region *arm = value.getDefiningOp() ? armAround(use.getOwner(), value.getDefiningOp()) : nullptr;
    (arm ? inArms[arm] : outside).push_back(&use);
  }
  llvm::MapVector<Operation *, int> most;
  for (auto &[arm, uses] : inArms)
    most[arm->getParentOp()] = std::max(most[arm->getParentOp()], readsOf(uses));
  int count = readsOf(outside);
  for (auto [choose, mine] : most)
    count += mine;
  return std::min(count, 2);
}

static int readsOf(ArrayRef<OpOperand *> uses) {
  int count = 0;
  for (OpOperand *operand : uses) {
    OpOperand &use = *operand;
    Value value = use.get();
    Operation *user = use.getOwner();
    if (readsInLoop(user, value.getDefiningOp())) {
      count += 2;
    } else if (readsOften(user)) {
      // A reduction reads each element once; a resampling's tables are tables.
      count += llvm::isa<ReduceOp>(user) ? 1 : 2;
    } else if (onlyMoves(user) || llvm::isa<ChooseOp>(user)) {
      for (Value result : user->getResults())
        count += reads(result);
    } else if (llvm::isa<YieldOp>(user) && llvm::isa<ChooseOp>(user->getParentOp())) {
      count += reads(user->getParentOp()->getResult(use.getOperandNumber()));
    } else {
      ++count;
    }
    if (count > 1)
      return 2;
  }
  return count;
}

/// Whether one element costs more than a load. What is joined moves data only, but
/// a vector of it may hold elements of two parts.
static bool isExpensive(Operation *op) {
  return llvm::isa<ResampleOp, GatherOp, WindowOp, MapOp, ConcatOp>(op);
}

/// The vertical pass that alone reads `op`, if both can go row by row.
static bool streamsRows(ResampleOp op) {
  auto type = llvm::cast<NamedTensorType>(op.getResult().getType());
  if (op.getNumerics() != Numerics::pillow || type.axisIndex(op.getAxis()) != 1 || !op->hasOneUse())
    return false;
  auto vertical = llvm::dyn_cast<ResampleOp>(*op->user_begin());
  return vertical && vertical.getInput() == op.getResult() && vertical.getNumerics() == Numerics::pillow &&
         type.axisIndex(vertical.getAxis()) == 0;
}

/// A number that is a constant, or the default of a run-time parameter.
static std::optional<int64_t> usualValue(PipelineOp pipeline, Value value) {
  Operation *op = value.getDefiningOp();
  Attribute number;
  if (auto constant = llvm::dyn_cast_if_present<ConstantOp>(op))
    number = constant.getValue();
  if (auto parameter = llvm::dyn_cast_if_present<ParamOp>(op))
    number = parameter.getDefaultValueAttr();
  if (auto slot = llvm::dyn_cast_if_present<SlotOp>(op))
    for (auto set : pipeline.getBody().getOps<SetSlotOp>())
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

/// Batches from this size on are streamed to memory. At least two are in flight:
/// together they leave the caches that a core can call its own. Where it was
/// measured (docs/rationale/cpu-code.md), cached stores lose from there on.
static constexpr int64_t streamedBatch = 2 << 20;

/// Kernels that do little but move data, into batches that no cache holds.
static bool streamsOutputs(KernelOp kernel, ModuleOp module) {
  for (Operation &op : kernel.getBody().front())
    if (llvm::isa<ResampleOp, GatherOp, WindowOp, ReduceOp, ScanOp, HistogramOp, ContractOp>(op))
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

namespace {
struct ScheduleCpuPass : penstock::schedules::impl::ScheduleCpuBase<ScheduleCpuPass> {
  using ScheduleCpuBase::ScheduleCpuBase;

  static void store(Operation &op) {
    auto resample = llvm::dyn_cast<ResampleOp>(op);
    const bool ring = resample && streamsRows(resample);
    op.setAttr("schedule", StringAttr::get(op.getContext(), ring ? "ring" : "scratch"));
    addRemark(&op, "schedule-cpu",
              ring ? "its rows live in a ring until the pass along the other axis has used them"
                   : "is computed once and stored in scratch memory: its elements are read more "
                     "than once");
  }

  void runOnOperation() override {
    Builder builder(&getContext());
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      if (kernel.getSchedule())
        continue;
      auto schedule = [&](Block &block) {
        for (Operation &op : block)
          if (isExpensive(&op) && reads(op.getResult(0)) > 1)
            store(op);
      };
      schedule(kernel.getBody().front());
      kernel.walk([&](RepeatOp repeat) { schedule(repeat.getBody().front()); });
      const int64_t bytes = level >= 4 ? 64 : level == 3 ? 32 : 16;
      NamedAttrList chosen;
      chosen.set("level", builder.getI64IntegerAttr(level));
      chosen.set("vector_bytes", builder.getI64IntegerAttr(bytes));
      // It wins on the machines with AVX-512 that were measured, and loses on
      // Zen 3, which has none.
      if (level >= 4 && streamsOutputs(kernel, getOperation()))
        chosen.set("streaming", builder.getUnitAttr());
      kernel.setScheduleAttr(chosen.getDictionary(&getContext()));
    }
  }
};
} // namespace
