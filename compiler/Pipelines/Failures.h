//===- Failures.h - which pass failed ---------------------------*- C++ -*-===//
#ifndef PENSTOCK_COMPILER_PIPELINES_FAILURES_H
#define PENSTOCK_COMPILER_PIPELINES_FAILURES_H

#include "mlir/Pass/PassManager.h"

namespace penstock::pipelines {

/// Where a pass of `manager` fails without an error: an error at the pipeline, with
/// the pass and the stage that it leads to.
void nameFailures(mlir::PassManager &manager, llvm::StringRef stage);

} // namespace penstock::pipelines

#endif
