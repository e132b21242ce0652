// SPDX-License-Identifier: Apache-2.0
//
// Bytes of pixels: tables and dot products, where bytes can be permuted.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"
#include <array>

namespace penstock::conversion {

/// A map of bytes to bytes in four registers.
using ByteTable = std::array<mlir::Value, 4>;

/// table[index] of u8 lanes.
LaneValue lookUp(const Lanes &l, const ByteTable &table, const LaneValue &index);

/// Returns the weighted sum that an operation makes of one; without pixels where that is none.
PixelSum pixelSum(pipe::BinaryKind kind, const LaneValue &a, const LaneValue &c);
mlir::Value dotProduct(const Lanes &l, const PixelSum &sum);

/// An equal operation that stands earlier in the block, else `fresh`.
mlir::Value earlierEqual(mlir::Value fresh);

} // namespace penstock::conversion
