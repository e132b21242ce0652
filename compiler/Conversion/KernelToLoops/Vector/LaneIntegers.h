// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on integers.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"

namespace penstock::conversion {

/// Of operands that both are vectors or both are none.
LaneValue intBinary(const Lanes &l, pipe::BinaryKind kind, LaneValue a, LaneValue c);

/// An index that is `by` further on than another one; neither is negative. Divisions by what `by`
/// is a multiple of go back to that one.
mlir::Value furtherIndex(const Lanes &l, mlir::Value index, int64_t by);

} // namespace penstock::conversion
