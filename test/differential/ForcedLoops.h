// SPDX-License-Identifier: Apache-2.0
//
// Schedules that nobody chose.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace penstock::differential {

/// Changes what a module at stage `schedule` says of loops to anything that a verifier lets pass:
/// which axis lanes lie along, how many there are, what is unrolled and written more than once, how
/// rows end, which way reductions, scans, histograms and products go, whether rows live in a ring.
/// The same module always gets the same.
void forceLoops(mlir::ModuleOp module);

} // namespace penstock::differential
