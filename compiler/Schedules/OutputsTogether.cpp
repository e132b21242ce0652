// SPDX-License-Identifier: Apache-2.0
//
// What is made side by side since it shares what it reads.
//
// Two outputs of the same pixels, such as the maximum of each tile and its place, or the planes of
// a stack, are loops of their own otherwise, each of which reads the pixels and takes them apart.
#include "compiler/Schedules/LoopPlan.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// What is in memory and read for elements of `tensor`.
static llvm::SetVector<Value> readFor(Value tensor, const StoredValues &stored) {
  llvm::SetVector<Value> reached, read;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    if (stored.inMemory.contains(reached[next])) {
      read.insert(reached[next]);
      continue;
    }
    if (Operation *op = reached[next].getDefiningOp())
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (llvm::isa<NamedTensorType>(operand.getType()))
            reached.insert(operand);
      });
  }
  return read;
}

bool penstock::schedules::shareReads(Value one, Value other, Value made,
                                     const StoredValues &stored) {
  const llvm::SetVector<Value> read = readFor(one, stored);
  return llvm::any_of(readFor(other, stored), [&](Value input) {
    return read.contains(input) && tensorOf(input).getRank() >= tensorOf(made).getRank();
  });
}

bool penstock::schedules::stacksShared(Value tensor, StringRef name, const StoredValues &stored) {
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *op = reached[next].getDefiningOp();
    if (!op || (next > 0 && stored.inMemory.contains(reached[next])))
      continue;
    if (auto stack = llvm::dyn_cast<StackOp>(op); stack && stack.getAxis() == name)
      return llvm::all_of(stack.getInputs().drop_front(), [&](Value part) {
        return shareReads(stack.getInputs().front(), part, part, stored);
      });
    for (Value operand : op->getOperands())
      if (llvm::isa<NamedTensorType>(operand.getType()) && tensorOf(operand).axisIndex(name) >= 0)
        reached.insert(operand);
  }
  return false;
}

/// Returns whether the same loops can make both: neither is there yet, and they go through the same
/// axes, of known extents, in the same order.
static bool goAlike(Value one, Value other, const StoredValues &stored) {
  for (Value value : {one, other})
    if (stored.inMemory.contains(value) || stored.rows.contains(value))
      return false;
  NamedTensorType type = tensorOf(one);
  LoopsAttr loops = loopsOf(llvm::cast<OpResult>(one)),
            others = loopsOf(llvm::cast<OpResult>(other));
  return type.isStatic() && type.getAxes() == tensorOf(other).getAxes() && loops && others &&
         loops.getAlong() == others.getAlong() && loops.getUnroll() == others.getUnroll() &&
         !loops.getAcross() && !others.getAcross();
}

/// Loops that make all of `values`: what lives at once, lives for each.
static LoopsAttr loopsOfAll(ArrayRef<Value> values, const StoredValues &stored,
                            const penstock::lane::Features &has) {
  LoopsAttr first = loopsOf(llvm::cast<OpResult>(values.front()));
  int64_t lanes = first.getLanes(), arms = first.getArms();
  llvm::SetVector<Attribute> versions;
  for (Value value : values) {
    LoopsAttr loops = loopsOf(llvm::cast<OpResult>(value));
    lanes = std::min(lanes, loops.getLanes());
    arms = std::max(arms, loops.getArms());
    if (ArrayAttr own = loops.getVersions())
      versions.insert(own.begin(), own.end());
  }
  NamedTensorType type = tensorOf(values.front());
  const int64_t along = type.axisIndex(first.getAlong());
  lanes = lanesTogether(lanes, values, along, stored, has);
  return LoopsAttr::get(
      first.getContext(), first.getAlong(), lanes, first.getUnroll(), first.getAcross(), arms,
      versions.empty() ? ArrayAttr() : ArrayAttr::get(first.getContext(), versions.getArrayRef()),
      tailOf(type.getAxes()[along], lanes));
}

int64_t penstock::schedules::enoughLanes(Value tensor, int64_t alone, bool hasChannels,
                                         KernelOp kernel, const StoredValues &stored) {
  return staysInBytes(tensor, hasChannels, kernel, stored) ? alone : alone / 2;
}

static bool keepLanes(ArrayRef<Value> values, const StoredValues &stored,
                      const penstock::lane::Features &has) {
  const int64_t lanes = loopsOfAll(values, stored, has).getLanes();
  return llvm::all_of(values, [&](Value value) {
    LoopsAttr own = loopsOf(llvm::cast<OpResult>(value));
    auto kernel = value.getDefiningOp()->getParentOfType<KernelOp>();
    return lanes >= enoughLanes(value, own.getLanes(), own.getUnroll() != nullptr, kernel, stored);
  });
}

void penstock::schedules::planTogether(ReturnOp op, const StoredValues &stored,
                                       const penstock::lane::Features &has,
                                       const llvm::DenseSet<Value> &planned) {
  auto kernel = op->getParentOfType<KernelOp>();
  auto schedule = kernel.getSchedule();
  if (!schedule || schedule->contains("together") || schedule->contains("streaming") ||
      schedule->contains("row_tile"))
    return;
  Builder builder(kernel.getContext());
  SmallVector<Attribute> groups;
  llvm::SmallDenseSet<unsigned> taken;
  for (unsigned first = 0; first < op->getNumOperands(); ++first) {
    SmallVector<int64_t> group{first};
    SmallVector<Value> values{op->getOperand(first)};
    for (unsigned other = first + 1; other < op->getNumOperands(); ++other) {
      Value beside = op->getOperand(other);
      if (taken.contains(first) || taken.contains(other) || !planned.contains(values[0]) ||
          !planned.contains(beside) || !goAlike(values[0], beside, stored) ||
          !shareReads(values[0], beside, beside, stored))
        continue;
      values.push_back(beside);
      if (!keepLanes(values, stored, has)) {
        values.pop_back();
        continue;
      }
      group.push_back(other);
      taken.insert(other);
    }
    if (group.size() < 2)
      continue;
    groups.push_back(builder.getDenseI64ArrayAttr(group));
    addRemark(kernel, "schedule-cpu",
              "stores " + std::to_string(group.size()) +
                  " outputs by the same loops: what they share is read once");
    LoopsAttr loops = loopsOfAll(values, stored, has);
    for (Value value : values)
      stateLoops(llvm::cast<OpResult>(value), loops);
  }
  if (groups.empty())
    return;
  NamedAttrList chosen(*schedule);
  chosen.set("together", builder.getArrayAttr(groups));
  kernel.setScheduleAttr(chosen.getDictionary(kernel.getContext()));
}
