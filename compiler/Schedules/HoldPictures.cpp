// SPDX-License-Identifier: Apache-2.0
//
// Pictures that stay in a block's shared memory: docs/rationale/cuda-code.md, "Pictures are held".
//
// Launches of a group that read what others of it make are a chain, such as all that one view of a
// sample goes through. A chain is one block's, of as many threads as a block may have. Kernels that
// store over the picture they read do so in shared memory, and so do those that only read it; what
// is read or stored elsewhere lies where it did. When a picture is brought there or away, the
// runtime says, for it knows what a sample takes of a chain.
#include "compiler/Analysis/InPlace.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "compiler/Schedules/LaunchChains.h"
#include "compiler/Schedules/Passes.h"
#include "runtime/abi/kernel.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace penstock::schedules {
#define GEN_PASS_DEF_HOLDPICTURES
#include "compiler/Schedules/Passes.h.inc"
} // namespace penstock::schedules

using namespace mlir;
using namespace penstock;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Of a block: threads that are at hand for all kernels, and shared memory that they may take for
/// themselves. Words around elements may be read, as those of inputs (PST_DEVICE_SLACK).
static constexpr int64_t threadsOfBlock = 1024, ownBytes = 48 << 10, slack = 64, reserved = 1024;
/// Smaller tensors gain nothing.
static constexpr int64_t smallest = 4096;
/// Fewer blocks have fewer threads than a sample has of a joined launch; more have too little to do
/// each.
static constexpr size_t fewestChains = PST_MAX_JOINED_BLOCKS * 256 / threadsOfBlock,
                        mostChains = 64;
/// Where pictures lie.
static constexpr int64_t place = ownBytes + slack;

namespace {

/// Launches that are joined, and what their kernels hold.
class Group {
public:
  Group(ArrayRef<LaunchOp> launches, const SymbolTable &symbols, int64_t room)
      : launches(launches), chains(launches, symbols), room(room) {}

  /// Finds out what is held; false where pictures are better left where they are.
  bool find();
  /// Gives each launch its chain, and a kernel that holds pictures.
  void apply(SymbolTable &symbols);
  size_t countOfChains() const { return chains.count(); }

private:
  using Held = SmallVector<int64_t>; ///< tensors of the kernel

  bool isPicture(Value tensor) const;
  Held heldBy(size_t number);
  Held heldByParts(size_t number) const;

  SmallVector<LaunchOp> launches;
  LaunchChains chains;
  int64_t room;
  SmallVector<Held> held; ///< by launch
};

/// Returns whether a block has room for a tensor, and it lies dense: kernels make it, or a row has
/// it.
bool Group::isPicture(Value tensor) const {
  const auto bytes = denseBytesOf(tensorOf(tensor));
  if (!bytes || *bytes < smallest || *bytes % 16 != 0 || place + *bytes + slack + reserved > room)
    return false;
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *op = reached[next].getDefiningOp();
    if (auto chosen = llvm::dyn_cast_if_present<SwitchOp>(op))
      reached.insert(chosen.getInputs().begin(), chosen.getInputs().end());
    else if (!llvm::isa_and_present<LaunchOp, FieldOp>(op)) // no region of a picture, say
      return false;
    if (llvm::any_of(reached[next].getUsers(), llvm::IsaPred<OutputOp>))
      return false;
  }
  return true;
}

/// A picture of each part; the runtime finds it by its place among them.
Group::Held Group::heldByParts(size_t number) const {
  LaunchOp launch = launches[number];
  auto tensorAt = [&](int64_t argument) {
    return launch.getTensors()[static_cast<size_t>(argument)];
  };
  Held result;
  for (Value value : partsOf(chains.kernelOf(number)).getInputs()) {
    const auto arguments = argumentsBehind(value);
    const auto picture =
        llvm::find_if(arguments, [&](int64_t argument) { return isPicture(tensorAt(argument)); });
    const bool isLike =
        picture != arguments.end() &&
        (result.empty() || (tensorAt(*picture).getType() == tensorAt(result.front()).getType() &&
                            *picture > result.back()));
    if (!isLike)
      return {};
    result.push_back(*picture);
  }
  return result;
}

/// The first picture that a kernel reads lies in shared memory, and what it makes of that in place;
/// of a kernel that reads none, what it makes.
Group::Held Group::heldBy(size_t number) {
  LaunchOp launch = launches[number];
  KernelOp kernel = chains.kernelOf(number);
  if (chains.isOfParts(launch))
    return heldByParts(number);
  const int64_t output = inputsOf(kernel);
  for (auto [input, tensor] : llvm::enumerate(launch.getTensors())) {
    if (!isPicture(tensor))
      continue;
    Held result{static_cast<int64_t>(input)};
    if (analysis::isInPlace(kernel, static_cast<int64_t>(input)) && chains.keeps(launch))
      result.push_back(output);
    return result;
  }
  const bool isBlock =
      kernel.getSchedule()->get("mapping") == StringAttr::get(kernel.getContext(), "block");
  if (!isBlock && launch->getNumResults() == 1 && isPicture(launch.getResult(0)) &&
      chains.keeps(launch))
    return {output};
  return {};
}

bool Group::find() {
  for (size_t number = 0; number < launches.size(); ++number) {
    KernelOp kernel = chains.kernelOf(number);
    // Of several checks the first one's message is wanted.
    if (!kernel.getSchedule() ||
        kernel.walk([](CheckOp) { return WalkResult::interrupt(); }).wasInterrupted())
      return false;
  }
  if (!chains.find() || chains.count() > mostChains)
    return false;
  llvm::SmallDenseSet<int64_t> gaining; // chains of which a picture stays
  for (size_t number = 0; number < launches.size(); ++number) {
    held.push_back(heldBy(number));
    if (!held.back().empty() && held.back().back() == inputsOf(chains.kernelOf(number)))
      gaining.insert(chains.numberOf(launches[number]));
  }
  return gaining.size() >= fewestChains;
}

/// The schedule of a kernel that holds pictures.
static DictionaryAttr heldSchedule(KernelOp kernel, ArrayRef<int64_t> tensors, bool isPart) {
  Builder b(kernel.getContext());
  NamedAttrList schedule(*kernel.getSchedule());
  schedule.set("threads", b.getI64IntegerAttr(threadsOfBlock));
  schedule.erase("resident"); // there is room for no other block
  if (isPart)
    schedule.set("part", b.getUnitAttr());
  if (!tensors.empty())
    schedule.set("held",
                 b.getDictionaryAttr({b.getNamedAttr("at", b.getI64IntegerAttr(place)),
                                      b.getNamedAttr("tensors", b.getDenseI64ArrayAttr(tensors))}));
  if (auto copied = llvm::dyn_cast_or_null<DictionaryAttr>(schedule.get("copied"))) {
    auto inputs = llvm::to_vector(copied.getAs<DenseI64ArrayAttr>("inputs").asArrayRef());
    llvm::erase_if(inputs, [&](int64_t input) { return llvm::is_contained(tensors, input); });
    NamedAttrList fewer(copied);
    fewer.set("inputs", b.getDenseI64ArrayAttr(inputs));
    if (inputs.empty())
      schedule.erase("copied");
    else
      schedule.set("copied", fewer.getDictionary(b.getContext()));
  }
  return schedule.getDictionary(b.getContext());
}

void Group::apply(SymbolTable &symbols) {
  // Launches of one kernel may differ in what is a picture.
  llvm::MapVector<std::pair<Operation *, Attribute>, KernelOp> made; // by kernel and schedule
  for (auto [number, launch] : llvm::enumerate(launches)) {
    KernelOp kernel = chains.kernelOf(number);
    const bool isPart = chains.isOfParts(launch);
    const DictionaryAttr schedule = heldSchedule(kernel, held[number], isPart);
    KernelOp &own = made[{kernel, schedule}];
    if (!own) {
      own = kernel.clone();
      own.setScheduleAttr(schedule);
      symbols.insert(own, std::next(kernel->getIterator()));
    }
    launch.setKernel(own.getSymName());
    if (!isPart)
      launch.setChain(static_cast<uint64_t>(chains.numberOf(launch)));
  }
  llvm::DenseSet<Operation *> erased;
  for (auto &[from, own] : made) {
    Operation *kernel = from.first;
    if (erased.contains(kernel) || !SymbolTable::symbolKnownUseEmpty(kernel, symbols.getOp()))
      continue;
    const StringAttr name = llvm::cast<KernelOp>(kernel).getSymNameAttr();
    symbols.erase(kernel);
    erased.insert(kernel);
    (void)symbols.rename(own, name);
  }
}

/// Launches on the GPU that follow each other: those of a group, or one alone.
struct Run {
  std::optional<int64_t> group;
  SmallVector<LaunchOp> launches;
};

SmallVector<Run> runsOf(PipelineOp pipeline, const SymbolTable &symbols) {
  SmallVector<Run> runs;
  pipeline.walk([&](LaunchOp launch) {
    if (!isOfGpu(symbols.lookup<KernelOp>(launch.getKernel())))
      return;
    const auto group =
        launch.getGroup() ? std::optional(static_cast<int64_t>(*launch.getGroup())) : std::nullopt;
    if (runs.empty() || !group || runs.back().group != group)
      runs.push_back({group, {}});
    runs.back().launches.push_back(launch);
  });
  return runs;
}

/// Returns whether a launch that is alone may be of a group: it is of one sample.
bool mayJoin(LaunchOp launch) {
  llvm::SetVector<Value> reached;
  reached.insert(launch.getTensors().begin(), launch.getTensors().end());
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *op = reached[next].getDefiningOp();
    if (llvm::isa_and_present<PeerOp, PeersOp>(op))
      return false;
    if (auto chosen = llvm::dyn_cast_if_present<SwitchOp>(op))
      reached.insert(chosen.getInputs().begin(), chosen.getInputs().end());
  }
  return !launch.getOnce();
}

/// Returns whether launches of `next` are all that reads what those of `run` make.
bool feeds(const Run &run, const Run &next) {
  llvm::DenseSet<Operation *> members(run.launches.begin(), run.launches.end());
  members.insert(next.launches.begin(), next.launches.end());
  return llvm::all_of(run.launches, [&](LaunchOp launch) {
    return llvm::all_of(readersOf(launch->getResults()),
                        [&](Operation *reader) { return members.contains(reader); });
  });
}

/// Has an op, and what it is made of, stand before another one of its block.
void moveBefore(Operation *op, Operation *first) {
  if (op->isBeforeInBlock(first))
    return;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Operation *made = operand.getDefiningOp();
          made && made != op && made->getBlock() == first->getBlock())
        moveBefore(made, first);
  });
  op->moveBefore(first);
}

struct HoldPicturesPass : penstock::schedules::impl::HoldPicturesBase<HoldPicturesPass> {
  using HoldPicturesBase::HoldPicturesBase;
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (PipelineOp pipeline : getOperation().getOps<PipelineOp>()) {
      const SmallVector<Run> runs = runsOf(pipeline, symbols);
      for (const Run &run : runs)
        if (run.group)
          lastGroup = std::max(lastGroup, *run.group);
      for (size_t i = 0; i < runs.size(); ++i) {
        // With what only the next group reads, such as the crops.
        const bool isBoth = i + 1 < runs.size() && runs[i + 1].group &&
                            (runs[i].group || mayJoin(runs[i].launches.front())) &&
                            feeds(runs[i], runs[i + 1]);
        SmallVector<LaunchOp> launches(runs[i].launches);
        if (isBoth)
          llvm::append_range(launches, runs[i + 1].launches);
        if (isBoth && hold(pipeline, launches, runs[i + 1], symbols))
          ++i;
        else if (runs[i].group)
          hold(pipeline, runs[i].launches, runs[i], symbols);
      }
    }
  }

private:
  /// Of launches that follow each other, the last of them those of `run`, whose group all get.
  bool hold(PipelineOp pipeline, ArrayRef<LaunchOp> launches, const Run &run,
            SymbolTable &symbols) {
    if (llvm::any_of(launches,
                     [](LaunchOp launch) { return LaunchOp(launch).getChain().has_value(); }))
      return false; // they keep it
    const auto shared = LaunchChains(launches, symbols).sharedByParts();
    SmallVector<LaunchOp> rest;
    llvm::copy_if(launches, std::back_inserter(rest),
                  [&](LaunchOp launch) { return !llvm::is_contained(shared, launch); });
    Group group(rest, symbols, room);
    if (rest.empty() || !group.find())
      return false;
    group.apply(symbols);
    runBefore(shared, rest.front(), run);
    for (LaunchOp launch : rest)
      launch.setGroup(static_cast<uint64_t>(*run.group));
    const size_t chains = group.countOfChains();
    addRemark(pipeline, "hold-pictures",
              std::to_string(rest.size()) +
                  " kernels are one launch on the GPU, a block for each " +
                  (chains == 1 ? "sample" : "of a sample's " + std::to_string(chains) + " chains") +
                  ": pictures stay in its shared memory");
    return true;
  }

  /// What several chains read is a launch, or a group, before them.
  void runBefore(ArrayRef<LaunchOp> shared, LaunchOp first, const Run &run) {
    const auto ofRun = llvm::count_if(
        shared, [&](LaunchOp launch) { return llvm::is_contained(run.launches, launch); });
    if (ofRun > 1)
      ++lastGroup;
    for (LaunchOp launch : shared) {
      moveBefore(launch, first);
      if (!llvm::is_contained(run.launches, launch))
        continue; // it stays with those of its own run
      if (ofRun > 1)
        launch.setGroup(static_cast<uint64_t>(lastGroup));
      else
        launch.removeGroupAttr();
    }
  }

  int64_t lastGroup = -1;
};

} // namespace
