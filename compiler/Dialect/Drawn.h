// SPDX-License-Identifier: Apache-2.0
//
// Draws: those that people are shown, and those of each element.
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

/// Returns whether a map draws for each of its elements, and `view` reads it with steps that only
/// the sample knows, such as a flip by chance: draws that follow each other come out of one block
/// of random bits, and cost several times as much one by one.
bool scattersDraws(ViewOp view);

} // namespace penstock::pipe
