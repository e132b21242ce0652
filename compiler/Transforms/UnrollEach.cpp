// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-unroll-each.
#include "compiler/Dialect/Drawn.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Transforms/Branches.h"
#include "compiler/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_UNROLLEACH
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;

/// Longer loops stay loops: what they draw is not shown, and code stays small.
static constexpr uint64_t mostIterations = 16;
/// Operations of a pipeline whose views are unrolled.
static constexpr int64_t mostOperations = 20'000;

static int64_t operationsIn(Operation *op) {
  int64_t count = 0;
  op->walk([&](Operation *) { ++count; });
  return count;
}

/// Returns whether people are shown something that `repeat` draws.
static bool draws(RepeatOp repeat) {
  return repeat.getBody()
      .walk([](Operation *op) {
        return llvm::any_of(drawnNames(op), [](StringRef name) { return !name.empty(); })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static void unroll(EachOp each) {
  OpBuilder builder(each);
  ScalarBuilder scalars(builder, each.getLoc());
  Block &body = each.getBody().front();
  SmallVector<SmallVector<Value>> views(each.getNumResults());
  for (int64_t view = 0; view < static_cast<int64_t>(each.getViews()); ++view) {
    IRMapping mapping;
    mapping.map(body.getArgument(0), scalars.constant(view));
    for (Operation &op : body.without_terminator())
      numberDrawn(builder.clone(op, mapping), view);
    for (auto [i, yielded] : llvm::enumerate(body.getTerminator()->getOperands()))
      views[i].push_back(mapping.lookupOrDefault(yielded));
  }
  size_t size = 0;
  for (auto [i, result] : llvm::enumerate(each.getResults())) {
    auto type = llvm::cast<NamedTensorType>(result.getType());
    const size_t dynamic = type.dynamicAxes().size();
    auto stack = builder.create<StackOp>(each.getLoc(), type, each.getAxisAttr(), views[i],
                                         each.getSizes().slice(size, dynamic));
    size += dynamic;
    result.replaceAllUsesWith(stack.getResult());
    addRemark(stack, "unroll-each",
              Twine("stacks ") + Twine(each.getViews()) + " views along `" + each.getAxis() + "`");
  }
  each.erase();
}

namespace {
struct UnrollEachPass : penstock::transforms::impl::UnrollEachBase<UnrollEachPass> {
  void runOnOperation() override {
    // Post-order: a nested each is unrolled before it is copied.
    int64_t total = operationsIn(getOperation());
    const WalkResult fits = getOperation()->walk([&](EachOp each) {
      const int64_t body = operationsIn(each), views = static_cast<int64_t>(each.getViews());
      if (views > mostOperations || total + (views - 1) * body > mostOperations) {
        each.emitError() << views << " views of " << body
                         << " operations each are too many: a pipeline has at most "
                         << mostOperations << " operations, and this one " << total << " before";
        return WalkResult::interrupt();
      }
      total += (views - 1) * body;
      unroll(each);
      return WalkResult::advance();
    });
    if (fits.wasInterrupted())
      return signalPassFailure();
    getOperation()->walk([](RepeatOp repeat) {
      Guards guards;
      if (repeat.getBound() <= mostIterations && draws(repeat))
        unrollRepeat(repeat, guards);
    });
  }
};
} // namespace
