// SPDX-License-Identifier: Apache-2.0
//
// Rows of a table that is written as text: RFC 4180, read in place.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// A cell as it stands in the file.
struct CsvCell {
  std::string_view raw; ///< without the quotes around it
  bool quoted = false;  ///< then `""` in it stands for `"`

  std::string text() const;
};

/// Reads row after row, or a row whose place is known. Copies nothing.
///
/// Rows end in LF or CR LF, and in CR where the text has no LF at all; empty lines are left out,
/// and a byte order mark at the beginning of the text too. A cell that begins with `"` goes to the
/// next single one, over separators and lines; in other cells a `"` is a letter. With separator
/// '\0', a line is one cell, and quotes mean nothing.
class CsvReader {
public:
  CsvReader(std::string_view text, char separator);

  /// Reads the cells of the next row; false behind the last one. Errors begin with the line, "12:
  /// ...", and leave the reader where it was.
  Result<bool> next(std::vector<CsvCell> &cells);

  /// Offset of the row of the last next(), and its line from 1 on.
  uint64_t rowStart() const { return begin; }
  uint64_t line() const { return beginLine; }
  /// Goes on at a row's beginning; lines are then counted from 1 there.
  void seek(uint64_t rowStart);

private:
  Result<CsvCell> quotedCell();
  bool atLineEnd() const;

  std::string_view text;
  char separator;
  char lineEnd;
  size_t at = 0, begin = 0;
  uint64_t lineNumber = 1, beginLine = 1;
};

} // namespace penstock::runtime
