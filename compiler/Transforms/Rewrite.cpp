// SPDX-License-Identifier: Apache-2.0
//
// Patterns until none matches.
//
// MLIR's driver gives up after ten rounds, as a failure without a message. Rounds
// are no measure: a long chain may need one for each of its ops. What tells patterns
// that undo each other is the number of rewrites for each op that there was.
#include "compiler/Transforms/Rewrite.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace penstock::transforms {

namespace {
/// Counts ops that appear or change, and remembers the last that appeared.
struct Count final : RewriterBase::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { note(op); }
  void notifyOperationModified(Operation *op) override {
    ++changes;
    if (!place)
      note(op);
  }
  void note(Operation *op) {
    ++changes;
    place = op->getLoc();
    name = op->getName();
  }
  int64_t changes = 0;
  std::optional<Location> place;
  std::optional<OperationName> name;
};
} // namespace

LogicalResult rewriteGreedily(Pass &pass, Operation *root, RewritePatternSet &&patterns) {
  // A view passes every op below it: a chain of views and maps makes the square.
  constexpr int64_t changesPerOp = 64, changesAtLeast = 1 << 17;
  const FrozenRewritePatternSet frozen(std::move(patterns));
  int64_t ops = 0;
  root->walk([&](Operation *) { ++ops; });
  const int64_t most = std::max(changesAtLeast, changesPerOp * ops);
  Count count;
  GreedyRewriteConfig config;
  config.maxIterations = 1; // rounds are counted here
  config.maxNumRewrites = most;
  config.enableRegionSimplification =
      GreedySimplifyRegionLevel::Disabled; // all regions have one block
  config.listener = &count;
  while (failed(applyPatternsAndFoldGreedily(root, frozen, config))) {
    if (count.changes < most)
      continue;
    return emitError(*count.place)
           << "pass `" << pass.getArgument() << "` rewrites `" << count.name->getStringRef()
           << "` over and over; please report this file";
  }
  return success();
}

} // namespace penstock::transforms
