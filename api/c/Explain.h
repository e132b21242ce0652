// SPDX-License-Identifier: Apache-2.0
//
// The remarks of the passes, in words.
#pragma once

#include "dsl/Diagnostics/Source.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace penstock::api {

/// The remarks that passes attached to `module` (at stage `kernels` or
/// `schedule`), in the order of the pipeline, each under the op it speaks of and
/// the user's words for it. Nothing else is said.
std::string explain(mlir::ModuleOp module, const dsl::SourceManager &sources);

/// The name that the user wrote at `place`: `flip`. May be empty.
std::string wordAt(const dsl::SourceManager &sources, mlir::FileLineColLoc place);

} // namespace penstock::api
