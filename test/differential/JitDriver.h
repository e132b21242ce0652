// SPDX-License-Identifier: Apache-2.0
//
// Generated code under the reference's hands.
#pragma once

#include "codegen/cpu/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/kernel.h"
#include "stdlib/reference/Interpreter.h"
#include "test/differential/Buffers.h"
#include "test/differential/RemoteMachine.h"
#include <map>
#include <memory>

namespace penstock::differential {

/// The kernels of a module at stage `kernels`, compiled. Every call gets fresh
/// buffers that end at a protected page and are poisoned where they are written.
class JitKernels final : public reference::KernelRunner {
public:
  /// Compiles a copy of the module; `error()` says what went wrong. The code runs on `remote` where
  /// that is not null. `forced`: with loops that nobody chose (ForcedLoops.h).
  JitKernels(mlir::ModuleOp module, const codegen::Target &target, RemoteMachine *remote = nullptr,
             bool forced = false);
  ~JitKernels() override;
  const std::string &error() const { return failed; }

  std::optional<reference::Failure> run(const std::string &kernel,
                                        const std::vector<const reference::Tensor *> &inputs,
                                        std::vector<reference::Tensor> &outputs,
                                        std::vector<int64_t> &scalars) const override;

private:
  void readAttributes(mlir::ModuleOp loops);

  std::shared_ptr<const runtime::Image> image; // where it runs here
  RemoteMachine *remote;
  std::map<std::string, Scratch> scratch;
  std::map<std::string, std::vector<int64_t>> dense; // tensors that a kernel relies on
  std::vector<std::string> messages;                 // of checks, from id 1
  std::string failed;
};

} // namespace penstock::differential
