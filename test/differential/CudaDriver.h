// SPDX-License-Identifier: Apache-2.0
//
// Printed kernels on the CPU.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "runtime/abi/plan_generated.h"
#include "test/differential/JitDriver.h"
#include "test/differential/ShimLibrary.h"

namespace penstock::differential {

/// The kernels of a module at stage `kernels` as CUDA text, compiled for the CPU
/// behind codegen/cuda/shim.h. What the host runs beside a GPU too (select,
/// setup, tables) is CPU code.
///
/// Every call launches two samples with buffers of their own and one that is to be left out, three
/// times: with blocks and threads in ascending, descending and random order.
class CudaKernels final : public reference::KernelRunner {
public:
  /// \param tiny  in tiles of few rows that may not fit, by few threads.
  explicit CudaKernels(mlir::ModuleOp module, bool tiny = false);
  ~CudaKernels() override;
  const std::string &error() const { return failed; }
  /// Returns the number of launches so far.
  int64_t launches() const { return launched; }
  using Counts = std::map<std::string, pst_shim_counts>; ///< by kernel
  /// From now on each call launches once, and what its two samples touch is added here, for one.
  void countInto(Counts *all) { counts = all; }

  std::optional<reference::Failure> run(const std::string &kernel,
                                        const std::vector<const reference::Tensor *> &inputs,
                                        std::vector<reference::Tensor> &outputs,
                                        std::vector<int64_t> &scalars) const override;

private:
  struct Kernel {
    ShimLibrary::Kernel entry = nullptr;
    unsigned threads = 0;
    size_t shared = 0; ///< bytes of dynamic shared memory
    bool isBlock = false;
    Scratch scratch;
    std::vector<plan::RecordField> record;
  };
  std::optional<reference::Failure> launch(const std::string &name, const Kernel &kernel, int order,
                                           const std::vector<const reference::Tensor *> &inputs,
                                           std::vector<reference::Tensor> &outputs,
                                           const std::vector<int64_t> &scalars) const;
  bool load(const std::string &text);

  std::map<std::string, Kernel> kernels;
  std::unique_ptr<JitKernels> host;
  std::vector<std::string> messages; // of checks, from id 1
  std::string failed;
  std::unique_ptr<ShimLibrary> library;
  mutable int64_t launched = 0;
  Counts *counts = nullptr;
};

} // namespace penstock::differential
