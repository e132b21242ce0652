// SPDX-License-Identifier: Apache-2.0
//
// Errors for passes that fail without one.
#pragma once

#include "mlir/Pass/PassManager.h"

namespace penstock::pipelines {

/// Makes a pass of `manager` that fails without an error report one at the pipeline, with the pass
/// and the stage that it leads to.
void nameFailures(mlir::PassManager &manager, llvm::StringRef stage);

} // namespace penstock::pipelines
