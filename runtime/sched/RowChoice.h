// SPDX-License-Identifier: Apache-2.0
//
// Which row stands at which position: the pipeline's `where` and `order`.
#pragma once

#include "runtime/core/Order.h"
#include "runtime/sched/Layout.h"
#include "runtime/sched/Tables.h"

#include <cstdint>
#include <vector>

namespace penstock::runtime {

/// Rows up to which a table can be looked at one by one.
inline constexpr int64_t maxChosenRows = int64_t(1) << 31;

/// The order of the table of `for`. Where the plan has conditions or weights,
/// looks at all rows once, with `block` as what parameters have filled in; so
/// that costs some time and 8 to 16 bytes a row, and any position is still O(1)
/// or, weighted, O(log rows).
///
/// Errors: InvalidArgument where no row is left or a weight is senseless, with
/// the row's name; Limit for tables that are too long to be looked at.
Result<Order> makeOrder(const Layout &layout, const Tables &tables,
                        const std::vector<int64_t> &block);

} // namespace penstock::runtime
