// SPDX-License-Identifier: Apache-2.0
//
// I64 arithmetic that passes emit.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/AffineExpr.h"
#include <optional>

namespace penstock::pipe {

/// The number that an integer scalar is known to have.
std::optional<int64_t> constantOf(mlir::Value value);
/// The same for what extentOf() returns.
std::optional<int64_t> constantOf(mlir::OpFoldResult value);

/// Emits scalar ops at the builder's insertion point, folded where they are
/// known.
class ScalarBuilder {
public:
  ScalarBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value constant(int64_t value);
  mlir::Value number(double value); ///< as f64
  mlir::Value extent(mlir::Value tensor, int64_t axis) {
    return extentValue(builder, tensor.getLoc(), tensor, axis);
  }
  mlir::Value binary(BinaryKind kind, mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, mlir::Value b) { return binary(BinaryKind::add, a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary(BinaryKind::sub, a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary(BinaryKind::mul, a, b); }
  mlir::Value min(mlir::Value a, mlir::Value b) { return binary(BinaryKind::min, a, b); }
  mlir::Value max(mlir::Value a, mlir::Value b) { return binary(BinaryKind::max, a, b); }
  mlir::Value compare(Predicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse);
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b) { return binary(BinaryKind::bit_and, a, b); }
  mlir::Value logicalNot(mlir::Value a);
  mlir::Value cast(mlir::Value a, mlir::Type to);
  /// The value among `choices` that a choose of `index` would give (indices
  /// outside are clamped).
  mlir::Value selectByIndex(mlir::Value index, mlir::ValueRange choices);
  /// `index` clamped into 0 ..< count equals `arm`.
  mlir::Value isArm(mlir::Value index, int64_t arm, int64_t count);
  /// The value of an affine expression.
  mlir::Value apply(mlir::AffineExpr expr, mlir::ValueRange dims, mlir::ValueRange symbols);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace penstock::pipe
