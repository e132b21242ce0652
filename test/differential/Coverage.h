// SPDX-License-Identifier: Apache-2.0
//
// Coverage of the generated pipelines.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <array>
#include <map>
#include <string>
#include <vector>

namespace penstock::differential {

/// Counts what was compared: tensor ops by element type and by class of extents
/// (one of 0, all 1, a leading 1, odd, a multiple of a vector width +- 1, above 4096, known
/// per sample, other), and pairs of ops that stood in one kernel.
class Coverage {
public:
  /// `module` as it was made.
  void count(mlir::ModuleOp module);
  void print(llvm::raw_ostream &stream) const;
  /// The cells that must not be empty and are, as `map f16`, `map >4096`,
  /// `map + view`.
  std::vector<std::string> missing() const;

private:
  static constexpr size_t types = 11, classes = 8;
  struct Row {
    std::array<int64_t, types> byType{};
    std::array<int64_t, classes> byExtent{};
  };
  std::map<std::string, Row> rows;
  std::map<std::pair<std::string, std::string>, int64_t> pairs;
};

} // namespace penstock::differential
