// SPDX-License-Identifier: Apache-2.0
//
// Rows without a file.
#pragma once

#include "stdlib/reference/Interpreter.h"

namespace penstock::differential {

/// A tensor column. Row r of a dynamic axis has r % 3 elements less, but at
/// least `least`.
struct Column {
  std::string name;
  reference::DType type;
  std::vector<std::string> axes;
  std::vector<int64_t> extents;
  std::vector<bool> dynamic;
  int64_t least = 1;
};

/// Seven rows of these columns, a scalar `label` (i64) and `score` (f64). Every
/// element follows from (seed, row, column); every type's special values occur.
std::shared_ptr<reference::Table> syntheticTable(std::vector<Column> columns, uint64_t seed);

/// Files of a format of their own: what is lost depends on the quality. At most
/// `madeUpHeader` bytes more than pixels. Lives as long as the program.
const reference::Media &madeUpMedia();
inline constexpr int64_t madeUpHeader = 8;

} // namespace penstock::differential
