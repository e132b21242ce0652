// SPDX-License-Identifier: Apache-2.0
//
// f16 and bf16, which are their bits in registers.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"

namespace penstock::conversion {

/// As f32.
LaneValue widen(const Lanes &l, LaneValue storage);
LaneValue narrowToHalf(const Lanes &l, LaneValue f32);
LaneValue narrowToBfloat(const Lanes &l, LaneValue f32);

/// f64 to f32 so that one more rounding to 16 bits rounds as if once.
mlir::Value roundToOdd(const Lanes &l, mlir::Value f64);
/// An i64 with what exceeds 53 bits folded into the last bit that f64 keeps
/// (scalar.h, oddDouble).
mlir::Value keepOdd(const Lanes &l, mlir::Value i64);

/// The bits of an f16 or bf16 from outside, where a NaN may have any; in registers it is canonical.
mlir::Value canonicalBits(const Lanes &l, mlir::Value bits, mlir::Type storage);

} // namespace penstock::conversion
