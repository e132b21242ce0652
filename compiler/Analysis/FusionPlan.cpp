// SPDX-License-Identifier: Apache-2.0
//
// Which ops share a kernel.
//
// Levels make the plan free of cycles: an edge inside a kernel keeps the level,
// every other edge raises it, so no path leaves a kernel and comes back.
#include "compiler/Analysis/FusionPlan.h"
#include "compiler/Dialect/Rows.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include <map>
#include <tuple>
#include <utility>

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

/// Most elements of a table without pixel inputs that the host makes.
static constexpr int64_t smallTable = 4096;
/// Most resamples in a kernel: what code generators take grows faster than a function.
static constexpr int64_t mostResamples = 8;
/// Most windows in a kernel: a longer chain of equal ones is kernels of one text.
static constexpr int64_t mostWindows = 16;
/// Most ways through the choices of a kernel, as a power of two: each arm computes what
/// it reads, so that a chain of choices is repeated for each way through it.
static constexpr int64_t mostChoices = 6;
/// Most reductions of a kernel that goes by rows, or has them side by side.
static constexpr int64_t mostReductions = 8;
/// Most tensors that are looked at for what a reduction reads.
static constexpr size_t mostReadFor = 64;

bool readsMaterialised(Operation *op, Value value) {
  if (auto gather = llvm::dyn_cast<GatherOp>(op); gather && gather.getInput() == value)
    return true;
  return op
      ->walk([&](LoadOp load) {
        return load.getTensor() == value ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool isWideJoin(Operation *op) {
  return llvm::isa<StackOp, ConcatOp>(op) && op->getNumOperands() > mostJoined;
}

namespace {

/// The ways by which the arms of a choice reach tensors outside, as a power of two.
int64_t waysThrough(Operation *op) {
  if (!llvm::isa<ChooseOp>(op))
    return 0;
  int64_t reads = 0;
  for (Region &arm : op->getRegions())
    visitUsedValuesDefinedAbove(arm, arm, [&](OpOperand *use) {
      reads += llvm::isa<NamedTensorType>(use->get().getType());
    });
  return llvm::Log2_64_Ceil(static_cast<uint64_t>(std::max<int64_t>(reads, 1)));
}

/// Of a kernel, what it may not hold any number of.
struct Contents {
  int64_t gathers = 0, resamples = 0, windows = 0, choices = 0;

  static Contents of(Operation *op) {
    return {classOf(op) == OpClass::gather, llvm::isa<ResampleOp>(op), llvm::isa<WindowOp>(op),
            waysThrough(op)};
  }
  void add(const Contents &other, int64_t times = 1) {
    gathers += times * other.gathers;
    resamples += times * other.resamples;
    windows += times * other.windows;
    choices += times * other.choices;
  }
  bool fits() const {
    return gathers <= 1 && resamples <= mostResamples && windows <= mostWindows &&
           choices <= mostChoices;
  }
};

/// Kernels in the making: sets of ops that grow together.
class Sets {
public:
  void add(Operation *op) {
    numbers[op] = parents.size();
    parents.push_back(parents.size());
    held.push_back(Contents::of(op));
  }
  /// Takes `op` out of its set, for a set of its own; the others stay together.
  void leave(Operation *op) {
    held[setOf(op)].add(Contents::of(op), -1);
    add(op);
  }
  void clear() { *this = Sets(); }
  size_t setOf(Operation *op) { return root(numbers.at(op)); }
  const Contents &contents(size_t set) const { return held[set]; }
  void join(Operation *a, Operation *b) {
    const size_t from = setOf(a), to = setOf(b);
    if (from == to)
      return;
    parents[from] = to;
    held[to].add(held[from]);
  }

private:
  size_t root(size_t number) {
    while (parents[number] != number)
      number = parents[number] = parents[parents[number]];
    return number;
  }
  DenseMap<Operation *, size_t> numbers; ///< the newest of an op
  std::vector<size_t> parents;
  std::vector<Contents> held;
};

/// Filters that no sample has a part in are a kernel of their own then, whose result a thread keeps
/// (runtime/sched/ConstantSteps).
static bool isLargeMatrix(Operation *user, Value tensor) {
  auto contract = llvm::dyn_cast<ContractOp>(user);
  if (!contract || tensor != contract.getMatrix())
    return false;
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  return type.isStatic() && type.numElements() > smallTable;
}

/// The resampling that `tensor` is, as far as views move it; null where it is none.
static ResampleOp resamplingBehind(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  while (llvm::isa_and_present<ViewOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return llvm::dyn_cast_if_present<ResampleOp>(op);
}

/// Returns whether `user` is the first of two passes over a picture that two, or four, have made.
static bool resizesAgain(Operation *user, Value tensor) {
  auto resample = llvm::dyn_cast<ResampleOp>(user);
  if (!resample || resample.getInput() != tensor)
    return false;
  int64_t passes = 0;
  while (ResampleOp before = resamplingBehind(tensor)) {
    tensor = before.getInput();
    ++passes;
  }
  return passes > 0 && passes % 2 == 0;
}

class Planner {
public:
  Planner(const DenseMap<Operation *, Value> &guards, const OncePerBatch &once,
          const DenseSet<Operation *> &host, bool everyOp, bool device)
      : guards(guards), once(once), host(host), everyOp(everyOp), device(device) {}

  /// Gives `op` the earliest level it can have.
  void visit(Operation *op);
  /// Lets ops wait for their users: an op none of whose users stands on its
  /// level moves up to them.
  void raise();
  std::vector<FusionGroup> groups();

private:
  void joinReductions();
  SetVector<Value> readFor(ReduceOp op);
  void joinRows(std::vector<FusionGroup> &groups);
  /// All tensors that `op` reads, its regions included.
  static SetVector<Value> tensorsOf(Operation *op) {
    SetVector<Value> all(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), all);
    all.remove_if([](Value value) { return !llvm::isa<NamedTensorType>(value.getType()); });
    return all;
  }

  bool isWeights(Operation *op, const SetVector<Value> &tensors) const;
  /// Returns whether `user` may read `tensor` element by element in one kernel with
  /// its producer.
  bool isDirect(Operation *producer, Operation *user, Value tensor) const {
    return !everyOp && ops.contains(producer) && ops.contains(user) &&
           classOf(producer) != OpClass::barrier && classOf(producer) != OpClass::codec &&
           classOf(user) != OpClass::codec && producer->getBlock() == user->getBlock() &&
           guards.lookup(producer) == guards.lookup(user) &&
           once.isOnce(producer) == once.isOnce(user) &&
           host.contains(producer) == host.contains(user) &&
           weights.contains(producer) == weights.contains(user) && !isWideJoin(user) &&
           !readsMaterialised(user, tensor) && !isLargeMatrix(user, tensor) &&
           !(device && resizesAgain(user, tensor));
  }
  /// Returns what a kernel of `op` and the sets of `others` would hold.
  Contents together(Contents sum, ArrayRef<Operation *> others) {
    SetVector<size_t> joined;
    for (Operation *other : others)
      if (joined.insert(sets.setOf(other)))
        sum.add(sets.contents(joined.back()));
    return sum;
  }

  const DenseMap<Operation *, Value> &guards;
  const OncePerBatch &once;
  const DenseSet<Operation *> &host;
  const bool everyOp, device;
  SetVector<Operation *> ops;
  DenseMap<Operation *, int64_t> levels;
  DenseSet<Operation *> weights;
  Sets sets;
};

bool Planner::isWeights(Operation *op, const SetVector<Value> &tensors) const {
  if (llvm::isa<WeightsOp>(op))
    return true;
  const OpClass found = classOf(op);
  if (op->getNumResults() != 1 || op->getNumRegions() > 1 ||
      (found != OpClass::index && found != OpClass::point))
    return false;
  bool fromWeights = false;
  for (Value tensor : tensors) {
    Operation *producer = tensor.getDefiningOp();
    if (producer && classOf(producer) == OpClass::constant)
      continue;
    if (!producer || !weights.contains(producer))
      return false;
    fromWeights = true;
  }
  if (fromWeights)
    return true;
  auto type = llvm::cast<NamedTensorType>(op->getResult(0).getType());
  return llvm::isa<MapOp>(op) && type.isStatic() && type.numElements() <= smallTable;
}

void Planner::visit(Operation *op) {
  const OpClass found = classOf(op);
  if (found == OpClass::scalar || found == OpClass::constant)
    return;
  const SetVector<Value> tensors = tensorsOf(op);
  if (llvm::is_contained({OpClass::weights, OpClass::index, OpClass::point, OpClass::halo,
                          OpClass::gather, OpClass::barrier, OpClass::codec},
                         found)) {
    ops.insert(op);
    if (isWeights(op, tensors))
      weights.insert(op);
  }
  int64_t level = 0;
  SmallVector<Operation *> direct;
  for (Value tensor : tensors) {
    Operation *producer = tensor.getDefiningOp();
    if (!producer || !levels.count(producer))
      continue;
    // Tables are there before any pixel is.
    if (weights.contains(producer) && !weights.contains(op))
      continue;
    const bool together = isDirect(producer, op, tensor);
    if (together)
      direct.push_back(producer);
    level = std::max(level, levels[producer] + (together || !ops.contains(producer) ? 0 : 1));
  }
  levels[op] = level;
  if (!ops.contains(op))
    return;
  sets.add(op);
  llvm::erase_if(direct, [&](Operation *producer) { return levels[producer] != level; });
  if (!together(Contents::of(op), direct).fits()) {
    ++levels[op];
    return;
  }
  for (Operation *producer : direct)
    sets.join(producer, op);
}

/// The op in the sample's body or the batch that holds `op`.
static Operation *inBody(Operation *op) {
  while (!llvm::isa<PipelineOp, BatchOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

void Planner::raise() {
  for (Operation *op : llvm::reverse(ops)) {
    const OpClass found = classOf(op);
    if (weights.contains(op) || found == OpClass::barrier || found == OpClass::codec ||
        found == OpClass::gather)
      continue;
    std::optional<int64_t> latest;
    SmallVector<Operation *> direct;
    for (Value result : op->getResults())
      for (Operation *inner : result.getUsers()) {
        Operation *user = inBody(inner);
        // Outputs do not pull: they take the value whenever it is there.
        if (llvm::isa<OutputOp>(user)) {
          latest = std::min(latest.value_or(levels[op]), levels[op]);
          continue;
        }
        const bool together = isDirect(op, user, result);
        if (together)
          direct.push_back(user);
        const int64_t allowed = levels[user] - (together ? 0 : 1);
        latest = std::min(latest.value_or(allowed), allowed);
      }
    if (!latest || *latest <= levels[op])
      continue;
    llvm::erase_if(direct, [&](Operation *user) { return levels[user] != *latest; });
    if (direct.empty() || !together(Contents::of(op), direct).fits())
      continue;
    levels[op] = *latest;
    sets.leave(op);
    for (Operation *user : direct)
      sets.join(op, user);
  }
}

std::vector<FusionGroup> Planner::groups() {
  // Raising may have taken the op that held two others together, so groups are
  // found again: ops of one level that direct edges connect.
  sets.clear();
  for (Operation *op : ops)
    sets.add(op);
  for (Operation *op : ops)
    for (Value tensor : tensorsOf(op))
      if (Operation *producer = tensor.getDefiningOp(); producer && levels.count(producer) &&
                                                        levels[producer] == levels[op] &&
                                                        isDirect(producer, op, tensor))
        sets.join(op, producer);
  if (!everyOp)
    joinReductions();
  std::vector<FusionGroup> found;
  DenseMap<size_t, size_t> number;
  for (Operation *op : ops) {
    auto [at, fresh] = number.try_emplace(sets.setOf(op), found.size());
    if (fresh)
      found.push_back({{},
                       levels[op],
                       weights.contains(op),
                       classOf(op) == OpClass::codec,
                       guards.lookup(op),
                       once.isOnce(op),
                       host.contains(op)});
    found[at->second].ops.push_back(op);
  }
  std::multimap<int64_t, FusionGroup *> byLevel; // equal ones stay in order
  for (FusionGroup &one : found)
    byLevel.emplace(one.level, &one);
  std::vector<FusionGroup> result;
  for (auto [level, one] : byLevel)
    result.push_back(std::move(*one));
  if (!everyOp)
    joinRows(result);
  return result;
}

/// What the kernel of `op` reads for its elements and does not make, tables aside; nothing where
/// that takes many ops.
SetVector<Value> Planner::readFor(ReduceOp op) {
  SetVector<Value> reached, read;
  reached.insert(op.getValue());
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *producer = reached[next].getDefiningOp();
    if (!producer || !ops.contains(producer) || sets.setOf(producer) != sets.setOf(op)) {
      if (!producer || (classOf(producer) != OpClass::constant && !weights.contains(producer)))
        read.insert(reached[next]);
      continue;
    }
    for (Value tensor : tensorsOf(producer))
      reached.insert(tensor);
    if (reached.size() > mostReadFor)
      return {};
  }
  return read;
}

/// Joins kernels of one level, none of which waits for another, whose reductions go through the
/// same elements of a tensor, for the same results: it is read once.
void Planner::joinReductions() {
  DenseMap<size_t, int64_t> reductions; ///< by set
  for (Operation *op : ops)
    if (llvm::isa<ReduceOp>(op))
      ++reductions[sets.setOf(op)];
  auto axesOf = [](Value value) {
    auto type = llvm::cast<NamedTensorType>(value.getType());
    return NamedTensorType::get(type.getContext(), IntegerType::get(type.getContext(), 1),
                                type.getAxes())
        .getAsOpaquePointer();
  };
  using Key = std::tuple<void *, const void *, const void *>;
  std::map<Key, Operation *> last; ///< by what is read, and how
  for (Operation *op : ops) {
    auto reduce = llvm::dyn_cast<ReduceOp>(op);
    if (!reduce || classOf(op) != OpClass::barrier || weights.contains(op))
      continue;
    for (Value tensor : readFor(reduce)) {
      auto [before, isFirst] = last.try_emplace(
          {tensor.getAsOpaquePointer(), axesOf(reduce.getValue()), axesOf(reduce.getResult())}, op);
      Operation *other = std::exchange(before->second, op);
      const size_t one = sets.setOf(other), set = sets.setOf(op);
      if (isFirst || one == set || levels[other] != levels[op] ||
          other->getBlock() != op->getBlock() || guards.lookup(other) != guards.lookup(op) ||
          once.isOnce(other) != once.isOnce(op) || host.contains(other) != host.contains(op))
        continue;
      Contents both = sets.contents(one);
      both.add(sets.contents(set));
      const int64_t count = reductions[one] + reductions[set];
      if (!both.fits() || count > mostReductions)
        continue;
      sets.join(other, op);
      reductions[sets.setOf(op)] = count;
    }
  }
}

/// Joins kernels that go by rows of the same axis with those that they read, as long as what they
/// read beside is done before the first of them: else there might be a cycle.
void Planner::joinRows(std::vector<FusionGroup> &groups) {
  struct Joined {
    std::optional<Axis> rows;
    SmallVector<size_t> members;
    int64_t lowest = 0;
  };
  std::vector<Joined> all;
  std::vector<size_t> joinedWith; ///< by group
  DenseMap<Operation *, size_t> groupOf;
  for (auto [number, group] : llvm::enumerate(groups)) {
    all.push_back(
        {group.weights || group.codec ? std::nullopt : rowsOf(group.ops), {number}, group.level});
    joinedWith.push_back(number);
    for (Operation *op : group.ops)
      groupOf[op] = number;
  }
  // The kernels that a member reads, and the level that it has to wait for.
  auto forEachRead = [&](size_t member,
                         llvm::function_ref<void(std::optional<size_t>, int64_t)> visit) {
    for (Operation *op : groups[member].ops)
      for (Value tensor : tensorsOf(op)) {
        Operation *producer = tensor.getDefiningOp();
        if (!producer || !levels.count(producer) || weights.contains(producer))
          continue;
        if (auto made = groupOf.find(producer); made != groupOf.end())
          visit(made->second, levels[producer] + 1);
        else
          visit(std::nullopt, levels[producer]);
      }
  };
  auto alike = [&](size_t a, size_t b) {
    const Axis &x = *all[joinedWith[a]].rows, &y = *all[joinedWith[b]].rows;
    return x.name == y.name && x.extent == y.extent && groups[a].guard == groups[b].guard &&
           groups[a].once == groups[b].once && groups[a].host == groups[b].host &&
           groups[a].ops.front()->getBlock() == groups[b].ops.front()->getBlock();
  };
  for (size_t number = 0; number < groups.size(); ++number) {
    if (!all[number].rows)
      continue;
    SetVector<size_t> sources;
    forEachRead(number, [&](std::optional<size_t> made, int64_t) {
      if (made && all[joinedWith[*made]].rows && *made != number && alike(*made, number))
        sources.insert(joinedWith[*made]);
    });
    Joined together = all[number];
    for (size_t source : sources) {
      together.members.append(all[source].members);
      together.lowest = std::min(together.lowest, all[source].lowest);
    }
    bool fits = !sources.empty();
    int64_t reductions = 0;
    for (size_t member : together.members) {
      reductions += llvm::count_if(groups[member].ops, llvm::IsaPred<ReduceOp>);
      forEachRead(member, [&](std::optional<size_t> made, int64_t after) {
        fits &= after <= together.lowest || (made && llvm::is_contained(together.members, *made));
      });
    }
    if (!fits || reductions > mostReductions)
      continue;
    for (size_t source : sources)
      all[source].rows.reset();
    for (size_t member : together.members)
      joinedWith[member] = number;
    all[number] = together;
  }
  DenseMap<Operation *, size_t> order;
  for (Operation *op : ops)
    order[op] = order.size();
  auto isBefore = [&](Operation *a, Operation *b) { return order.lookup(a) < order.lookup(b); };
  std::vector<FusionGroup> result;
  for (auto [number, group] : llvm::enumerate(groups)) {
    if (joinedWith[number] != number)
      continue;
    for (size_t member : all[number].members)
      if (member != number)
        group.ops.append(groups[member].ops);
    llvm::sort(group.ops, isBefore);
    group.level = all[number].lowest;
    result.push_back(std::move(group));
  }
  llvm::sort(result, [&](const FusionGroup &a, const FusionGroup &b) {
    return a.level != b.level ? a.level < b.level : isBefore(a.ops.front(), b.ops.front());
  });
  groups = std::move(result);
}

} // namespace

std::vector<FusionGroup> planFusion(ArrayRef<Block *> blocks,
                                    const DenseMap<Operation *, Value> &guards,
                                    const OncePerBatch &once, const DenseSet<Operation *> &host,
                                    bool everyOp, bool device) {
  Planner planner(guards, once, host, everyOp, device);
  for (Block *block : blocks)
    for (Operation &op : *block)
      if (!llvm::isa<BatchOp>(op))
        planner.visit(&op);
  planner.raise();
  return planner.groups();
}

} // namespace penstock::analysis
