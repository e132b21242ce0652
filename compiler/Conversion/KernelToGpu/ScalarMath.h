// SPDX-License-Identifier: Apache-2.0
//
// Making scalar ops.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::conversion {

/// Scalar ops of the dialect at a location. What they mean is the business of whoever prints
/// them.
struct ScalarMath {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value constant(mlir::TypedAttr value, mlir::Type type) const;
  mlir::Value zero(mlir::Type type) const;
  mlir::Value i64(int64_t number) const;
  mlir::Value real(double number) const;
  mlir::Value unary(pipe::UnaryKind kind, mlir::Value a) const;
  mlir::Value binary(pipe::BinaryKind kind, mlir::Value a, mlir::Value c) const;
  mlir::Value compare(pipe::Predicate predicate, mlir::Value a, mlir::Value c) const;
  mlir::Value select(mlir::Value condition, mlir::Value yes, mlir::Value no) const;
  mlir::Value cast(mlir::Value value, mlir::Type type,
                   pipe::CastMode mode = pipe::CastMode::value) const;
  mlir::Value isTrue(mlir::Value number) const;
};

} // namespace penstock::conversion
