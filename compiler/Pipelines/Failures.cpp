// SPDX-License-Identifier: Apache-2.0
//
// Errors for passes that fail without one.
#include "compiler/Pipelines/Failures.h"
#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"

using namespace mlir;

namespace penstock::pipelines {

namespace {
class NamedFailures final : public PassInstrumentation {
public:
  NamedFailures(MLIRContext *context, StringRef stage)
      : engine(context->getDiagEngine()), stage(stage) {
    handler = engine.registerHandler([this](Diagnostic &diagnostic) {
      hasReason |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure(); // the next handler takes it
    });
  }
  ~NamedFailures() override { engine.eraseHandler(handler); }

  void runAfterPassFailed(Pass *pass, Operation *op) override {
    if (hasReason)
      return;
    Operation *at = op;
    op->walk([&](pipe::PipelineOp pipeline) { at = pipeline; });
    emitError(at->getLoc()) << "pass `" << pass->getArgument() << "` fails on `"
                            << at->getName().getStringRef() << "` on the way to stage `" << stage
                            << "` without a reason; please report this file";
  }

private:
  DiagnosticEngine &engine;
  DiagnosticEngine::HandlerID handler;
  std::string stage;
  bool hasReason = false;
};
} // namespace

void nameFailures(PassManager &manager, StringRef stage) {
  manager.addInstrumentation(std::make_unique<NamedFailures>(manager.getContext(), stage));
}

} // namespace penstock::pipelines
