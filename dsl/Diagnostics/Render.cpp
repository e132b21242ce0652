// SPDX-License-Identifier: Apache-2.0
#include "dsl/Diagnostics/Render.h"

#include <algorithm>
#include <cstdio>

namespace penstock::dsl {
namespace {

const char *word(Severity severity) { return severity == Severity::Error ? "error" : "warning"; }

/// `train.pipe:8:13: `, or nothing for a message without a place.
std::string placeText(SourceRange range, const SourceManager &sources) {
  if (!range.valid())
    return "";
  LineColumn at = sources.position(range.file, range.begin);
  return std::string(sources.name(range.file)) + ":" + std::to_string(at.line) + ":" +
         std::to_string(at.column) + ": ";
}

/// Characters of a line that are shown, and how many of them before the place.
constexpr uint32_t mostShown = 240, mostBefore = 160;

/// The part of a line that is shown: all of it, or some around column `at`, between dots.
struct Shown {
  std::string text;
  uint32_t skipped = 0; ///< characters left out before, less those of the dots
};
Shown shown(std::string_view line, uint32_t at) {
  auto starts = [](char c) { return (c & 0xC0) != 0x80; };
  if (std::count_if(line.begin(), line.end(), starts) <= mostShown)
    return {std::string(line), 0};
  const std::string_view dots = "... ";
  const uint32_t first = at > mostBefore + dots.size() ? at - mostBefore : 1;
  std::string text;
  uint32_t column = 0;
  for (char c : line) {
    column += starts(c);
    if (column >= first && column < first + mostShown)
      text += c;
  }
  if (first > 1)
    text.insert(0, dots);
  if (column >= first + mostShown)
    text += " ...";
  return {text, first > 1 ? first - 1 - static_cast<uint32_t>(dots.size()) : 0};
}

/// The source line with its number, and a caret line below. A range over
/// several lines is underlined to the end of its first.
std::string excerpt(SourceRange range, const SourceManager &sources) {
  LineColumn begin = sources.position(range.file, range.begin);
  LineColumn end = sources.position(range.file, std::max(range.begin, range.end));
  const Shown part = shown(sources.line(range.file, begin.line), begin.column);
  const std::string &line = part.text;
  begin.column -= part.skipped;
  end.column -= std::min(end.column, part.skipped);

  std::string number = std::to_string(begin.line);
  number.insert(0, number.size() < 3 ? 3 - number.size() : 0, ' ');
  std::string out = number + (line.empty() ? " |" : " | ") + line + "\n";
  out += std::string(number.size(), ' ') + " | ";

  uint32_t column = 1;
  std::string carets;
  for (char c : line) {
    if ((c & 0xC0) == 0x80)
      continue;
    if (column < begin.column)
      out += c == '\t' ? '\t' : ' '; // tabs stay, so that carets stand below
    else if (column > begin.column && (end.line > begin.line || column < end.column))
      carets += '~';
    ++column;
  }
  while (column++ < begin.column)
    out += ' ';
  if (end.line > begin.line) // no trailing blanks under the line break
    while (!carets.empty() && carets.size() + begin.column > line.size())
      carets.pop_back();
  return out + "^" + carets + "\n";
}

/// The length of the UTF-8 character that `text` starts with; 0: it is none.
size_t characterLength(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80                    ? 1
                        : lead >= 0xC2 && lead <= 0xDF ? 2
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || length > text.size())
    return 0;
  for (char c : text.substr(1, length - 1))
    if ((c & 0xC0) != 0x80)
      return 0;
  const auto second = static_cast<unsigned char>(length > 1 ? text[1] : 0);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool beyond = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : length;
}

/// A JSON string; bytes that are not UTF-8 become U+FFFD.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = characterLength(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      out += {'\\', text[0]};
    } else if (c < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof(buffer), "\\u%04x", c);
      out += buffer;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out + "\"";
}

/// `"file":..,"line":..,` and so on, shared by messages and notes.
std::string jsonPlace(SourceRange range, const SourceManager &sources) {
  if (!range.valid())
    return "\"file\":null";
  LineColumn begin = sources.position(range.file, range.begin);
  LineColumn end = sources.position(range.file, std::max(range.begin, range.end));
  return "\"file\":" + quoted(sources.name(range.file)) +
         ",\"line\":" + std::to_string(begin.line) + ",\"column\":" + std::to_string(begin.column) +
         ",\"end_line\":" + std::to_string(end.line) +
         ",\"end_column\":" + std::to_string(end.column);
}

/// Text for a terminal: what would move its cursor, or end a C string, is a `?` of one column.
std::string printable(std::string text) {
  size_t to = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    const auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : 0);
    const bool isWide = c == 0xC2 && next >= 0x80 && next < 0xA0; // U+0080 to U+009F
    const bool isControl = isWide || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    text[to++] = isControl ? '?' : text[at];
    at += isWide;
  }
  text.resize(to);
  return text;
}

} // namespace

std::string renderText(const Diagnostics &diagnostics, const SourceManager &sources) {
  std::string out;
  for (const Diagnostic &diagnostic : diagnostics.sorted()) {
    if (!out.empty())
      out += '\n';
    out += placeText(diagnostic.range, sources) + word(diagnostic.severity) + ": " +
           diagnostic.message + "\n";
    if (diagnostic.range.valid())
      out += excerpt(diagnostic.range, sources);
    for (const Note &note : diagnostic.notes)
      out += placeText(note.range, sources) + "note: " + note.message + "\n";
    if (!diagnostic.hint.empty())
      out += "hint: " + diagnostic.hint + "\n";
  }
  return printable(std::move(out));
}

std::string renderJson(const Diagnostics &diagnostics, const SourceManager &sources) {
  std::string out = "[";
  for (const Diagnostic &diagnostic : diagnostics.sorted()) {
    out += out.size() > 1 ? ",\n " : "";
    out += std::string("{\"severity\":\"") + word(diagnostic.severity) + "\"," +
           jsonPlace(diagnostic.range, sources) + ",\"message\":" + quoted(diagnostic.message) +
           ",\"notes\":[";
    for (size_t i = 0; i < diagnostic.notes.size(); ++i) {
      const Note &note = diagnostic.notes[i];
      out += std::string(i ? "," : "") + "{" + jsonPlace(note.range, sources) +
             ",\"message\":" + quoted(note.message) + "}";
    }
    out += "],\"hint\":";
    out += diagnostic.hint.empty() ? "null" : quoted(diagnostic.hint);
    out += "}";
  }
  return out + "]\n";
}

} // namespace penstock::dsl
