// SPDX-License-Identifier: Apache-2.0
//
// Squares of elements.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"

namespace penstock::conversion {

/// The columns of as many rows as each has lanes, of elements of 1 to 8 bytes.
llvm::SmallVector<mlir::Value> transposed(const Memory &m, llvm::ArrayRef<mlir::Value> rows,
                                          int64_t bytes);

} // namespace penstock::conversion
