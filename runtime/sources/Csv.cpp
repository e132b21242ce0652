// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/Csv.h"

namespace penstock::runtime {

std::string CsvCell::text() const {
  if (!quoted)
    return std::string(raw);
  std::string result;
  result.reserve(raw.size());
  for (size_t at = 0; at < raw.size(); ++at) {
    result += raw[at];
    at += raw.substr(at, 2) == "\"\"";
  }
  return result;
}

/// Returns LF, or CR where no LF stands outside of quotes.
static char lineEndOf(std::string_view text, char separator) {
  bool isQuoted = false, mayOpen = separator != '\0';
  for (size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; at < text.size(); ++at) {
    const char c = text[at];
    if (isQuoted && c == '"') {
      isQuoted = at + 1 < text.size() && text[at + 1] == '"';
      at += isQuoted;
    } else if (!isQuoted && c == '\n') {
      return '\n';
    } else if (!isQuoted) {
      isQuoted = mayOpen && c == '"';
      mayOpen = separator != '\0' && (c == separator || c == '\r');
    }
  }
  return '\r';
}

CsvReader::CsvReader(std::string_view text, char separator)
    : text(text), separator(separator), lineEnd(lineEndOf(text, separator)) {
  if (text.starts_with("\xEF\xBB\xBF"))
    at = 3;
}

void CsvReader::seek(uint64_t rowStart) {
  at = rowStart;
  lineNumber = 1;
}

bool CsvReader::atLineEnd() const {
  return at == text.size() || text[at] == lineEnd ||
         (text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n');
}

Result<CsvCell> CsvReader::quotedCell() {
  const size_t first = ++at;
  for (;; ++at) {
    if (at == text.size())
      return Error{Code::Truncated,
                   std::to_string(beginLine) + ": a quote is opened and never closed"};
    if (text[at] == lineEnd)
      ++lineNumber;
    if (text[at] != '"')
      continue;
    if (at + 1 == text.size() || text[at + 1] != '"')
      break;
    ++at;
  }
  const CsvCell cell{text.substr(first, at - first), true};
  ++at;
  if (!atLineEnd() && text[at] != separator)
    return Error{Code::Corrupt, std::to_string(lineNumber) + ": text follows a closing quote"};
  return cell;
}

Result<bool> CsvReader::next(std::vector<CsvCell> &cells) {
  cells.clear();
  while (at < text.size() && atLineEnd()) { // empty lines
    at += text[at] == lineEnd ? 1 : 2;
    ++lineNumber;
  }
  begin = at;
  beginLine = lineNumber;
  if (at == text.size())
    return false;
  for (;;) {
    if (separator && at < text.size() && text[at] == '"') {
      auto cell = quotedCell();
      if (!cell) {
        at = begin;
        lineNumber = beginLine;
        return cell.error();
      }
      cells.push_back(*cell);
    } else {
      const size_t first = at;
      while (!atLineEnd() && (separator == '\0' || text[at] != separator))
        ++at;
      cells.push_back({text.substr(first, at - first), false});
    }
    if (atLineEnd())
      break;
    ++at; // the separator
  }
  if (at < text.size()) {
    at += text[at] == lineEnd ? 1 : 2;
    ++lineNumber;
  }
  return true;
}

} // namespace penstock::runtime
