// SPDX-License-Identifier: Apache-2.0
#include "dsl/Diagnostics/Source.h"

#include <algorithm>
#include <utility>

namespace penstock::dsl {

SourceRange join(SourceRange first, SourceRange last) {
  if (!first.valid())
    return last;
  if (!last.valid() || last.file != first.file)
    return first;
  return {first.file, std::min(first.begin, last.begin), std::max(first.end, last.end)};
}

/// Returns whether a byte of UTF-8 belongs to the character before it.
static bool isContinuation(char byte) { return (byte & 0xC0) == 0x80; }

/// Counted from the last piece on: a line may be as long as a text.
uint32_t SourceManager::Entry::continuationsBefore(uint32_t offset) const {
  uint32_t count = continuations[offset / piece];
  for (uint32_t i = offset / piece * piece; i < offset; ++i)
    count += isContinuation(text[i]);
  return count;
}

FileId SourceManager::add(std::string name, std::string text) {
  Entry entry{std::move(name), std::move(text), {0}, {}};
  uint32_t continuations = 0;
  for (uint32_t i = 0; i <= entry.text.size(); ++i) {
    if (i % Entry::piece == 0)
      entry.continuations.push_back(continuations);
    if (i == entry.text.size())
      break;
    continuations += isContinuation(entry.text[i]);
    if (entry.text[i] == '\n')
      entry.lineStarts.push_back(i + 1);
  }
  files.push_back(std::move(entry));
  return FileId{static_cast<uint32_t>(files.size() - 1)};
}

std::string_view SourceManager::name(FileId file) const { return files[file.index].name; }

std::string_view SourceManager::text(FileId file) const { return files[file.index].text; }

std::string_view SourceManager::text(SourceRange range) const {
  std::string_view all = text(range.file);
  size_t begin = std::min<size_t>(range.begin, all.size());
  return all.substr(begin, std::max(range.begin, range.end) - range.begin);
}

LineColumn SourceManager::position(FileId file, uint32_t offset) const {
  const Entry &entry = files[file.index];
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(entry.text.size()));
  auto next = std::upper_bound(entry.lineStarts.begin(), entry.lineStarts.end(), offset);
  uint32_t start = *(next - 1);
  const uint32_t column =
      1 + (offset - start) - (entry.continuationsBefore(offset) - entry.continuationsBefore(start));
  return {static_cast<uint32_t>(next - entry.lineStarts.begin()), column};
}

std::string_view SourceManager::line(FileId file, uint32_t number) const {
  const Entry &entry = files[file.index];
  if (number == 0 || number > entry.lineStarts.size())
    return {};
  std::string_view rest = std::string_view(entry.text).substr(entry.lineStarts[number - 1]);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r'))
    rest.remove_suffix(1);
  return rest;
}

} // namespace penstock::dsl
