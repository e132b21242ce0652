// SPDX-License-Identifier: Apache-2.0
//
// Integers of 32 bits computed in 16.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"

namespace penstock::conversion {

/// `value` as i16, where it is there so or one number for all lanes; null otherwise.
mlir::Value asI16(const Lanes &l, const LaneValue &value);
/// The result as i16, where operands are there so and all numbers fit: a u8 or an i16 that takes
/// nothing else is computed in half of the registers. Null otherwise.
mlir::Value binaryAsI16(const Lanes &l, pipe::BinaryKind kind, const LaneValue &a,
                        const LaneValue &c, const Interval &result);
mlir::Value unaryAsI16(const Lanes &l, pipe::UnaryKind kind, const LaneValue &a,
                       const Interval &result);

} // namespace penstock::conversion
