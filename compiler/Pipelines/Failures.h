// SPDX-License-Identifier: Apache-2.0
//
// Which pass failed.
#pragma once

#include "mlir/Pass/PassManager.h"

namespace penstock::pipelines {

/// Where a pass of `manager` fails without an error: an error at the pipeline, with
/// the pass and the stage that it leads to.
void nameFailures(mlir::PassManager &manager, llvm::StringRef stage);

} // namespace penstock::pipelines
