// SPDX-License-Identifier: Apache-2.0
//
// Which launches on a GPU are one: docs/rationale/cuda-code.md, "Launches are joined".
//
// The body of a pipeline is put in another order that its values allow: what a GPU does not run as
// soon as it can, then launches of one kind as long as there are any, then those of the next.
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Schedules/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <set>

namespace penstock::schedules {
#define GEN_PASS_DEF_JOINLAUNCHES
#include "compiler/Schedules/Passes.h.inc"
} // namespace penstock::schedules

using namespace mlir;
using namespace penstock::pipe;

/// Returns whether a tensor is another sample's, or may be.
static bool isOfPeers(Value tensor, llvm::DenseMap<Value, bool> &known) {
  if (auto found = known.find(tensor); found != known.end())
    return found->second;
  Operation *made = tensor.getDefiningOp();
  const bool result =
      llvm::isa_and_present<PeerOp, PeersOp>(made) ||
      (llvm::isa_and_present<SwitchOp>(made) &&
       llvm::any_of(made->getOperands(), [&](Value input) { return isOfPeers(input, known); }));
  return known[tensor] = result;
}

/// Kernels of outputs stand in the batch's block. Those that need nothing of it move before it.
static void moveOut(BatchOp batch, const SymbolTable &symbols) {
  Block &body = batch.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto launch = llvm::dyn_cast<LaunchOp>(op);
    const bool mayMove =
        launch ? !launch.getOnce() && isOfGpu(symbols.lookup<KernelOp>(launch.getKernel()))
               : llvm::isa<EntryOp, SwitchOp>(op);
    if (mayMove && llvm::all_of(op.getOperands(),
                                [&](Value operand) { return operand.getParentBlock() != &body; }))
      op.moveBefore(batch);
  }
}

namespace {

/// The ops of a block in a new order.
class Order {
public:
  Order(Block &block, const SymbolTable &symbols) {
    for (auto [number, op] : llvm::enumerate(block.without_terminator()))
      ops.push_back(&op), numbers[&op] = number;
    waits.assign(ops.size(), 0);
    users.resize(ops.size());
    kinds.assign(ops.size(), 0);
    std::optional<size_t> effect;
    for (auto [number, op] : llvm::enumerate(ops)) {
      llvm::DenseSet<size_t> before;
      op->walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          if (Operation *made = operand.getDefiningOp())
            if (auto found = numbers.find(made); found != numbers.end() && made != op)
              before.insert(found->second);
      });
      if (!isPure(op)) { // these keep their order
        if (effect)
          before.insert(*effect);
        effect = number;
      }
      for (size_t other : before)
        users[other].push_back(number);
      waits[number] = before.size();
      kinds[number] = kindOf(op, number, symbols);
    }
  }

  /// Returns the groups, each in its order; `all` gets every op.
  std::vector<std::vector<LaunchOp>> run(std::vector<Operation *> &all) {
    std::set<size_t> ready, launches; // by their numbers
    auto add = [&](size_t number) { (kinds[number] ? launches : ready).insert(number); };
    for (size_t number = 0; number < ops.size(); ++number)
      if (waits[number] == 0)
        add(number);
    auto take = [&](std::set<size_t> &from, std::set<size_t>::iterator at) {
      const size_t number = *at;
      from.erase(at);
      all.push_back(ops[number]);
      for (size_t user : users[number])
        if (--waits[user] == 0)
          add(user);
    };
    std::vector<std::vector<LaunchOp>> groups;
    for (int64_t kind = 0; !ready.empty() || !launches.empty();) {
      if (!ready.empty()) {
        take(ready, ready.begin());
        continue;
      }
      auto next = llvm::find_if(launches, [&](size_t number) { return kinds[number] == kind; });
      if (next == launches.end()) {
        next = launches.begin();
        kind = kinds[*next];
        groups.emplace_back();
      }
      groups.back().push_back(llvm::cast<LaunchOp>(ops[*next]));
      take(launches, next);
    }
    return groups;
  }

private:
  /// Launches of one kind may be joined: 0 is none on a GPU, and below that are those that stay
  /// alone.
  int64_t kindOf(Operation *op, size_t number, const SymbolTable &symbols) {
    auto launch = llvm::dyn_cast<LaunchOp>(op);
    auto kernel = launch ? symbols.lookup<KernelOp>(launch.getKernel()) : nullptr;
    if (!kernel || !isOfGpu(kernel))
      return 0;
    auto threads =
        kernel.getSchedule() ? kernel.getSchedule()->getAs<IntegerAttr>("threads") : IntegerAttr();
    const bool isAlone =
        !threads || launch.getOnce() ||
        llvm::any_of(launch.getTensors(), [&](Value tensor) { return isOfPeers(tensor, peers); });
    return isAlone ? -1 - static_cast<int64_t>(number) : threads.getInt();
  }

  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> numbers;
  std::vector<size_t> waits; ///< for so many ops
  std::vector<SmallVector<size_t>> users;
  std::vector<int64_t> kinds;
  llvm::DenseMap<Value, bool> peers;
};

struct JoinLaunchesPass : penstock::schedules::impl::JoinLaunchesBase<JoinLaunchesPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (PipelineOp pipeline : getOperation().getOps<PipelineOp>()) {
      Block &body = pipeline.getBody().front();
      if (llvm::any_of(body.getOps<LaunchOp>(),
                       [](LaunchOp launch) { return launch.getGroup().has_value(); }))
        continue;
      if (auto batch = llvm::dyn_cast<BatchOp>(body.back()))
        moveOut(batch, symbols);
      std::vector<Operation *> all;
      const auto groups = Order(body, symbols).run(all);
      if (llvm::none_of(groups, [](const auto &group) { return group.size() > 1; }))
        continue;
      for (Operation *op : all)
        op->moveBefore(&body, body.without_terminator().end());
      int64_t number = 0;
      for (const auto &group : groups) {
        if (group.size() < 2)
          continue;
        for (LaunchOp launch : group)
          launch.setGroup(number);
        ++number;
      }
      size_t kernels = 0, apart = 0;
      pipeline.walk([&](LaunchOp launch) {
        if (!isOfGpu(symbols.lookup<KernelOp>(launch.getKernel())))
          return;
        ++kernels;
        apart += !launch.getGroup();
      });
      const size_t launches = apart + static_cast<size_t>(number);
      addRemark(pipeline, "join-launches",
                "a batch is " + std::to_string(launches) +
                    (launches == 1 ? " launch" : " launches") + " on the GPU, for " +
                    std::to_string(kernels) + " kernels: a sample's blocks run what it takes");
    }
  }
};

} // namespace
