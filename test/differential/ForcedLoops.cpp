// SPDX-License-Identifier: Apache-2.0
//
// Schedules that nobody chose.
#include "test/differential/ForcedLoops.h"
#include "compiler/Analysis/ValueRanges.h"
#include "compiler/Dialect/OutputsTogether.h"
#include "compiler/Schedules/LoopPlan.h"
#include "test/differential/Rng.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

static LoopsAttr forced(NamedTensorType type, Rng &rng) {
  Builder builder(type.getContext());
  const auto rank = static_cast<int64_t>(type.getRank());
  const int64_t along = rng.chance(0.7) ? rank - 1 : rng.below(rank), other = rng.below(rank);
  auto name = [&](int64_t axis) { return builder.getStringAttr(type.getAxes()[axis].name); };
  const Axis &unrolled = type.getAxes()[other];
  const bool unrolls =
      other != along && unrolled.isStatic() && unrolled.extent <= mostSideBySide && rng.chance(0.7);
  const int64_t bytes = scalarBytes(type.getElementType()), lanes = int64_t{1} << rng.below(7);
  const bool isSquare = other != along && !unrolls && lanes > 1 && (bytes == 4 || bytes == 8);
  SmallVector<StringRef> versions;
  for (StringRef version : {"bounded", "strides", "rows"})
    if (rng.chance(0.5))
      versions.push_back(version);
  return LoopsAttr::get(type.getContext(), name(along), lanes, unrolls ? name(other) : StringAttr(),
                        isSquare ? name(other) : StringAttr(), rng.between(1, 6),
                        builder.getStrArrayAttr(versions),
                        rng.pick<Tail>({Tail::overlap, Tail::single, Tail::narrow}));
}

static void force(Operation *op, StringRef attribute, ValueRange values, Rng &rng) {
  Attribute stated = op->getAttr(attribute);
  if (!stated)
    return;
  SmallVector<Attribute> loops(values.size());
  for (auto [number, value] : llvm::enumerate(values)) {
    auto several = llvm::dyn_cast<ArrayAttr>(stated);
    auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
    if (type && type.getRank() > 0 && llvm::isa<LoopsAttr>(several ? several[number] : stated))
      loops[number] = forced(type, rng);
  }
  setLoops(op, attribute, loops);
}

/// Any way to go, of those that an attribute can say.
static ReductionAttr forced(ReduceOp op, Rng &rng) {
  Builder builder(op.getContext());
  NamedTensorType in = tensorOf(op.getValue()), out = tensorOf(op.getResult());
  auto name = [&](NamedTensorType type, int64_t axis) {
    return builder.getStringAttr(type.getAxes()[axis].name);
  };
  const auto rank = static_cast<int64_t>(out.getRank());
  const int64_t lanes = int64_t{1} << rng.below(7), beside = int64_t{1} << rng.below(5);
  const bool unrolled = rng.chance(0.5), pieces = rng.chance(0.5);
  auto make = [&](Way way, StringAttr along, int64_t lanes, StringAttr unroll, int64_t beside,
                  bool unrolled, bool pieces) {
    const bool shares = way == Way::lanes && beside > 1 && rng.chance(0.4);
    auto reduction =
        ReductionAttr::get(op.getContext(), way, along, lanes, unroll, 1, beside, unrolled, pieces,
                           shares ? rng.between(2, 9) : 1, shares ? int64_t{2} << rng.below(4) : 1);
    if (way == Way::lanes && whyNot(op, reduction.withSmall(1)).empty())
      return reduction.withSmall(std::min(rng.between(0, 4), analysis::addedIn32Bits(op)));
    const bool hasSums = (way == Way::lanes || way == Way::across) && !unrolled;
    return hasSums && rng.chance(0.5) ? reduction.withSums(ReductionSums::memory) : reduction;
  };
  switch (rng.pick<Way>({Way::across, Way::rows, Way::lanes, Way::single})) {
  case Way::across: {
    if (rank == 0)
      return {};
    const int64_t along = rng.below(rank), other = rng.below(rank);
    return make(Way::across, name(out, along), lanes,
                other != along ? name(out, other) : StringAttr(), 1, unrolled, pieces);
  }
  case Way::rows:
    return make(Way::rows, {}, lanes, {}, beside, false, false);
  case Way::lanes: {
    const bool ofChannels = ReducedAxes(op).over.back() != in.getRank() - 1;
    const bool isSum = op.getKind() == ReduceKind::sum && llvm::isa<FloatType>(in.getElementType());
    return make(Way::lanes, {}, isSum ? 32 : lanes,
                ofChannels ? name(in, in.getRank() - 1) : StringAttr(), isSum ? beside : 1, false,
                false);
  }
  case Way::single:
    break;
  }
  return make(Way::single, {}, 1, {}, 1, unrolled, pieces);
}

template <typename Op>
  requires std::is_same_v<Op, ScanOp> || std::is_same_v<Op, FilterOp>
static ScanAttr forced(Op op, Rng &rng) {
  NamedTensorType type = tensorOf(op.getResult());
  const int64_t lanes = int64_t{1} << rng.below(7), beside = int64_t{1} << rng.below(5);
  const StringRef along = type.getAxes()[rng.below(static_cast<int64_t>(type.getRank()))].name;
  const ScanWay way = rng.pick<ScanWay>({ScanWay::across, ScanWay::transposed, ScanWay::single});
  const bool isAcross = way == ScanWay::across, isSingle = way == ScanWay::single;
  const bool isUnrolled = isAcross && rng.chance(0.3);
  return ScanAttr::get(op.getContext(), way,
                       isAcross ? StringAttr::get(op.getContext(), along) : StringAttr(),
                       isSingle ? 1 : lanes, isSingle ? beside : 1, isUnrolled,
                       isAcross && !isUnrolled && rng.chance(0.5) ? lanes * rng.between(1, 5) : 0);
}

template <typename Op>
  requires std::is_same_v<Op, HistogramOp> || std::is_same_v<Op, ScatterOp>
static TurnsAttr forced(Op op, Rng &rng) {
  return TurnsAttr::get(op.getContext(), rng.between(1, 8),
                        rng.chance(0.5) ? int64_t{1} << rng.below(7) : 1);
}

static ContractAttr forced(ContractOp op, Rng &rng) {
  NamedTensorType out = tensorOf(op.getResult());
  auto axis = [&] {
    return StringAttr::get(op.getContext(),
                           out.getAxes()[rng.below(static_cast<int64_t>(out.getRank()))].name);
  };
  const StringAttr along = axis(), other = axis();
  const int64_t lanes = int64_t{1} << rng.below(6), beside = int64_t{1} << rng.below(5);
  const bool isBeside = other != along;
  return ContractAttr::get(op.getContext(), along, lanes, isBeside ? other : StringAttr(),
                           isBeside ? beside : 1,
                           rng.pick<ProductSums>({ProductSums::unrolled, ProductSums::registers,
                                                  ProductSums::stored, ProductSums::memory}),
                           isBeside && rng.chance(0.3) ? int64_t{2} << rng.below(4) : 0);
}

static int64_t someLanes(Rng &rng) { return int64_t{1} << rng.below(7); }

/// A name of one of the value's axes.
static StringAttr someAxis(Value value, Rng &rng) {
  ArrayRef<Axis> axes = tensorOf(value).getAxes();
  return StringAttr::get(value.getContext(),
                         axes[rng.below(static_cast<int64_t>(axes.size()))].name);
}

static WeightsAttr forced(WeightsOp op, Rng &rng) {
  return WeightsAttr::get(op.getContext(), someLanes(rng));
}

static FftAttr forced(FftOp op, Rng &rng) {
  const int64_t lanes = someLanes(rng);
  const bool areTogether = lanes > 1 && rng.chance(0.7);
  return FftAttr::get(op.getContext(), areTogether ? someAxis(op.getValue(), rng) : StringAttr(),
                      lanes, areTogether && rng.chance(0.5));
}

static SortAttr forced(SortOp op, Rng &rng) {
  const auto way =
      rng.pick<SortWay>({SortWay::across, SortWay::transposed, SortWay::merged, SortWay::digits});
  if (isRowByRow(way))
    return SortAttr::get(op.getContext(), way, StringAttr(), 1);
  return SortAttr::get(op.getContext(), way, someAxis(op.getValue(), rng),
                       int64_t{2} << rng.below(6));
}

/// Gives `op` a schedule that code can be made for, if one is found soon.
template <typename Op> static void forceWhole(Op op, StringRef name, Rng &rng) {
  for (int tries = 0; tries < 8 && !op->hasAttr(name); ++tries)
    if (auto schedule = forced(op, rng); schedule && whyNot(op, schedule).empty())
      op->setAttr(name, schedule);
}

template <typename Op> static void forceAll(KernelOp kernel, StringRef name, Rng &rng) {
  kernel.walk([&](Op op) {
    op->removeAttr(name);
    forceWhole(op, name, rng);
  });
}

/// What is computed whole goes another way, each one that code can be made for; what else reads and
/// makes what they store is planned again, since that lies elsewhere then.
static void forceWholeOps(KernelOp kernel, Rng &rng) {
  kernel.walk([&](ReduceOp op) {
    op->removeAttr("reduction");
    auto where = op->getAttrOfType<StringAttr>("schedule");
    if (where && where == "ring" && rng.chance(0.5))
      op->setAttr("schedule", StringAttr::get(op.getContext(), "scratch"));
    if ((where && where != "scratch") || op.getOver().empty() || rng.chance(0.3))
      return;
    forceWhole(op, "reduction", rng);
  });
  forceAll<ScanOp>(kernel, "scan", rng);
  forceAll<FilterOp>(kernel, "scan", rng);
  forceAll<HistogramOp>(kernel, "turns", rng);
  forceAll<ScatterOp>(kernel, "turns", rng);
  forceAll<ContractOp>(kernel, "contract", rng);
  forceAll<WeightsOp>(kernel, "weights", rng);
  forceAll<FftOp>(kernel, "fft", rng);
  forceAll<SortOp>(kernel, "sort", rng);
  auto level = kernel.getSchedule() ? kernel.getSchedule()->getAs<IntegerAttr>("level") : nullptr;
  const auto has = level ? lane::featuresOf(level.getInt()) : lane::Features();
  schedules::planLoops(kernel, has);
  if (has.hasByteTables())
    kernel.walk([&](Operation *op) {
      if (canBeTabled(*op) && rng.chance(0.5))
        op->setAttr("table", BoolAttr::get(op->getContext(), rng.chance(0.7)));
    });
}

static void setTogether(KernelOp kernel, ArrayAttr groups) {
  NamedAttrList schedule(*kernel.getSchedule());
  schedule.erase("together");
  if (groups)
    schedule.set("together", groups);
  kernel.setScheduleAttr(schedule.getDictionary(kernel.getContext()));
}

/// One nest of loops for outputs of the same axes, whatever they read.
static void joinOutputs(KernelOp kernel, Rng &rng) {
  ValueRange outputs = kernel.getBody().front().getTerminator()->getOperands();
  Builder builder(kernel.getContext());
  for (unsigned first = 0; first < outputs.size(); ++first) {
    auto result = llvm::dyn_cast<OpResult>(outputs[first]);
    LoopsAttr loops = result ? loopsOf(result) : LoopsAttr();
    SmallVector<int64_t> group{first};
    for (unsigned other = first + 1; loops && other < outputs.size(); ++other) {
      auto beside = llvm::dyn_cast<OpResult>(outputs[other]);
      if (!beside || beside.getOwner() == result.getOwner() || !loopsOf(beside) ||
          beside.getOwner()->getNumResults() > 1 ||
          tensorOf(beside).getAxes() != tensorOf(result).getAxes())
        continue;
      setLoops(beside.getOwner(), "loops", {loops});
      group.push_back(other);
    }
    if (group.size() > 1 && mayGoTogether(kernel, group) && rng.chance(0.7))
      return setTogether(kernel, builder.getArrayAttr({builder.getDenseI64ArrayAttr(group)}));
  }
}

void forceLoops(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  Rng rng(llvm::xxh3_64bits(StringRef(text)));
  for (auto kernel : module.getOps<KernelOp>()) {
    if (kernel.getKind() == "codec")
      continue;
    if (kernel.getSchedule())
      setTogether(kernel, {});
    kernel.walk([&](Operation *op) {
      force(op, "loops", op->getResults(), rng);
      force(op, "copies", op->getOperands(), rng);
    });
    forceWholeOps(kernel, rng);
    kernel.walk([&](ResampleOp op) {
      if (op->getAttr("schedule") == StringAttr::get(op.getContext(), "ring") && rng.chance(0.5))
        op->setAttr("schedule", StringAttr::get(op.getContext(), "scratch"));
    });
    if (kernel.getSchedule() && kernel.getKind() == "pixels")
      joinOutputs(kernel, rng);
  }
}

} // namespace penstock::differential
