// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/points/HeaderText.h"

#include "runtime/core/TextValue.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

constexpr size_t headerPiece = 4 << 10, mostHeader = 1 << 20;

} // namespace

Error damagedPoints(const char *kind, const std::string &what) {
  return {Code::Corrupt, std::string("damaged ") + kind + " file: " + what};
}

Error damagedPoints(const char *kind, std::string_view word, const std::string &what) {
  return damagedPoints(kind, misfit(word, what).message);
}

Error noPointFile(const char *kind, uint64_t size) {
  const std::string what = std::string("not a ") + kind + " file: ";
  return size == 0 ? Error{Code::Truncated, what + "it is empty"}
                   : Error{Code::Unsupported, what + "its first bytes are no such header's"};
}

std::vector<std::string_view> wordsOf(std::string_view line) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<std::string_view> words;
  for (size_t at = 0;;) {
    const size_t begin = line.find_first_not_of(blanks, at);
    if (begin == std::string_view::npos)
      return words;
    at = std::min(line.find_first_of(blanks, begin), line.size());
    words.push_back(line.substr(begin, at - begin));
  }
}

Status HeaderText::more() {
  if (text.size() == file.size())
    return Error{Code::Truncated,
                 std::string("truncated ") + kind + " file: it ends inside its header"};
  if (text.size() >= mostHeader)
    return damagedPoints(kind,
                         "its header has no end within " + std::to_string(mostHeader) + " bytes");
  const size_t had = text.size();
  text.resize(had + size_t(std::min<uint64_t>(headerPiece, file.size() - had)));
  return file.read(had,
                   std::span(reinterpret_cast<uint8_t *>(text.data()) + had, text.size() - had));
}

Result<std::string_view> HeaderText::line() {
  for (size_t looked = at;;) {
    const size_t found = end ? text.find(end, looked) : text.find_first_of("\r\n", looked);
    // Behind a CR, what comes next tells how lines end.
    const bool isKnown =
        end || (found != std::string::npos && (text[found] == '\n' || found + 1 < text.size()));
    if (found == std::string::npos || !isKnown) {
      looked = std::min(found, text.size());
      if (Status status = more(); !status)
        return status.error();
      continue;
    }
    size_t last = found;
    if (!end) {
      end = text[found] == '\r' && text[found + 1] != '\n' ? '\r' : '\n';
      last += text[found] == '\r' && end == '\n';
    }
    const std::string_view line = std::string_view(text).substr(at, found - at);
    at = last + 1;
    return trimmed(line);
  }
}

} // namespace penstock::runtime
