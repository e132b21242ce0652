// SPDX-License-Identifier: Apache-2.0
//
// synthetic(...): a table of any length whose contents are computed.
#pragma once

#include "runtime/sources/Source.h"

#include <memory>
#include <optional>

namespace penstock::runtime {

/// Values are uniform. Without a range, integers take all values of their type
/// and floats lie in [0, 1); with one, they lie in [low, end), and floats are
/// rounded to their type. bool is even.
struct SyntheticColumn {
  struct Range {
    double low = 0;
    double end = 1;
  };
  std::string name;
  plan::DType type = plan::DType::none; ///< neither bytes nor text
  /// The leading extent may be dynamic: then each row draws its own.
  std::vector<Extent> dims;
  std::optional<Range> range;
};

/// The contents are a pure function of (seed, row, column number, element), so
/// that row 10^12 costs what row 0 costs, and opening costs nothing.
///
/// Philox-4x32-10: the counter's words are row (48 bits) with the column in the
/// upper 16, and the block (64 bits), its key is mix(seed, id). A block's 16
/// bytes are elements in memory order where there is no range and for integers
/// and bool (its lowest bit); else an element takes 8 bytes, as a draw does.
/// The extent of a dynamic axis comes from the block 2^64 - 1.
///
/// Errors: InvalidArgument for lengths, types and ranges that cannot be.
Result<std::unique_ptr<Source>> openSynthetic(int64_t length, std::vector<SyntheticColumn> columns,
                                              uint64_t seed = 0);

} // namespace penstock::runtime
