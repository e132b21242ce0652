// SPDX-License-Identifier: Apache-2.0
//
// Which values are computed once and kept.
#include "compiler/Schedules/Stored.h"
#include "compiler/Dialect/Drawn.h"
#include "compiler/Dialect/SmallReduction.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace penstock::pipe;

/// Returns whether an element is a copy of an input's element.
static bool isCopied(Operation *op) {
  const auto access = inputAccessOf(op);
  return access == InputAccess::moved || access == InputAccess::joined;
}

/// Returns whether `user` stands in a loop that `op` stands outside of.
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

static int readsOf(ArrayRef<OpOperand *> uses, bool together);

/// How often elements of `value` are read, through ops that only move data:
/// more than once counts as 2. Of the arms of a choice one runs. `together`: the
/// channels of a pixel are made at once, so that reading several of them is one read.
static int reads(Value value, bool together) {
  SmallVector<OpOperand *> outside;
  llvm::MapVector<Region *, SmallVector<OpOperand *>> inArms;
  for (OpOperand &use : value.getUses()) {
    Region *arm =
        value.getDefiningOp() ? armAround(use.getOwner(), value.getDefiningOp()) : nullptr;
    (arm ? inArms[arm] : outside).push_back(&use);
  }
  llvm::MapVector<Operation *, int> most;
  for (auto &[arm, uses] : inArms)
    most[arm->getParentOp()] = std::max(most[arm->getParentOp()], readsOf(uses, together));
  int count = readsOf(outside, together);
  for (auto [choose, mine] : most)
    count += mine;
  return std::min(count, 2);
}

/// Returns whether a view reads one place of a small axis, such as a channel, and all else
/// where it stands.
static bool picksChannel(ViewOp view) {
  auto source = llvm::cast<NamedTensorType>(view.getInput().getType());
  unsigned dims = 0;
  for (auto [axis, expr] : llvm::zip(source.getAxes(), view.getMap().getResults())) {
    if (llvm::isa<AffineConstantExpr>(expr)) {
      if (!axis.isStatic() || axis.extent > 4)
        return false;
      continue;
    }
    if (!llvm::isa<AffineDimExpr>(expr))
      return false;
    ++dims;
  }
  return dims + 1 == source.getAxes().size();
}

/// Returns whether a map reads elements of `value` again for each place of an axis that only others
/// have, other than a pixel's channels.
static bool readsAgain(Operation *user, Value value) {
  auto map = llvm::dyn_cast<MapOp>(user);
  if (!map)
    return false;
  auto type = llvm::cast<NamedTensorType>(value.getType());
  return llvm::any_of(llvm::cast<NamedTensorType>(map.getType()).getAxes(), [&](const Axis &axis) {
    return type.axisIndex(axis.name) < 0 && !(axis.isStatic() && axis.extent <= 4);
  });
}

static int readsOf(ArrayRef<OpOperand *> uses, bool together) {
  int count = 0, picked = 0;
  for (OpOperand *operand : uses) {
    OpOperand &use = *operand;
    Value value = use.get();
    Operation *user = use.getOwner();
    auto pick = llvm::dyn_cast<ViewOp>(user);
    if (together && pick && scattersDraws(pick)) {
      count = 2;
      break;
    }
    if (together && pick && value.getDefiningOp<MapOp>() && picksChannel(pick)) {
      picked = std::max(picked, reads(pick.getResult(), together));
      continue;
    }
    if (readsInLoop(user, value.getDefiningOp())) {
      count += 2;
    } else if (inputAccessOf(user) == InputAccess::often || llvm::isa<LoadOp>(user)) {
      count += 2;
    } else if ((isCopied(user) || llvm::isa<CastOp>(user)) && !user->hasAttr("schedule")) {
      for (Value result : user->getResults())
        count += reads(result, together);
    } else if (llvm::isa<YieldOp>(user) && llvm::isa<ChooseOp>(user->getParentOp())) {
      count += reads(user->getParentOp()->getResult(use.getOperandNumber()), together);
    } else {
      count += together && readsAgain(user, value) ? 2 : 1;
    }
    if (count > 1)
      return 2;
  }
  return std::max(count, picked);
}

/// Returns whether one element costs more than a load. What is joined moves data only, but
/// a vector of it may hold elements of two parts. A loop over what a CPU chooses has code for each
/// arm, as far as there are few.
static bool isExpensive(Operation *op, bool isOfCpu) {
  const bool isInlined = formOf(op) == KernelForm::inlined;
  return (isInlined && inputAccessOf(op) == InputAccess::often) || llvm::isa<MapOp, ConcatOp>(op) ||
         (isOfCpu && llvm::isa<ChooseOp>(op) && op->getNumResults() == 1 &&
          llvm::isa<NamedTensorType>(op->getResult(0).getType()));
}

/// Returns whether a map repeats elements of `value` along an axis that only others have, also
/// of what only moves it.
static bool isRepeated(Value value) {
  auto rankOf = [](Value tensor) {
    return llvm::cast<NamedTensorType>(tensor.getType()).getRank();
  };
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (llvm::isa<MapOp>(user))
      return rankOf(user->getResult(0)) > rankOf(value);
    if (isCopied(user))
      return true; // it may read an element more than once
    return llvm::isa<CastOp>(user) && isRepeated(user->getResult(0));
  });
}

/// Operations that are unrolled, at most.
static constexpr int64_t mostUnrolled = 1024;

/// Operations that make one element of `value` out of what is stored, about, and no further
/// than what is unrolled: there are more paths through a graph than anybody counts.
static int64_t operationsBehind(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->hasAttr("schedule") || !(readsOneOfEach(op) || llvm::isa<WindowOp>(op)))
    return 1;
  int64_t count = 1;
  op->walk([&](Operation *inner) { count += inner != op; });
  for (Value operand : op->getOperands())
    if (llvm::isa<NamedTensorType>(operand.getType()) && count <= mostUnrolled)
      count += operationsBehind(operand);
  return count;
}

/// Returns whether `op` is a reduction that is unrolled where its result is read.
static bool isUnrolled(Operation *op, bool pixelsTogether) {
  return isSmallReduction(op) && !op->hasAttr("schedule") &&
         llvm::isa<KernelOp>(op->getParentOp()) &&
         operationsBehind(op->getOperand(0)) * *reducedElements(llvm::cast<ReduceOp>(op)) <=
             mostUnrolled &&
         reads(op->getResult(0), pixelsTogether) <= 1 && !isRepeated(op->getResult(0));
}

/// Returns whether all that reads `op` are unrolled reductions, so that places along
/// what they reduce are constants, and its elements are loads at sums and multiples of places, but
/// for those constants: a load more costs less than to store them all.
static bool isUnrolledLoad(Operation *op, bool pixelsTogether) {
  auto map = llvm::dyn_cast<MapOp>(op);
  if (!map || !map.getInputs().empty())
    return false;
  Block &body = map.getBody().front();
  Value made = body.getTerminator()->getOperand(0);
  auto cast = made.getDefiningOp<CastOp>();
  auto load = (cast ? cast.getValue() : made).getDefiningOp<LoadOp>();
  if (!load || load->getBlock() != &body)
    return false;
  llvm::SmallSetVector<StringRef, 4> divided;
  for (Operation &inner : body.without_terminator()) {
    auto binary = llvm::dyn_cast<BinaryOp>(inner);
    if (&inner == load || &inner == cast ||
        (binary && llvm::is_contained({BinaryKind::add, BinaryKind::mul}, binary.getKind())))
      continue;
    auto place = binary ? llvm::dyn_cast<BlockArgument>(binary.getLhs()) : BlockArgument();
    if (!place || place.getOwner() != &body ||
        !llvm::is_contained({BinaryKind::div, BinaryKind::rem}, binary.getKind()))
      return false;
    divided.insert(llvm::cast<NamedTensorType>(map.getType()).getAxes()[place.getArgNumber()].name);
  }
  return llvm::all_of(map->getUsers(), [&](Operation *user) {
    return isUnrolled(user, pixelsTogether) && llvm::all_of(divided, [&](StringRef name) {
             return llvm::is_contained(
                 llvm::cast<ReduceOp>(user).getOver().getAsValueRange<StringAttr>(), name);
           });
  });
}

void penstock::schedules::forEachStored(KernelOp kernel, bool pixelsTogether,
                                        llvm::function_ref<void(Operation &)> visit) {
  auto schedule = [&](Block &block) {
    for (Operation &op : block)
      if (isExpensive(&op, /*isOfCpu=*/pixelsTogether) &&
          reads(op.getResult(0), pixelsTogether) > 1 && !isUnrolledLoad(&op, pixelsTogether))
        visit(op);
  };
  schedule(kernel.getBody().front());
  kernel.walk([&](RepeatOp repeat) { schedule(repeat.getBody().front()); });
}

void penstock::schedules::forEachInline(KernelOp kernel, bool pixelsTogether,
                                        llvm::function_ref<void(Operation &)> visit) {
  for (Operation &op : kernel.getBody().front())
    if (isUnrolled(&op, pixelsTogether))
      visit(op);
}
