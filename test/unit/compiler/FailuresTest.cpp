// SPDX-License-Identifier: Apache-2.0
//
// A pass that fails says which it was, and where.

#include "compiler/Pipelines/Failures.h"
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Transforms/Rewrite.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

using namespace mlir;

struct Silent final : PassWrapper<Silent, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Silent)
  StringRef getArgument() const override { return "pipe-silent"; }
  void runOnOperation() override { signalPassFailure(); }
};

/// x + y becomes y + x, for ever.
struct Swap final : OpRewritePattern<pipe::BinaryOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(pipe::BinaryOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<pipe::BinaryOp>(op, op.getType(), op.getKind(), op.getRhs(),
                                                op.getLhs());
    return success();
  }
};
struct Endless final : PassWrapper<Endless, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Endless)
  StringRef getArgument() const override { return "pipe-endless"; }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Swap>(&getContext());
    if (failed(transforms::rewriteGreedily(*this, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

/// Returns the pass's messages, with their places.
std::string messagesOf(std::unique_ptr<Pass> pass) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<pipe::PipeDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
#train = loc("train.pipe":3:1)
module {
  pipe.pipeline @p seed 0 substitute 0.05 {
    %a = pipe.param "a" : i64
    %b = pipe.param "b" : i64
    %c = pipe.binary add %a, %b : i64 loc("train.pipe":5:9)
    %d = pipe.compare lt %a, %b : i64
    pipe.check %d, "{0}" (%c, %c)
  } loc(#train)
}
)",
                                            &context);
  std::string all;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream stream(all);
    diagnostic.getLocation().print(stream);
    stream << ": " << diagnostic.str() << "\n";
    return success();
  });
  PassManager manager(&context);
  pipelines::nameFailures(manager, "pipe-opt");
  manager.addPass(std::move(pass));
  EXPECT_TRUE(failed(manager.run(*module)));
  return all;
}

TEST(Failures, OfASilentPassNamePassOpStageAndPlace) {
  EXPECT_EQ(messagesOf(std::make_unique<Silent>()),
            "loc(\"train.pipe\":3:1): pass `pipe-silent` fails on `pipe.pipeline` on the way to "
            "stage `pipe-opt` "
            "without a reason; please report this file\n");
}

TEST(Failures, OfPatternsThatUndoEachOtherNameTheOp) {
  EXPECT_EQ(messagesOf(std::make_unique<Endless>()),
            "loc(\"train.pipe\":5:9): pass `pipe-endless` rewrites `pipe.binary` over and over; "
            "please report this "
            "file\n");
}

} // namespace
} // namespace penstock
