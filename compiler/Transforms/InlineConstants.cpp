// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-inline-constants.
//
// Every scalar op is total, so the arms of a choice of scalars may all be
// evaluated. A search or a repeat in an arm stays behind its branch: it may
// cost more than all the rest of setup.
#include "compiler/Analysis/HoistScalars.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Transforms/Choices.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Rewrite.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_INLINECONSTANTS
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;
namespace analysis = penstock::analysis;

/// Moves the ops of `arm` before `op` and returns what the arm yields.
static SmallVector<Value> inlineArm(Region &arm, Operation *op, RewriterBase &rewriter) {
  Operation *yield = arm.front().getTerminator();
  SmallVector<Value> results(yield->getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&arm.front(), op);
  return results;
}

namespace {

struct KnownIndex : OpRewritePattern<ChooseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ChooseOp choose, PatternRewriter &rewriter) const override {
    const auto count = static_cast<int64_t>(choose.getArms().size());
    auto index = count == 1 ? std::optional<int64_t>(0) : constantOf(choose.getIndex());
    if (!index)
      return rewriter.notifyMatchFailure(choose, "its index is not known");
    Region &arm = choose.getArms()[std::clamp<int64_t>(*index, 0, count - 1)];
    rewriter.replaceOp(choose, inlineArm(arm, choose, rewriter));
    return success();
  }
};

struct SplitResults : OpRewritePattern<ChooseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ChooseOp choose, PatternRewriter &rewriter) const override {
    SmallVector<unsigned> scalars, others;
    for (OpResult result : choose->getResults())
      (isScalarType(result.getType()) ? scalars : others).push_back(result.getResultNumber());
    if (scalars.empty() || others.empty())
      return rewriter.notifyMatchFailure(choose, "its results are of a kind");
    splitChoice(choose, {others, scalars}, rewriter);
    return success();
  }
};

/// Scalars that a loop carries beside tensors do not depend on these: a loop of
/// their own gives the results, and the tensors' loop carries them for its
/// body's sake.
struct SplitCarried : OpRewritePattern<RepeatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RepeatOp repeat, PatternRewriter &rewriter) const override {
    SmallVector<unsigned> scalars;
    bool used = false;
    for (OpResult result : repeat->getResults())
      if (isScalarType(result.getType())) {
        scalars.push_back(result.getResultNumber());
        used |= !result.use_empty();
      }
    if (!used || scalars.size() == repeat->getNumResults())
      return rewriter.notifyMatchFailure(repeat, "its scalars are not used, or all there is");
    Block &body = repeat.getBody().front();
    SmallVector<Value> inits, yields;
    SmallVector<Type> types, arguments{rewriter.getI64Type()};
    for (unsigned i : scalars) {
      inits.push_back(repeat.getInits()[i]);
      yields.push_back(body.getTerminator()->getOperand(i));
      types.push_back(inits.back().getType());
    }
    llvm::append_range(arguments, types);
    const SetVector<Operation *> needed = neededIn(body, yields);
    if (llvm::any_of(needed, [](Operation *op) { return touchesTensors(op); }))
      return rewriter.notifyMatchFailure(repeat, "its scalars come from tensors");
    auto part = rewriter.create<RepeatOp>(repeat.getLoc(), types, repeat.getCount(),
                                          repeat.getBound(), inits, ValueRange());
    IRMapping mapping;
    Block *copy = rewriter.createBlock(&part.getBody(), {}, arguments,
                                       SmallVector<Location>(arguments.size(), repeat.getLoc()));
    mapping.map(body.getArgument(0), copy->getArgument(0));
    for (auto [number, i] : llvm::enumerate(scalars))
      mapping.map(body.getArgument(i + 1), copy->getArgument(number + 1));
    for (Operation &op : body.without_terminator())
      if (needed.contains(&op))
        rewriter.clone(op, mapping);
    for (Value &value : yields)
      value = mapping.lookupOrDefault(value);
    rewriter.create<YieldOp>(repeat.getLoc(), yields);
    for (auto [number, i] : llvm::enumerate(scalars))
      rewriter.replaceAllUsesWith(repeat.getResult(i), part.getResult(number));
    return success();
  }
};

struct SelectScalars : OpRewritePattern<ChooseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ChooseOp choose, PatternRewriter &rewriter) const override {
    if (!llvm::all_of(choose.getResultTypes(), isScalarType))
      return rewriter.notifyMatchFailure(choose, "it has tensor results");
    for (Region &arm : choose.getArms())
      for (Operation &op : arm.front())
        if (op.getNumRegions() != 0 || !isPure(&op))
          return rewriter.notifyMatchFailure(choose, "an arm holds a loop, a branch or a check");
    SmallVector<SmallVector<Value>> yields;
    for (Region &arm : choose.getArms())
      yields.push_back(inlineArm(arm, choose, rewriter));
    ScalarBuilder scalars(rewriter, choose.getLoc());
    SmallVector<Value> results;
    for (unsigned i = 0; i < choose->getNumResults(); ++i) {
      SmallVector<Value> choices;
      for (auto &arm : yields)
        choices.push_back(arm[i]);
      results.push_back(scalars.selectByIndex(choose.getIndex(), choices));
    }
    rewriter.replaceOp(choose, results);
    return success();
  }
};

/// Checks leave the arms of a choice of tensors, with the arm's condition: an
/// arm then holds what it computes, and passes see views as views.
struct ChecksLeave : OpRewritePattern<ChooseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ChooseOp choose, PatternRewriter &rewriter) const override {
    if (!touchesTensors(choose))
      return rewriter.notifyMatchFailure(choose, "setup keeps its branch");
    ScalarBuilder scalars(rewriter, choose.getLoc());
    const auto count = static_cast<int64_t>(choose.getArms().size());
    bool moved = false;
    for (auto [number, arm] : llvm::enumerate(choose.getArms()))
      for (auto check : llvm::make_early_inc_range(arm.front().getOps<CheckOp>())) {
        if (!llvm::all_of(check->getOperands(),
                          [&](Value operand) { return analysis::hoistScalars(operand, choose); }))
          continue;
        Value other = scalars.logicalNot(scalars.isArm(choose.getIndex(), number, count));
        Value condition = scalars.binary(BinaryKind::bit_or, check.getCondition(), other);
        rewriter.modifyOpInPlace(check, [&] {
          check.getConditionMutable().assign(condition);
          check->moveBefore(choose);
        });
        moved = true;
      }
    return success(moved);
  }
};

struct InlineConstantsPass : penstock::transforms::impl::InlineConstantsBase<InlineConstantsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<KnownIndex, SplitResults, SplitCarried, SelectScalars, ChecksLeave>(&getContext());
    if (failed(rewriteGreedily(*this, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
