// SPDX-License-Identifier: Apache-2.0
//
// Outputs that the same loops store.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::pipe {

/// Returns whether the same loops may store outputs `numbers` of a kernel: all are computed there,
/// by loops of the same shape, along axes of the same names and known extents.
bool mayGoTogether(KernelOp kernel, llvm::ArrayRef<int64_t> numbers);

/// Returns whether `together` of a kernel's schedule is such groups of two or more, ascending, with
/// no output in two.
bool areGroups(KernelOp kernel, mlir::Attribute together);

/// The outputs that the loops of output `number` store: `number` and what its schedule puts beside.
llvm::SmallVector<int64_t> outputsWith(KernelOp kernel, int64_t number);

} // namespace penstock::pipe
