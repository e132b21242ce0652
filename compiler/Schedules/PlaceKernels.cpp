// SPDX-License-Identifier: Apache-2.0
//
// Which kernels a GPU runs.
//
// One frontier through the pipeline: what is decoded crosses it, or what the host has made of
// that (the option `transfer` of pipe-fuse), and nothing comes back but outputs. A kernel stays on
// the host where there is no GPU code for it, or where something on the host reads what it makes: a
// codec, a table, or another kernel that stays. So it is for decodes that would cross as planes:
// what the host reads it decodes to pixels.
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Dialect/UserPlaces.h"
#include "compiler/Schedules/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace penstock::schedules {
#define GEN_PASS_DEF_PLACEKERNELS
#include "compiler/Schedules/Passes.h.inc"
} // namespace penstock::schedules

using namespace mlir;
using namespace penstock::pipe;

/// Why a GPU cannot run a kernel; empty: it can.
static std::string reasonToStay(KernelOp kernel) {
  if (kernel.getKind() != "pixels")
    return "it is no kernel of pixels";
  if (kernel->hasAttr("weights"))
    return "the host makes tables, in f64";
  if (isOfHost(kernel))
    return "it comes before what crosses to the GPU";
  const auto found = kernel.walk([&](CheckOp check) {
    return check->getParentOp() == kernel ? WalkResult::advance() : WalkResult::interrupt();
  });
  return found.wasInterrupted() ? "a check inside a branch or a loop has no GPU code yet" : "";
}

namespace {
struct PlaceKernelsPass : penstock::schedules::impl::PlaceKernelsBase<PlaceKernelsPass> {
  void runOnOperation() override {
    llvm::StringMap<std::string> stays; // by kernel: why
    llvm::StringMap<KernelOp> kernels;
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      kernels[kernel.getSymName()] = kernel;
      if (std::string why = reasonToStay(kernel); !why.empty())
        stays[kernel.getSymName()] = why;
    }
    SmallVector<LaunchOp> launches;
    getOperation().walk([&](LaunchOp launch) { launches.push_back(launch); });
    // Until nothing changes: each turn a kernel more stays, or it is the last.
    for (bool changed = true; changed;) {
      changed = false;
      for (LaunchOp launch : llvm::reverse(launches)) {
        if (stays.contains(launch.getKernel()))
          continue;
        std::string why;
        llvm::DenseSet<Operation *> seen;
        for (Value result : launch.getResults())
          if (why.empty())
            why = readOnHost(result, stays, seen);
        if (!why.empty()) {
          stays[launch.getKernel()] = why;
          changed = true;
        }
      }
    }
    for (auto &[name, kernel] : kernels) {
      auto why = stays.find(name);
      if (why == stays.end())
        kernel->setAttr("place", StringAttr::get(&getContext(), "gpu"));
      else if (kernel.getKind() == "pixels")
        addRemark(kernel, "place-kernels", "stays on the host: " + why->second);
    }
    keepPixelsOfHost(stays);
  }

  void keepPixelsOfHost(const llvm::StringMap<std::string> &stays) {
    llvm::StringSet<> planes, wanted;
    getOperation().walk([&](DecodeOp decode) {
      if (!decode.getPlanes())
        return;
      const StringRef kernel = *decode.getPlanes();
      planes.insert(kernel);
      llvm::DenseSet<Operation *> seen;
      if (std::string why = readOnHost(decode, stays, seen); !why.empty()) {
        decode.removePlanesAttr();
        addRemark(decode, "place-kernels", "crosses as pixels: " + why);
      } else if (readOnGpu(decode)) {
        wanted.insert(kernel);
      } else {
        decode.removePlanesAttr();
      }
    });
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (planes.contains(kernel.getSymName()) && !wanted.contains(kernel.getSymName()))
        kernel.erase();
  }

  static bool readOnGpu(Value tensor) {
    return llvm::any_of(tensor.getUsers(), [](Operation *user) {
      return llvm::isa<LaunchOp>(user) ||
             (llvm::isa<SwitchOp, PeerOp, PeersOp>(user) && readOnGpu(user->getResult(0)));
    });
  }

  /// Who on the host reads a tensor.
  static std::string readOnHost(Value tensor, const llvm::StringMap<std::string> &stays,
                                llvm::DenseSet<Operation *> &seen) {
    for (Operation *user : tensor.getUsers()) {
      if (!seen.insert(user).second)
        continue;
      if (auto launch = llvm::dyn_cast<LaunchOp>(user)) {
        if (stays.contains(launch.getKernel()))
          return "kernel " + launch.getKernel().str() + ", which stays there, reads what it makes";
      } else if (llvm::isa<SwitchOp, PeerOp, PeersOp>(user)) {
        if (std::string why = readOnHost(user->getResult(0), stays, seen); !why.empty())
          return why;
      } else if (!llvm::isa<OutputOp>(user)) {
        return "the host reads what it makes";
      }
    }
    return "";
  }
};
} // namespace
