// SPDX-License-Identifier: Apache-2.0
//
// A pipeline as a graph that people read.
#pragma once

#include "dsl/Diagnostics/Source.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace penstock::api {

/// The JSON of pst_program_overview(): a box for each source, decode, operator of
/// the user's that became kernels, and output of `module` (at stage `kernels` or
/// `schedule`), and what flows between them.
std::string overviewJson(mlir::ModuleOp module, const dsl::SourceManager &sources);

} // namespace penstock::api
