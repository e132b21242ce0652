// SPDX-License-Identifier: Apache-2.0
//
// Points that are written as text, read from the beginning to the end.
#pragma once

#include "runtime/media/MediaBytes.h"
#include "runtime/media/numbers/StoredArray.h"

#include <string>

namespace penstock::runtime {

/// A line for each point, of numbers between blanks, as the bytes that they would be: one behind
/// the other, in the order of this machine. Empty lines are passed over. Keeps a line, whatever the
/// file's size is.
class TextRows final : public MediaBytes {
public:
  /// \param kind   what the file is, for errors: "PLY"
  /// \param from   where the lines begin
  /// \param skip   lines in front of the first point
  /// \param types  of the numbers of a line
  TextRows(MediaBytes &file, const char *kind, uint64_t from, int64_t skip, int64_t points,
           std::vector<Stored> types);
  TextRows(const TextRows &) = delete;
  TextRows &operator=(const TextRows &) = delete;

  uint64_t size() const override { return uint64_t(points) * row.size(); }
  /// Bytes behind those that were read before. Corrupt where a line is no such point, Truncated
  /// where there are too few.
  Status read(uint64_t offset, std::span<uint8_t> out) override;
  /// Reads what is left of the points.
  Status finish();

private:
  /// Reads a line that is not empty into `line`.
  Status nextLine();
  /// Reads the next point into `row`; behind what is wrong there is none.
  Status nextRow();
  Status parseRow();

  MediaBytes &file;
  const char *kind;
  uint64_t next; ///< in the file, behind what `in` has
  int64_t skip;
  const int64_t points;
  const std::vector<Stored> types;
  std::vector<uint8_t> window;
  const uint8_t *in = nullptr;
  size_t left = 0; ///< of `in`
  std::string line;
  std::vector<uint8_t> row;
  int64_t rows = 0; ///< that were read; `row` is the last of them
  Status found;
};

} // namespace penstock::runtime
