//===- Shrink.h - the smallest pipeline that still differs ----------------===//
#ifndef PENSTOCK_TEST_DIFFERENTIAL_SHRINK_H
#define PENSTOCK_TEST_DIFFERENTIAL_SHRINK_H

#include "test/differential/Candidates.h"
#include "test/differential/Generator.h"

namespace penstock::differential {

/// Whether a pipeline still shows the fault.
using Fails = std::function<bool(mlir::ModuleOp, const reference::BatchInputs &)>;

/// Makes the case again with fewer steps and smaller fields, then drops outputs
/// and ops one at a time, as long as it still fails.
Case shrink(mlir::MLIRContext &context, const Recipe &recipe, const Fails &fails);

} // namespace penstock::differential

#endif
