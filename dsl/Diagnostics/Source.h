// SPDX-License-Identifier: Apache-2.0
//
// Source text: files, ranges in them, and the lines and columns a user sees.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::dsl {

/// Names one file of a SourceManager. Default constructed: no file.
struct FileId {
  uint32_t index = UINT32_MAX;

  bool valid() const { return index != UINT32_MAX; }
  friend bool operator==(FileId, FileId) = default;
};

/// A half-open range of byte offsets in one file. Default constructed: nowhere,
/// which a message without a place (a file that cannot be read) uses.
struct SourceRange {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool valid() const { return file.valid(); }
  friend bool operator==(const SourceRange &, const SourceRange &) = default;
};

/// The range from the start of `first` to the end of `last`.
SourceRange join(SourceRange first, SourceRange last);

/// A position as users read it: both numbers count from 1, columns count code points.
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// Owns the text of all files of one run. The user's file is added first, so
/// that its messages come first. References to text stay valid.
class SourceManager {
public:
  /// \param name  how messages call the file (the path as the user wrote it).
  FileId add(std::string name, std::string text);

  /// Files that were added; their ids are 0 .. count().
  size_t count() const { return files.size(); }
  std::string_view name(FileId file) const;
  std::string_view text(FileId file) const;
  std::string_view text(SourceRange range) const;

  /// The place of a byte offset; an offset past the end is clamped.
  LineColumn position(FileId file, uint32_t offset) const;
  /// The text of a line (counted from 1) without its line break.
  std::string_view line(FileId file, uint32_t number) const;

private:
  struct Entry {
    std::string name;
    std::string text;
    std::vector<uint32_t> lineStarts;
    /// Bytes that begin no character, before each piece of `piece` bytes.
    std::vector<uint32_t> continuations;
    static constexpr uint32_t piece = 256;

    uint32_t continuationsBefore(uint32_t offset) const;
  };
  std::deque<Entry> files;
};

} // namespace penstock::dsl
