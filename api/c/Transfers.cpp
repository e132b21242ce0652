// SPDX-License-Identifier: Apache-2.0
//
// Estimated costs of each transfer level.
#include "api/c/Transfers.h"
#include "api/c/Explain.h"
#include "compiler/Dialect/UserPlaces.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "compiler/Schedules/Passes.h"
#include "compiler/Transforms/FuseRemarks.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/abi/transfer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace penstock;
using namespace penstock::api;
using nlohmann::ordered_json;

/// Simulated samples: enough for branches of a chance of some percent.
static constexpr int imaginedSamples = 64;

static bool crossesAsPlanes(ModuleOp module) {
  return module
      .walk([](pipe::DecodeOp decode) {
        return decode.getPlanes() ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

FailureOr<std::vector<TransferLevelCost>> api::costLevels(ModuleOp module,
                                                          const pipelines::PassSelection &selection,
                                                          const Machine &machine) {
  std::vector<TransferLevelCost> levels;
  for (std::string_view name : transferLevels) {
    TransferLevelCost &level = levels.emplace_back();
    level.name = name;
    level.module = module.clone();
    pipelines::PassSelection wanted = selection;
    wanted.transfer = level.name;
    PassManager passes(module.getContext());
    passes.enableVerifier(false);
    pipelines::buildKernelsPipeline(passes, wanted);
    passes.addPass(schedules::createPlaceKernels());
    if (failed(passes.run(*level.module)))
      return failure();
    if (name == "planes" && !crossesAsPlanes(*level.module)) {
      levels.pop_back(); // nothing would differ from `pixels`
      continue;
    }
    level.costs = analysis::costsOf(*level.module, machine.typical, imaginedSamples);
    PassManager schedule(module.getContext());
    schedule.enableVerifier(false);
    pipelines::buildDeviceSchedulePipeline(schedule, wanted);
    if (failed(schedule.run(*level.module)))
      return failure();
    level.costs.launches = analysis::launchesOf(*level.module);
    level.times = analysis::timesOf(level.costs, machine.rates);
  }
  return levels;
}

size_t api::bestOf(const std::vector<TransferLevelCost> &levels) {
  SmallVector<analysis::CutTimes> times;
  for (const TransferLevelCost &level : levels)
    times.push_back(level.times);
  return analysis::bestOf(times);
}

/// The user's words for what has made a value: `random_resized_crop, flip`, or the field of a row.
/// The name of an output says little beside others.
static std::string makerOf(Value value, const dsl::SourceManager &sources) {
  Operation *op = value.getDefiningOp();
  if (auto field = llvm::dyn_cast<pipe::FieldOp>(op))
    return "field `" + field.getName().str() + "`";
  llvm::StringSet<> outputs;
  op->getParentOfType<pipe::PipelineOp>().walk(
      [&](pipe::OutputOp output) { outputs.insert(output.getName()); });
  SmallVector<std::string> words, names;
  for (FileLineColLoc place : pipe::userPlacesOf(op->getLoc()))
    if (const std::string word = wordAt(sources, place); !word.empty())
      (outputs.contains(word) ? names : words).push_back(word);
  SmallVector<std::string> &said = words.empty() ? names : words;
  said.erase(std::unique(said.begin(), said.end()), said.end());
  if (!said.empty())
    return llvm::join(said, ", ");
  auto launch = llvm::dyn_cast<pipe::LaunchOp>(op);
  return launch ? launch.getKernel().str() : "decode";
}

static ordered_json crossingOf(const TransferLevelCost &level, const dsl::SourceManager &sources) {
  ordered_json list = ordered_json::array();
  for (const auto &[value, bytes] : level.costs.crossing) {
    list.push_back({{"type", transforms::typeText(value)},
                    {"from", makerOf(value, sources)},
                    {"bytes", std::round(bytes)}});
    if (auto decode = value.getDefiningOp<pipe::DecodeOp>(); decode && decode.getPlanes())
      list.back()["planes"] = true;
  }
  return list;
}

std::string api::transfersJson(const std::vector<TransferLevelCost> &levels, const Machine &machine,
                               const std::string &pipeline, const dsl::SourceManager &sources) {
  ordered_json list = ordered_json::array();
  for (const TransferLevelCost &level : levels) {
    const analysis::CutCosts &costs = level.costs;
    const analysis::CutTimes &times = level.times;
    const double slowest = times.slowest();
    list.push_back({{"name", level.name},
                    {"crossing", crossingOf(level, sources)},
                    {"bytes", std::round(costs.bytes())},
                    {"bytes_back", std::round(costs.bytesBack)},
                    {"host",
                     {{"decoded", std::round(costs.decoded)},
                      {"operations", std::round(costs.hostOperations)},
                      {"kernels", costs.hostKernels},
                      {"seconds", times.host}}},
                    {"bus", {{"seconds", times.bus}}},
                    {"gpu",
                     {{"operations", std::round(costs.gpuOperations)},
                      {"bytes", std::round(costs.gpuBytes)},
                      {"launches", costs.launches},
                      {"seconds", times.gpu}}},
                    {"limit", slowest == times.host  ? "host"
                              : slowest == times.bus ? "bus"
                                                     : "gpu"},
                    {"samples_per_second", slowest > 0 ? 1 / slowest : 0.0}});
  }
  const ordered_json result = {{"version", 1},
                               {"pipeline", pipeline},
                               {"machine", machine.name},
                               {"threads", machine.rates.threads},
                               {"gpu_share", machine.rates.gpuShare},
                               {"auto", levels[bestOf(levels)].name},
                               {"levels", list}};
  return result.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}
