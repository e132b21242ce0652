// SPDX-License-Identifier: Apache-2.0
//
// The row at each position: the pipeline's `where` and `order`.
#pragma once

#include "runtime/core/LengthBatches.h"
#include "runtime/core/Order.h"

#include <optional>

namespace penstock::runtime {

/// Rows up to which a table can be looked at one by one.
inline constexpr int64_t maxChosenRows = int64_t(1) << 31;

struct Program;

struct RowChoice {
  Order order;
  /// Batches by length of the order's rows, which then have no order of their own.
  std::optional<LengthBatches> byLength;
};

/// The order of the table of `for`. Where the plan has conditions, weights or
/// lengths, looks at all rows once; so that costs some time and 8 to 24 bytes a row, and any
/// position is still O(1) or, weighted and by length, O(log rows). Where they ask for what
/// headers say, a row whose header cannot be read stays, and is the shortest: a sample of it will
/// be bad. `rules`: of a plan whose batches go by length. Of `program` there must be layout,
/// tables, headers and block.
///
/// Errors: InvalidArgument where no row is left or a weight or length is senseless, with
/// the row's name; Limit for tables that are too long to be looked at.
Result<RowChoice> chooseRows(const Program &program,
                             const std::optional<LengthBatches::Rules> &rules);

} // namespace penstock::runtime
