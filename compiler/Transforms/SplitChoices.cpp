// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-split-choices.
//
// A photo and its boxes are flipped together, by one choice. As one op it is no view of the photo,
// and ties the photo's kernel to the boxes': whatever reads either makes both.
#include "compiler/Transforms/Choices.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Rewrite.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_SPLITCHOICES
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;

/// Returns whether it costs nothing to have `op` twice: it moves elements, or computes scalars.
static bool isFree(Operation *op) {
  return llvm::isa<ViewOp, PadOp, ConstantOp>(op) || !touchesTensors(op);
}

/// The results that some arm computes together, in one group each.
static SmallVector<SmallVector<unsigned>> groupsOf(ChooseOp choose) {
  llvm::EquivalenceClasses<unsigned> together;
  for (unsigned i = 0; i < choose->getNumResults(); ++i)
    together.insert(i);
  for (Region &arm : choose.getArms()) {
    llvm::DenseMap<Operation *, unsigned> firstReader;
    for (unsigned i = 0; i < choose->getNumResults(); ++i)
      for (Operation *op : neededIn(arm.front(), arm.front().getTerminator()->getOperand(i)))
        if (const auto [found, isNew] = firstReader.try_emplace(op, i); !isNew && !isFree(op))
          together.unionSets(found->second, i);
  }
  llvm::MapVector<unsigned, SmallVector<unsigned>> groups;
  for (unsigned i = 0; i < choose->getNumResults(); ++i)
    groups[together.getLeaderValue(i)].push_back(i);
  SmallVector<SmallVector<unsigned>> all;
  for (auto &[leader, group] : groups)
    all.push_back(group);
  return all;
}

namespace {

struct ChoiceOfSeveral : OpRewritePattern<ChooseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ChooseOp choose, PatternRewriter &rewriter) const override {
    const auto groups = groupsOf(choose);
    if (groups.size() < 2)
      return rewriter.notifyMatchFailure(choose, "its results are computed together");
    splitChoice(choose, groups, rewriter);
    return success();
  }
};

struct SplitChoicesPass : penstock::transforms::impl::SplitChoicesBase<SplitChoicesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ChoiceOfSeveral>(&getContext());
    if (failed(rewriteGreedily(*this, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
