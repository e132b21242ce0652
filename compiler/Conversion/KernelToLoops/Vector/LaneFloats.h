// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of floats on lanes.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"

namespace penstock::conversion {

/// Of operands that both are vectors or both are none.
LaneValue floatBinary(const Lanes &l, pipe::BinaryKind kind, LaneValue a, LaneValue c);
/// a / c (LaneQuotients.cpp).
LaneValue quotient(const Lanes &l, const LaneValue &a, const LaneValue &c);

/// The smaller or larger one of two floats in one instruction: where `value` is a NaN, or both
/// are zeros, `sofar`. Where that is a NaN, it stays one.
LaneValue farther(const Lanes &l, bool wantMin, LaneValue sofar, LaneValue value);

/// Returns whether `v` is whole registers of f32, and there are instructions for numbers in them.
bool fillsRegisters(const Registers &l, mlir::Value v);
/// Returns whether all lanes are the constant +0 (or the integer 0).
bool isPositiveZero(mlir::Value value);

} // namespace penstock::conversion
