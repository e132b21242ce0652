// SPDX-License-Identifier: Apache-2.0
//
// Kernels as CUDA C++.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <optional>
#include <string>

namespace penstock::codegen {

struct CudaPrinterOptions {
  /// Stands in every kernel's name: `pst_PREFIX_k0`.
  std::string prefix;
  /// Returns the operator's name that the user wrote at a place; may be empty.
  std::function<std::string(mlir::FileLineColLoc)> wordAt;
};

/// The kernels of a module after `pipe-kernel-to-gpu` as CUDA C++ that includes
/// penstock.cuh. A comment names the user's line where it changes; loop
/// variables are the axes. Emits an error and returns nothing where an op has no
/// text.
std::optional<std::string> cudaText(mlir::ModuleOp module, const CudaPrinterOptions &options = {});

/// The name of a kernel or a table in that text.
std::string cudaKernelName(const CudaPrinterOptions &options, llvm::StringRef kernel);

/// The text of penstock.cuh, for compilers that have no folders.
std::string_view cudaHeader();

} // namespace penstock::codegen
