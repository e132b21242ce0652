// SPDX-License-Identifier: Apache-2.0
//
// A kernel that runs the steps of each sample.
#include "codegen/cuda/Joined.h"
#include "compiler/Conversion/KernelContract.h"
#include "runtime/abi/kernel.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;
using namespace penstock::conversion;

/// Least blocks per multiprocessor, which bounds the registers of joined bodies.
static constexpr int blocksTogether = 4;

FailureOr<llvm::MapVector<int64_t, JoinedLaunch>> codegen::joinedLaunches(ModuleOp module) {
  llvm::MapVector<int64_t, JoinedLaunch> joined;
  SymbolTable symbols(module);
  std::optional<int64_t> before;
  const auto found = module.walk([&](pipe::LaunchOp op) {
    const auto group = op.getGroup();
    auto function = symbols.lookup<func::FuncOp>(op.getKernel());
    const auto launch = function ? launchOf(function) : std::nullopt;
    if (!launch) {
      if (!group)
        return WalkResult::advance();
      op.emitOpError("has a group, and runs on no GPU");
      return WalkResult::interrupt();
    }
    const bool isNew = before != group;
    before = group;
    if (!group)
      return WalkResult::advance();
    if (isNew && joined.contains(*group)) {
      op.emitOpError() << "is apart from the other launches of group " << *group;
      return WalkResult::interrupt();
    }
    JoinedLaunch &all = joined[*group];
    if (isNew) {
      all.name = "joined" + std::to_string(joined.size() - 1);
      all.threads = launch->threads;
    } else if (all.threads != launch->threads) {
      op.emitOpError() << "has other blocks than the other launches of group " << *group;
      return WalkResult::interrupt();
    }
    all.bodies.insert(function);
    all.shared = std::max(all.shared, launch->shared.value_or(0));
    ++all.steps;
    return WalkResult::advance();
  });
  if (found.wasInterrupted())
    return failure();
  return joined;
}

void codegen::printJoined(llvm::raw_ostream &os, const JoinedLaunch &launch,
                          const CudaPrinterOptions &options) {
  const std::string sample = "pst_joined_sample<" + std::to_string(launch.steps) + ">";
  os << "\n// " << launch.steps << " launches in one: up to " << PST_MAX_JOINED_BLOCKS
     << " blocks of " << launch.threads
     << " threads for each sample run what it takes of them, one after the other";
  if (launch.shared)
    os << ", with " << launch.shared << " bytes of shared memory";
  os << ".\n";
  os << "PST_KERNEL __launch_bounds__(" << launch.threads << ", " << blocksTogether << ") "
     << cudaKernelName(options, launch.name) << "(" << sample
     << " *samples, pst_sample_status *status) {\n";
  os << "  " << sample << " &sample = samples[blockIdx.y];\n";
  os << "  for (u32 i = 0; i < sample.steps; ++i) {\n"
        "    const pst_joined_step step = sample.step[i];\n"
        "    if (!pst_takes(step, &sample.arrived, status, sample.entry))\n"
        "      continue;\n"
        "    switch (step.body) {\n";
  for (auto [number, body] : llvm::enumerate(launch.bodies)) {
    auto function = llvm::cast<func::FuncOp>(body);
    const std::string name = cudaKernelName(options, function.getSymName());
    os << "    case " << number << ":\n";
    if (launchOf(function)->isOneBlock())
      os << "      if (blockIdx.x == 0)\n  ";
    os << "      " << name << "_body(step.record, status);\n"
       << "      break;\n";
  }
  os << "    }\n  }\n}\n";
}
