// SPDX-License-Identifier: Apache-2.0
//
// Cases that loops are written for separately.
//
// Which arm of a choice is taken, a flip's direction, whether factors are bounded and
// whether a pad's row exists differ from sample to sample, or from row to row, and not from element
// to element.
#include "compiler/Analysis/OuterAxes.h"
#include "compiler/Schedules/LoopPlan.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Loops that are written for each combination of the arms of choices, at most.
static constexpr int64_t mostCombinations = 4;

namespace {
/// The choices that loops are written for, from the outermost inwards.
class Combinations {
public:
  explicit Combinations(const StoredValues &stored) : stored(stored) {}
  /// With those that are specialized already.
  int64_t below(Value tensor) {
    llvm::SetVector<Operation *> open;
    llvm::DenseSet<Value> seen;
    find(tensor, open, seen);
    int64_t sofar = 1;
    for (auto [choose, arm] : specialized)
      sofar *= llvm::cast<ChooseOp>(choose).getArms().size();
    for (Operation *choose : open) {
      const auto arms = static_cast<int64_t>(llvm::cast<ChooseOp>(choose).getArms().size());
      if (sofar * arms > mostCombinations)
        continue;
      int64_t most = 1;
      for (int64_t arm = 0; arm < arms; ++arm) {
        specialized.push_back({choose, arm});
        most = std::max(most, below(tensor));
        specialized.pop_back();
      }
      return most;
    }
    return sofar;
  }

private:
  void find(Value tensor, llvm::SetVector<Operation *> &open, llvm::DenseSet<Value> &seen) {
    Operation *op = tensor.getDefiningOp();
    if (!op || stored.inMemory.contains(tensor) || !seen.insert(tensor).second)
      return;
    if (auto choose = llvm::dyn_cast<ChooseOp>(op)) {
      for (auto [known, arm] : specialized)
        if (known == op)
          return find(choose.getArms()[arm].front().getTerminator()->getOperand(
                          llvm::cast<OpResult>(tensor).getResultNumber()),
                      open, seen);
      open.insert(op);
    } else if (readsOneOfEach(op)) {
      for (Value operand : op->getOperands())
        if (llvm::isa<NamedTensorType>(operand.getType()))
          find(operand, open, seen);
    }
  }

  const StoredValues &stored;
  SmallVector<std::pair<Operation *, int64_t>> specialized;
};
} // namespace

int64_t penstock::schedules::armsOf(Value tensor, const StoredValues &stored) {
  return Combinations(stored).below(tensor);
}

/// Returns whether a view multiplies a place with a number of the sample.
static bool hasStride(ViewOp view) {
  bool found = false;
  for (AffineExpr expr : view.getMap().getResults())
    expr.walk([&](AffineExpr part) {
      auto product = llvm::dyn_cast<AffineBinaryOpExpr>(part);
      found |= product && product.getKind() == AffineExprKind::Mul &&
               llvm::isa<AffineSymbolExpr>(product.getRHS()) &&
               !view.getSymbols()[llvm::cast<AffineSymbolExpr>(product.getRHS()).getPosition()]
                    .getDefiningOp<ConstantOp>();
    });
  return found;
}

/// Returns whether lanes lie as far apart in an input as the runtime says, and the type does if it
/// is dense.
static bool hasOuterStride(Value tensor, int64_t along, const StoredValues &stored) {
  auto inputs = penstock::analysis::inputsAlongOuterAxis(
      tensor, along, [&](Value value) { return stored.inMemory.contains(value); });
  return llvm::any_of(inputs, [&](Value input) {
    return !stored.strides.at(input)[0] &&
           penstock::analysis::denseOuterStep(tensorOf(input)).value_or(1) > 1;
  });
}

SmallVector<StringRef> penstock::schedules::versionsOf(Value tensor, int64_t along,
                                                       const StoredValues &stored) {
  bool numbers = false, strides = hasOuterStride(tensor, along, stored), rows = false;
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Value value = reached[next];
    Operation *op = value.getDefiningOp();
    if (!op || stored.inMemory.contains(value))
      continue;
    if (auto choose = llvm::dyn_cast<ChooseOp>(op))
      for (Region &arm : choose.getArms())
        reached.insert(
            arm.front().getTerminator()->getOperand(llvm::cast<OpResult>(value).getResultNumber()));
    if (auto view = llvm::dyn_cast<ViewOp>(op))
      strides |= hasStride(view);
    if (auto pad = llvm::dyn_cast<PadOp>(op))
      rows |= pad.getBorder() == Border::constant;
    // A number that a map takes from outside.
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        numbers |= llvm::isa<FloatType>(operand.getType()) &&
                   !operand.getDefiningOp<ConstantOp>() &&
                   !op->isAncestor(operand.getParentBlock()->getParentOp());
    });
    for (Value operand : op->getOperands())
      if (llvm::isa<NamedTensorType>(operand.getType()))
        reached.insert(operand);
  }
  SmallVector<StringRef> versions;
  if (numbers && llvm::isa<FloatType>(tensorOf(tensor).getElementType()))
    versions.push_back("bounded");
  if (strides)
    versions.push_back("strides");
  if (rows)
    versions.push_back("rows");
  return versions;
}
