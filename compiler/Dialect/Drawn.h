// SPDX-License-Identifier: Apache-2.0
//
// The draws that people are shown.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::pipe {

/// Returns the names that `view` and `sample` show for the draws behind `op`: one per result,
/// empty for results that are not shown. A `uniform` or `integer` draw of the
/// whole sample goes by its path; the attribute `pipe.drawn` says otherwise,
/// for a draw or for the op that makes a value of draws.
llvm::SmallVector<llvm::StringRef> drawnNames(mlir::Operation *op);
/// Sets `pipe.drawn`: one name per result.
void setDrawn(mlir::Operation *op, llvm::ArrayRef<std::string> names);
/// Tells the draws of copy `index` of a body from those of the other copies:
/// adds `[index]` to the names of what `copy` and its regions draw.
void numberDrawn(mlir::Operation *copy, int64_t index);

} // namespace penstock::pipe
