// SPDX-License-Identifier: Apache-2.0
//
// Ops that are computed whole.
//
// Each has a file, which registers how it is computed. compiler/Conversion/CMakeLists.txt lists the
// names; what a file of that name defines is registerName().
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace penstock::conversion {

/// How ops are computed whole, by their names.
class WholeOps {
public:
  /// All that there are.
  static WholeOps all();

  template <typename Op> void add(mlir::LogicalResult (*compute)(const Site &, Op)) {
    known[Op::getOperationName()] = [compute](const Site &site, mlir::Operation *op) {
      return compute(site, llvm::cast<Op>(op));
    };
  }
  /// Emits what stores the results of `op`; nothing where it is computed otherwise.
  std::optional<mlir::LogicalResult> compute(const Site &site, mlir::Operation *op) const;

private:
  llvm::StringMap<std::function<mlir::LogicalResult(const Site &, mlir::Operation *)>> known;
};

} // namespace penstock::conversion
