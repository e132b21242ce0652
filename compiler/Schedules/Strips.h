// SPDX-License-Identifier: Apache-2.0
//
// Neighbours along a row that a GPU's thread loads and stores in words of 16 bytes.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Returns whether an axis is short, such as channels: a thread makes it whole.
bool isChannels(const pipe::Axis &axis);

/// Says that a thread makes what a kernel returns in strips of a row: `vector` names how many
/// elements, words of 16 bytes of each row, and `along` the row's axis; `unrolled`, of how many of
/// them there is code, where all are too much, or `inTurns`. Only what is made of rows
/// is: elements that lie side by side in inputs, in either direction, wherever the sample says,
/// with constants around them. False, and nothing said, for others.
bool chooseStrip(mlir::Value value, bool inTurns = false);

} // namespace penstock::schedules
