// SPDX-License-Identifier: Apache-2.0
//
// Reductions that the same loops make.
#pragma once

#include "mlir/IR/Block.h"

namespace penstock::conversion {

/// Where code of a reduction begins: behind an operation of its block, or where that begins.
struct CodePlace {
  mlir::Block *block = nullptr;
  mlir::Operation *behind = nullptr; ///< null: at the beginning
};

/// Where the next operation of a block goes that is written up to its end.
CodePlace endOf(mlir::Block *block);

/// Puts the loops behind `second` into those between `first` and it, as deep as both go through the
/// same indices: what both read is read once. What is written between is memory that the other
/// does not know. Loops that differ stay.
void joinLoops(CodePlace first, CodePlace second);

} // namespace penstock::conversion
