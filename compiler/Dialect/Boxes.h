// SPDX-License-Identifier: Apache-2.0
//
// Which elements of a tensor are needed.
#pragma once

#include "compiler/Dialect/ScalarBuilder.h"

namespace penstock::pipe {

/// `range` with the numbers of a whole axis.
AxisRange numbersOf(mlir::Value tensor, int64_t axis, AxisRange range, ScalarBuilder &scalars);

/// The values that `expr` takes where each dimension runs through its range
/// (none whole, none empty).
AxisRange rangeOf(mlir::AffineExpr expr, llvm::ArrayRef<AxisRange> dims, mlir::ValueRange symbols,
                  ScalarBuilder &scalars);

} // namespace penstock::pipe
