// SPDX-License-Identifier: Apache-2.0
//
// Rows that read the same.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::pipe {

/// After how many indices along `axis` of its operand a reduction reads the same elements of a
/// table again, as the filters of a resampling by phases, `bank[phase = t % 160, k]`; null where
/// that cannot be told.
std::optional<int64_t> rowPeriod(ReduceOp op, int64_t axis);

} // namespace penstock::pipe
