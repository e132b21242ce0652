// SPDX-License-Identifier: Apache-2.0
//
// Numbers of media headers by row, known before the order of samples is.
#pragma once

#include "runtime/sched/Program.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace penstock::runtime {

/// The numbers of headers that the plan's rows kernel asks for (Media.of_rows), of all rows that
/// are looked at: those of the table of `for`, or of the order's list. Takes 8 bytes for each
/// number.
class RowHeaders {
public:
  /// Reads the headers, many files at a time, but for those that are kept and whose files have not
  /// changed. Blocks. `program` needs no order yet. Null where the plan asks for none.
  static Result<std::shared_ptr<const RowHeaders>>
  read(const std::shared_ptr<const Program> &program);
  /// Stores those of the `entry`-th row in its block. False where its file is bad: as it will be
  /// when a sample needs it.
  bool store(size_t entry, int64_t *block) const;

private:
  std::vector<int32_t> slots;
  std::vector<int64_t> numbers; // by entry, then slot
  std::vector<uint8_t> isBad;
};

} // namespace penstock::runtime
