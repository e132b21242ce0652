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
static_assert(PST_JOINED_LOAD == 0xFFFFFFFEu && PST_JOINED_STORE == 0xFFFFFFFFu,
              "as pst_carries() in penstock.cuh has them");

int64_t codegen::partsOf(pipe::LaunchOp launch, func::FuncOp function) {
  const bool has = llvm::any_of(argumentsOf(function), [](const KernelArgument &argument) {
    return argument.source == ArgumentSource::part;
  });
  if (!has || launch->getNumResults() != 1)
    return 0;
  const auto axes = llvm::cast<pipe::NamedTensorType>(launch.getResult(0).getType()).getAxes();
  return axes.empty() || !axes.front().isStatic() ? 0 : axes.front().extent;
}

/// The launches of a group that may have made a tensor have to be of the reader's chain.
static LogicalResult readsOwnChain(pipe::LaunchOp op) {
  llvm::SetVector<Value> reached;
  for (Value tensor : op.getTensors())
    reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *made = reached[next].getDefiningOp();
    if (auto chosen = llvm::dyn_cast_if_present<pipe::SwitchOp>(made))
      reached.insert(chosen.getInputs().begin(), chosen.getInputs().end());
    auto before = llvm::dyn_cast_if_present<pipe::LaunchOp>(made);
    if (before && before.getGroup() == op.getGroup() && before.getChain() != op.getChain())
      return op.emitOpError("reads what another chain of its group makes");
  }
  return success();
}

/// Counts a launch to its chain, or to those of its parts.
static LogicalResult addToChains(JoinedLaunch &all, pipe::LaunchOp op, func::FuncOp function,
                                 bool isFirst) {
  const int64_t parts = partsOf(op, function);
  const bool isChained = op.getChain() || parts > 0;
  if (!isFirst && isChained != !all.inChain.empty())
    return op.emitOpError("is of no chain, or alone is of one, in its group");
  if (!isChained)
    return success();
  constexpr int64_t mostChains = 1 << 10;
  const auto first = static_cast<int64_t>(op.getChain().value_or(0));
  const int64_t end = op.getChain() ? first + 1 : parts;
  if (end > mostChains)
    return op.emitOpError("is of more chains than there may be");
  all.inChain.resize(std::max(all.inChain.size(), static_cast<size_t>(end)));
  for (int64_t chain = first; chain < end; ++chain)
    ++all.inChain[static_cast<size_t>(chain)];
  const auto launch = launchOf(function);
  if (launch->heldAt) {
    const int64_t bytes = *launch->shared - *launch->heldAt - PST_DEVICE_SLACK;
    if (all.most && all.heldAt != *launch->heldAt)
      return op.emitOpError("holds tensors elsewhere than the other launches of its group");
    all.heldAt = *launch->heldAt;
    all.least = all.most ? std::min(all.least, bytes) : bytes;
    all.most = std::max(all.most, bytes);
  }
  return op.getChain() ? readsOwnChain(op) : success();
}

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
    if (failed(addToChains(all, op, function, isNew)))
      return WalkResult::interrupt();
    all.bodies.insert(function);
    all.shared = std::max(all.shared, launch->shared.value_or(0));
    ++all.steps;
    return WalkResult::advance();
  });
  if (found.wasInterrupted())
    return failure();
  return joined;
}

/// The body that a step says.
static void printBodies(llvm::raw_ostream &os, const JoinedLaunch &launch,
                        const CudaPrinterOptions &options) {
  os << "    switch (step.body) {\n";
  for (auto [number, body] : llvm::enumerate(launch.bodies)) {
    auto function = llvm::cast<func::FuncOp>(body);
    os << "    case " << number << ":\n";
    if (launchOf(function)->isOneBlock() && launch.inChain.empty())
      os << "      if (blockIdx.x == 0)\n  ";
    os << "      " << cudaKernelName(options, function.getSymName())
       << "_body(step.record, status);\n"
       << "      break;\n";
  }
  os << "    }\n  }\n}\n";
}

/// A block runs a chain, alone.
static void printChains(llvm::raw_ostream &os, const JoinedLaunch &launch,
                        const CudaPrinterOptions &options) {
  const std::string sample = "pst_joined_sample<" + std::to_string(launch.room()) + ">";
  os << "\n// " << launch.steps << " launches in one, of " << launch.chains()
     << " chains: a block of " << launch.threads
     << " threads for each sample and chain runs what it takes of it, with " << launch.shared
     << " bytes of shared memory, where pictures stay.\n";
  os << "PST_KERNEL __launch_bounds__(" << launch.threads << ", 1) "
     << cudaKernelName(options, launch.name) << "(" << sample
     << " *samples, pst_sample_status *status) {\n"
     << "  const " << sample << " &sample = samples[blockIdx.y];\n"
     << "  if (pst_left_out(status, sample.entry))\n"
     << "    return;\n";
  if (launch.most)
    os << "  i8 *held = pst_shared() + " << launch.heldAt << ";\n"
       << "  pst_clear_around(held, " << launch.least << ", " << launch.most << ");\n";
  os << "  for (u32 i = 0; i < sample.steps; ++i) {\n"
     << "    const pst_joined_step step = sample.step[i];\n"
     << "    __syncthreads();\n";
  if (launch.most)
    os << "    if (pst_carries(step, held))\n"
       << "      continue;\n";
  printBodies(os, launch, options);
}

void codegen::printJoined(llvm::raw_ostream &os, const JoinedLaunch &launch,
                          const CudaPrinterOptions &options) {
  if (!launch.inChain.empty())
    return printChains(os, launch, options);
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
        "      continue;\n";
  printBodies(os, launch, options);
}
