// SPDX-License-Identifier: Apache-2.0
//
// Making and taking apart views.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace penstock::transforms {

/// The sizes of `op` for the dynamic axes of a type whose axes are the axes
/// `positions` of the op's (only) result.
llvm::SmallVector<mlir::Value> sizesFor(mlir::Operation *op, llvm::ArrayRef<int64_t> positions);

/// Writes constant symbols into the map, lets equal symbols share a place and
/// drops unused ones.
mlir::AffineMap simplifySymbols(mlir::AffineMap map, llvm::SmallVector<mlir::Value> &symbols);

/// A view with simple symbols: constants are part of the map, none stands
/// twice or unused. Returns `input` itself for the identity.
mlir::Value makeView(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input,
                     mlir::AffineMap map, mlir::ValueRange symbols, pipe::NamedTensorType type,
                     mlir::ValueRange sizes);

/// Returns whether the view gives every element of its input back at its own place.
bool isIdentity(mlir::Value input, mlir::AffineMap map, pipe::NamedTensorType type,
                mlir::ValueRange sizes);

/// Returns whether no element of the input stands at two places of the result: then a
/// producer can be computed after the view at no more cost than before.
bool readsOnce(pipe::ViewOp view);

/// The axes that a view reads some input axes with: `expressions` written over
/// the dimensions that they use, in the order of the view's result.
struct Part {
  mlir::AffineMap map;
  /// Positions of the used dimensions in the view's result.
  llvm::SmallVector<int64_t> dims;
};
Part partOf(pipe::ViewOp view, llvm::ArrayRef<mlir::AffineExpr> expressions);

/// Views of joined tensors become joined views (JoinedViews.cpp).
void addViewsOfJoined(mlir::RewritePatternSet &patterns);

/// Returns the part that `view` reads of a value over some of the axes of its input (a value
/// that broadcasts): the value itself if that part is the identity.
mlir::Value viewOperand(mlir::OpBuilder &builder, pipe::ViewOp view, mlir::Value operand);

} // namespace penstock::transforms
