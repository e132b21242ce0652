// SPDX-License-Identifier: Apache-2.0
//
// Floats that are no NaN.
#pragma once

#include "mlir/IR/Value.h"

namespace penstock::codegen {

/// Returns whether a float that a kernel computes is a number whatever its elements are: of
/// integers and constants it is made by sums and products that stay far below the largest float.
/// Nothing has to be done then for the one NaN that is stored.
bool isFinite(mlir::Value value);

} // namespace penstock::codegen
