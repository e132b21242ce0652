// SPDX-License-Identifier: Apache-2.0
//
// The smallest pipeline that still differs.
#pragma once

#include "test/differential/Candidates.h"
#include "test/differential/Generator.h"

namespace penstock::differential {

/// Returns whether a pipeline still shows the fault.
using Fails = std::function<bool(mlir::ModuleOp, const reference::BatchInputs &)>;

/// Makes the case again with fewer steps and smaller fields, then drops outputs
/// and ops one at a time, as long as it still fails.
Case shrink(mlir::MLIRContext &context, const Recipe &recipe, const Fails &fails);

} // namespace penstock::differential
