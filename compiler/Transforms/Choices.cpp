// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/Choices.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::transforms {

SetVector<Operation *> neededIn(Block &body, ArrayRef<Value> values) {
  SetVector<Operation *> needed;
  SmallVector<Value> open(values);
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    op = op ? body.findAncestorOpInBlock(*op) : nullptr;
    if (!op || !needed.insert(op))
      continue;
    llvm::append_range(open, op->getOperands());
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::append_range(open, captured);
  }
  return needed;
}

/// The sizes of each result, which stand one after the other.
static SmallVector<SmallVector<Value>> sizesOf(ChooseOp choose) {
  SmallVector<SmallVector<Value>> sizes;
  ValueRange rest = choose.getSizes();
  for (Type type : choose.getResultTypes()) {
    auto tensor = llvm::dyn_cast<NamedTensorType>(type);
    const size_t count = tensor ? tensor.dynamicAxes().size() : 0;
    sizes.emplace_back(rest.take_front(count));
    rest = rest.drop_front(count);
  }
  return sizes;
}

/// Copies an arm as far as the results of a group go, and the checks if `hasChecks`.
static void copyArm(Region &from, Region &to, ArrayRef<unsigned> group, bool hasChecks,
                    RewriterBase &rewriter) {
  Block &body = from.front();
  SmallVector<Value> yielded;
  for (unsigned i : group)
    yielded.push_back(body.getTerminator()->getOperand(i));
  SmallVector<Value> kept = yielded;
  if (hasChecks)
    for (auto check : body.getOps<CheckOp>())
      llvm::append_range(kept, check->getOperands());
  const SetVector<Operation *> needed = neededIn(body, kept);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.createBlock(&to);
  IRMapping mapping;
  for (Operation &op : body.without_terminator())
    if (needed.contains(&op) || (hasChecks && llvm::isa<CheckOp>(op)))
      rewriter.clone(op, mapping);
  for (Value &value : yielded)
    value = mapping.lookupOrDefault(value);
  rewriter.create<YieldOp>(body.getTerminator()->getLoc(), yielded);
}

void splitChoice(ChooseOp choose, ArrayRef<SmallVector<unsigned>> groups, RewriterBase &rewriter) {
  const auto sizes = sizesOf(choose);
  SmallVector<Value> replacements(choose->getNumResults());
  for (const auto &group : groups) {
    SmallVector<Type> types;
    SmallVector<Value> ofGroup;
    for (unsigned i : group) {
      types.push_back(choose->getResult(i).getType());
      llvm::append_range(ofGroup, sizes[i]);
    }
    auto part = rewriter.create<ChooseOp>(choose.getLoc(), types, choose.getIndex(), ofGroup,
                                          choose.getArms().size());
    for (auto [from, to] : llvm::zip(choose.getArms(), part.getArms()))
      copyArm(from, to, group, &group == &groups.front(), rewriter);
    for (auto [i, at] : llvm::enumerate(group))
      replacements[at] = part.getResult(i);
  }
  rewriter.replaceOp(choose, replacements);
}

} // namespace penstock::transforms
