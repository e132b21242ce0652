// SPDX-License-Identifier: Apache-2.0
//
// The place of a window's best neighbour in two steps.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Rewrites the places of least and greatest keys in bodies of wide windows (WindowReductions.h)
/// that stay one: the best key first, and then the least number of a neighbour that has it. Both
/// are chains of like terms, which become loops, where a chain of choices is written out: a
/// thousand neighbours took a minute to compile.
void splitPlaces(pipe::KernelOp kernel);

} // namespace penstock::schedules
