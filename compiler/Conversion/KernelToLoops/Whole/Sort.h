// SPDX-License-Identifier: Apache-2.0
//
// The ways to sort.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"

namespace penstock::conversion {

/// Sorts rows side by side, one in each lane.
mlir::LogicalResult sortInLanes(const Site &site, pipe::SortOp op, const Buffer &to);
/// Sorts rows by one byte of their keys after the other.
mlir::LogicalResult sortByDigits(const Site &site, pipe::SortOp op, const Buffer &to);

} // namespace penstock::conversion
