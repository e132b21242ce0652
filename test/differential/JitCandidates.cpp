// SPDX-License-Identifier: Apache-2.0
//
// Generated code must not change a bit.
#include "compiler/Pipelines/Pipelines.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "test/differential/Candidates.h"
#include "test/differential/CudaDriver.h"
#include "test/differential/JitDriver.h"

using namespace penstock::reference;

namespace penstock::differential {

/// The module at stage `kernels`; false where a pass refuses it.
static bool toKernels(mlir::ModuleOp module, Outcome &outcome) {
  mlir::ScopedDiagnosticHandler diagnostics(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (outcome.refused.empty() && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      outcome.refused = diagnostic.str();
    return mlir::success();
  });
  mlir::PassManager passes(module.getContext());
  pipelines::buildOptPipeline(passes, {});
  pipelines::buildKernelsPipeline(passes, {});
  return mlir::succeeded(passes.run(module));
}

template <typename Kernels, typename... Options>
static Outcome compiled(mlir::ModuleOp module, const BatchInputs &inputs, Options... options) {
  Outcome outcome;
  if (!toKernels(module, outcome))
    return outcome;
  const Kernels kernels(module, options...);
  outcome.refused = kernels.error();
  if (!outcome.refused.empty())
    return outcome;
  BatchInputs driven = inputs;
  driven.kernels = &kernels;
  outcome.result = Interpreter(module).run(driven);
  return outcome;
}

std::vector<Candidate> jitCandidates(const Remote &remote) {
  std::vector<Candidate> result;
  for (const auto level : {codegen::CpuLevel::v2, codegen::CpuLevel::v3, codegen::CpuLevel::v4,
                           codegen::CpuLevel::v4vnni}) {
    if (level > codegen::Target::host().level)
      break;
    for (const bool forced : {false, true})
      result.push_back({(forced ? "forced loops, " : "code, ") + codegen::Target{level}.describe(),
                        [level, forced](mlir::ModuleOp module, const BatchInputs &inputs) {
                          return compiled<JitKernels>(module, inputs, codegen::Target{level},
                                                      nullptr, forced);
                        }});
  }
  if (!remote.command.empty()) {
    const auto target = codegen::Target::named(remote.target);
    auto machine = std::make_shared<RemoteMachine>(remote.command);
    for (const bool forced : {false, true})
      result.push_back(
          {(forced ? "forced loops on remote " : "code on remote ") + target->describe(),
           [target = *target, forced, machine](mlir::ModuleOp module, const BatchInputs &inputs) {
             return compiled<JitKernels>(module, inputs, target, machine.get(), forced);
           }});
  }
  for (const bool tiny : {false, true})
    result.push_back({tiny ? "cuda, tiny tiles" : "cuda",
                      [tiny](mlir::ModuleOp module, const BatchInputs &inputs) {
                        return compiled<CudaKernels>(module, inputs, tiny);
                      }});
  return result;
}

} // namespace penstock::differential
