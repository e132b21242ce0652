// SPDX-License-Identifier: Apache-2.0
//
// The pass pipelines from pipe to kernels.
#include "compiler/Pipelines/Pipelines.h"
#include "compiler/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include <map>

namespace penstock::pipelines {

using namespace transforms;

const std::vector<OptimisingPass> &optimisingPasses() {
  static const std::vector<OptimisingPass> passes{
      {"split-choices", "choices of several tensors"},
      {"merge-views", "choices between tensors"},
      {"compose-views", "views and pads"},
      {"sink-casts", "bytes per element of what views read"},
      {"merge-maps", "pointwise ops"},
      {"narrow", "cost of the pointwise regions"},
      {"collapse-tables", "cost of the pointwise regions over pixels"},
      {"required-regions", "pixels that decoders are asked for"},
      {"fuse", "kernels and temporaries"},
      {"share-kernels", "kernels that code is made for"},
      {"join-launches", "launches on a GPU"},
      {"hold-pictures", "bytes that go through a GPU's memory"},
  };
  return passes;
}

/// The least of what a block may have of shared memory on these GPUs, in bytes: CUDA C++
/// Programming Guide, "Technical Specifications per Compute Capability". 48 KiB are everywhere.
static int64_t sharedMemoryOf(const std::vector<std::string> &gpus) {
  static const std::map<std::string, int64_t, std::less<>> known{
      {"sm_75", 64},   {"sm_80", 163},  {"sm_86", 99},  {"sm_87", 163},
      {"sm_88", 99},   {"sm_89", 99},   {"sm_90", 227}, {"sm_100", 227},
      {"sm_103", 227}, {"sm_110", 227}, {"sm_120", 99}, {"sm_121", 99}};
  int64_t least = INT64_MAX;
  for (const std::string &gpu : gpus) {
    const auto found = known.find(gpu);
    least = std::min<int64_t>(least, found == known.end() ? 48 : found->second);
  }
  return gpus.empty() ? 0 : least << 10;
}

PassSelection PassSelection::ofDevice(const std::vector<std::string> &gpus) {
  PassSelection all;
  all.device = !gpus.empty();
  all.shared = sharedMemoryOf(gpus);
  return all;
}

void buildOptPipeline(mlir::OpPassManager &manager, const PassSelection &selection) {
  // Views of an `each` become ordinary ops first, so that no later pass has to
  // look through it.
  manager.addPass(createUnrollEach());
  // Folding makes indices of choices constant (`if q == 0` in a view) ...
  manager.addPass(mlir::createCanonicalizerPass());
  // ... and what all views share is computed once.
  manager.addPass(mlir::createCSEPass());
  // After folding; before merge-views, which wants choices of tensors alone.
  manager.addPass(createInlineConstants());
  // A choice of one tensor may be a view.
  if (selection.runs("split-choices"))
    manager.addPass(createSplitChoices());
  // Before the arms' views are composed with what stands around the choice.
  if (selection.runs("merge-views"))
    manager.addPass(createMergeViews());
  // Fewer views to move.
  if (selection.runs("compose-views"))
    manager.addPass(createComposeViews());
  // Views have their final form: move them towards the decoder.
  if (selection.runs("sink-casts")) {
    SinkCastsOptions options;
    options.device = selection.device;
    manager.addPass(createSinkCasts(options));
  }
  // Views that moved meet others.
  if (selection.runs("compose-views"))
    manager.addPass(createComposeViews());
  // No view stands between pointwise ops any more.
  if (selection.runs("merge-maps"))
    manager.addPass(createMergeMaps());
  // Regions hold whole chains. Folding first: constants of the chain meet.
  manager.addPass(mlir::createCanonicalizerPass());
  // Before the tables: two operations on a vector beat any table.
  if (selection.runs("narrow"))
    manager.addPass(createNarrow());
  if (selection.runs("collapse-tables"))
    manager.addPass(createCollapseTables());
  // Removes ops that the passes left without users, and merges equal tables of several views.
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
}

void buildKernelsPipeline(mlir::OpPassManager &manager, const PassSelection &selection) {
  // On the DAG of the whole pipeline: after the cut, a kernel sees only its own
  // inputs.
  if (selection.runs("required-regions"))
    manager.addPass(createRequiredRegions());
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  // Before the split: a kernel's scalar arguments are what needs a slot.
  FuseOptions options;
  options.everyOp = !selection.runs("fuse");
  options.transfer = selection.transfer;
  options.device = selection.device;
  manager.addPass(createFuse(options));
  // Numbers of places are scalar arguments, too.
  if (selection.runs("share-kernels"))
    manager.addPass(createShareKernels());
  // Guards and indices of branches fold before they get a slot.
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  manager.addPass(createSplit());
  // Setup and select share what they computed twice.
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
  manager.addPass(createVerifyKernels());
}

namespace {
struct PipelineOptions : mlir::PassPipelineOptions<PipelineOptions> {
  ListOption<std::string> disable{*this, "disable",
                                  llvm::cl::desc("optimising passes to leave out")};
  PassSelection selection() const {
    PassSelection result;
    result.disabled.insert(disable.begin(), disable.end());
    return result;
  }
};
} // namespace

void registerPipelines() {
  mlir::PassPipelineRegistration<PipelineOptions>(
      "penstock-opt-pipeline", "pipe -> pipe-opt",
      [](mlir::OpPassManager &manager, const PipelineOptions &options) {
        buildOptPipeline(manager, options.selection());
      });
  mlir::PassPipelineRegistration<PipelineOptions>(
      "penstock-kernels-pipeline", "pipe-opt -> kernels",
      [](mlir::OpPassManager &manager, const PipelineOptions &options) {
        buildKernelsPipeline(manager, options.selection());
      });
}

} // namespace penstock::pipelines
