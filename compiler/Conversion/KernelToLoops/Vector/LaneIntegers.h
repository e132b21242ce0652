// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on integers.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"

namespace penstock::conversion {

/// Of operands that both are vectors or both are none.
LaneValue intBinary(const Lanes &l, pipe::BinaryKind kind, LaneValue a, LaneValue c);

/// Compares registers of one type.
mlir::Value integerCompare(const Lanes &l, pipe::Predicate predicate, bool isUnsigned,
                           mlir::Value lhs, mlir::Value rhs);
/// Compares numbers of 64 bits by their bytes, where they fit these and have them anyway, as bytes
/// that were loaded and places have; null otherwise.
mlir::Value compareBytes(const Lanes &l, pipe::Predicate predicate, const LaneValue &lhs,
                         const LaneValue &rhs);

/// An index that is `by` further on than another one; neither is negative. Divisions by what `by`
/// is a multiple of go back to that one.
mlir::Value furtherIndex(const Lanes &l, mlir::Value index, int64_t by);

} // namespace penstock::conversion
