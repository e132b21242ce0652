// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ to PTX and cubins.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace penstock::codegen {

/// NVIDIA's run-time compiler, a library of the CUDA toolkit. Opened when first
/// needed; nothing of it is needed to build.
class Nvrtc {
public:
  /// Searches $PENSTOCK_NVRTC (a library or its folder), the folders that
  /// scripts/setup and the toolkit install to, and the system's own. The error
  /// says how to get it.
  static llvm::Expected<std::shared_ptr<const Nvrtc>> open();
  ~Nvrtc();

  /// "13.0"
  std::string version() const;
  /// The architectures that it makes code for: 75, 80 ...
  std::vector<int> architectures() const;

  enum class Form { ptx, cubin };
  /// Compiles what cudaText() wrote for an architecture `sm_90`. The error holds
  /// the compiler's messages.
  llvm::Expected<std::string> compile(const std::string &text, llvm::StringRef architecture,
                                      Form form) const;

private:
  struct Functions;
  explicit Nvrtc(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions;
};

} // namespace penstock::codegen
