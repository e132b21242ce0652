// SPDX-License-Identifier: Apache-2.0
//
// How long elements take, beside a store and loads.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// How long an operation of a body takes, in simple ones, about.
int64_t costOf(mlir::Operation *inner);

/// Of so many operations an element is worth a store and loads, wherever it lies then, if `reads`
/// elements would compute it; INT64_MAX where one would.
int64_t fewestWorthStoring(double reads);

} // namespace penstock::schedules
