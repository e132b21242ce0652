// SPDX-License-Identifier: Apache-2.0
//
// The passes must not change a bit.
#include "compiler/Analysis/TransferCost.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Schedules/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/abi/transfer.h"
#include "test/differential/Candidates.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace penstock::reference;

namespace penstock::differential {

namespace {
/// Interprets the module after every pass that changed it, up to the first
/// wrong one.
class Watch final : public mlir::PassInstrumentation {
public:
  Watch(mlir::ModuleOp module, const BatchInputs &inputs, Outcome &outcome)
      : module(module), inputs(inputs), outcome(outcome), fingerprint(module) {
    outcome.result = Interpreter(module).run(inputs);
    first = outcome.result;
  }

  void runAfterPass(mlir::Pass *pass, mlir::Operation *) override {
    const mlir::OperationFingerPrint now(module);
    if (now == fingerprint || wrong)
      return;
    fingerprint = now;
    outcome.result = Interpreter(module).run(inputs);
    if (auto found = firstDifference(first, outcome.result)) {
      wrong = true;
      llvm::errs() << "after " << pass->getArgument() << ": " << *found << "\n";
      module.print(llvm::errs());
    }
  }

private:
  mlir::ModuleOp module;
  const BatchInputs &inputs;
  Outcome &outcome;
  mlir::OperationFingerPrint fingerprint;
  BatchResult first;
  bool wrong = false;
};
} // namespace

/// Runs the passes; a refusal has their first error.
static Outcome afterPasses(mlir::ModuleOp module, const BatchInputs &inputs,
                           const pipelines::PassSelection &selection, bool afterEach) {
  Outcome outcome;
  mlir::ScopedDiagnosticHandler diagnostics(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (outcome.refused.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      outcome.refused = diagnostic.str();
    return mlir::success();
  });
  mlir::PassManager passes(module.getContext());
  if (afterEach)
    passes.addInstrumentation(std::make_unique<Watch>(module, inputs, outcome));
  pipelines::buildOptPipeline(passes, selection);
  pipelines::buildKernelsPipeline(passes, selection);
  if (mlir::failed(passes.run(module))) {
    if (outcome.refused.empty())
      outcome.refused = "a pass fails without a reason";
    return outcome;
  }
  outcome.refused.clear();
  if (!afterEach)
    outcome.result = Interpreter(module).run(inputs);
  return outcome;
}

std::vector<Candidate> passCandidates() {
  return {
      {"passes, after each",
       [](mlir::ModuleOp module, const BatchInputs &inputs) {
         return afterPasses(module, inputs, {}, /*afterEach=*/true);
       }},
      {"passes, without one, cut where values cross to a GPU",
       [](mlir::ModuleOp module, const BatchInputs &inputs) {
         const auto &passes = pipelines::optimisingPasses();
         pipelines::PassSelection selection;
         selection.disabled.insert(std::string(passes[inputs.seed % passes.size()].name));
         selection.transfer =
             transferLevels[inputs.seed / passes.size() % std::size(transferLevels)];
         return afterPasses(module, inputs, selection, /*afterEach=*/false);
       }},
      {"what transfers cost, and launches joined", // of any pipeline: numbers, and no bit changed
       [](mlir::ModuleOp module, const BatchInputs &inputs) {
         Outcome outcome;
         mlir::PassManager passes(module.getContext());
         pipelines::buildOptPipeline(passes, {});
         pipelines::buildKernelsPipeline(passes, {});
         passes.addPass(schedules::createPlaceKernels());
         if (mlir::failed(passes.run(module))) {
           outcome.refused = "a pass fails";
           return outcome;
         }
         const analysis::CutCosts costs = analysis::costsOf(module, {}, 4);
         if (!std::isfinite(costs.bytes() + costs.hostOperations + costs.gpuOperations))
           outcome.refused = "the costs are no numbers";
         mlir::PassManager schedule(module.getContext());
         pipelines::buildDeviceSchedulePipeline(schedule,
                                                pipelines::PassSelection::ofDevice({"sm_90"}));
         if (mlir::failed(schedule.run(module)) || mlir::failed(mlir::verify(module))) {
           outcome.refused = "launches are not joined";
           return outcome;
         }
         outcome.result = Interpreter(module).run(inputs);
         return outcome;
       }},
  };
}

} // namespace penstock::differential
