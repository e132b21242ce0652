// SPDX-License-Identifier: Apache-2.0
//
// Estimated costs of each transfer level.
#pragma once

#include "api/c/Machine.h"
#include "compiler/Analysis/TransferCost.h"
#include "compiler/Pipelines/Pipelines.h"
#include "dsl/Diagnostics/Source.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace penstock::api {

/// A pipeline cut at one level.
struct TransferLevelCost {
  std::string name;
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< at stage `kernels`, its kernels placed
  analysis::CutCosts costs;
  analysis::CutTimes times;
};

/// Cuts a module at stage `pipe-opt` at each level, and imagines samples of each. Fails where a
/// pass does, which has said why.
mlir::FailureOr<std::vector<TransferLevelCost>>
costLevels(mlir::ModuleOp module, const pipelines::PassSelection &selection,
           const Machine &machine);
/// The number of the level that `auto` means.
size_t bestOf(const std::vector<TransferLevelCost> &levels);
/// The JSON of pst_program_transfers().
std::string transfersJson(const std::vector<TransferLevelCost> &levels, const Machine &machine,
                          const std::string &pipeline, const dsl::SourceManager &sources);

} // namespace penstock::api
