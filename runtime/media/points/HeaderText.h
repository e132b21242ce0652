// SPDX-License-Identifier: Apache-2.0
//
// The lines of a header that is text, in front of anything.
#pragma once

#include "runtime/media/MediaBytes.h"

#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Reads no more of a file than its header, but for some kilobytes, and no header of more than
/// 1 MiB. Lines end as the first one does: by LF, by CR LF, or by CR alone.
class HeaderText {
public:
  /// \param kind  what the file is, for errors: "PLY".
  HeaderText(MediaBytes &file, const char *kind) : file(file), kind(kind) {}

  /// The next line, without its end and the blanks around it; until the next call.
  Result<std::string_view> line();
  /// Where the next line begins.
  uint64_t offset() const { return at; }

private:
  Status more();

  MediaBytes &file;
  const char *kind;
  std::string text;
  size_t at = 0;
  char end = 0; ///< of lines; 0 before the first
};

/// The words of a line, between blanks.
std::vector<std::string_view> wordsOf(std::string_view line);

/// Corrupt: "damaged PLY file: what".
Error damagedPoints(const char *kind, const std::string &what);
/// The same of a word: "damaged PLY file: `-5` is no number of points".
Error damagedPoints(const char *kind, std::string_view word, const std::string &what);
/// Unsupported: "not a PLY file: ...", by what a file lacks.
Error noPointFile(const char *kind, uint64_t size);

} // namespace penstock::runtime
