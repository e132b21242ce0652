// SPDX-License-Identifier: Apache-2.0
//
// Private functions of generated code.
//
// Algorithms with loops of their own, emitted once per module and called: no
// generated code may call a library.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace penstock::conversion {

/// `fmod(a, b) -> f64`, exact for all inputs (scalar.h, rem).
mlir::func::FuncOp fmodHelper(mlir::OpBuilder &builder, mlir::Location loc);

/// `sine(x, turn) -> f64` as scalar.h defines it.
mlir::func::FuncOp sineHelper(mlir::OpBuilder &builder, mlir::Location loc);

/// `draw(state, id, position, epoch, view) -> i64`: the bits of element 0 as random.h
/// defines them.
mlir::func::FuncOp drawHelper(mlir::OpBuilder &builder, mlir::Location loc);

/// `permute(key, n, i) -> i64` as random.h defines it.
mlir::func::FuncOp permuteHelper(mlir::OpBuilder &builder, mlir::Location loc);

} // namespace penstock::conversion
