// SPDX-License-Identifier: Apache-2.0
//
// Conversions between element types.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"

namespace penstock::conversion {

/// An integer as f32 or f64; Lanes::cast() is for all other types.
LaneValue intToFloat(const Lanes &l, LaneValue value, mlir::Type to);

} // namespace penstock::conversion
