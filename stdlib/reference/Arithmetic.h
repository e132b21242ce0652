// SPDX-License-Identifier: Apache-2.0
//
// The scalar ops on numbers.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "stdlib/reference/Value.h"

namespace penstock::reference {

/// Compute `pipe.unary`, `pipe.binary`, `pipe.compare` and `pipe.cast` of
/// numbers of one type. f16 and bf16 are computed on as f32, which only the
/// reductions use: the scalar ops refuse those types.
Scalar unary(pipe::UnaryKind kind, const Scalar &a);
Scalar binary(pipe::BinaryKind kind, const Scalar &a, const Scalar &b);
bool compare(pipe::Predicate predicate, const Scalar &a, const Scalar &b);
Scalar cast(pipe::CastMode mode, const Scalar &a, DType to);

/// The end of a type's range that `min` (or else `max`) starts from.
Scalar identityOfMin(DType type);
Scalar identityOfMax(DType type);

} // namespace penstock::reference
