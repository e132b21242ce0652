// SPDX-License-Identifier: Apache-2.0
#include "dsl/Format/Format.h"

#include "dsl/Format/Lines.h"
#include "dsl/Parser/Parser.h"

#include <algorithm>

namespace penstock::dsl {
namespace {

constexpr size_t blanksPerLevel = 2, blanksBeforeComment = 2;
/// Comments beside longer lines do not push those of their neighbours away.
constexpr size_t widestColumn = 100;

size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

class LineWriter {
public:
  LineWriter(const TokenList &tokens, const std::vector<TokenShape> &shapes)
      : tokens(tokens), shapes(shapes), lines(linesOf(tokens, shapes)),
        padding(tokens.items.size()) {
    alignLets();
  }
  std::string write() const;

private:
  /// The `=` of the `let` that is the first on the line; 0: none.
  size_t assignOf(const FormatLine &line) const;
  void alignLets();
  void alignRun(size_t first, size_t last);
  std::string codeOf(const FormatLine &line) const;
  std::string span(size_t first, size_t last) const;

  const TokenList &tokens;
  const std::vector<TokenShape> &shapes;
  std::vector<FormatLine> lines;
  std::vector<size_t> padding; ///< further blanks before a token
};

std::string LineWriter::span(size_t first, size_t last) const {
  std::string out;
  for (size_t i = first; i < last; ++i) {
    if (i > first && !shapes[i - 1].gluedAfter && !shapes[i].gluedBefore)
      out += ' ';
    out.append(padding[i], ' ');
    out += tokens.text(i);
  }
  return out;
}

std::string LineWriter::codeOf(const FormatLine &line) const {
  return std::string(line.indent * blanksPerLevel, ' ') + span(line.first, line.last);
}

size_t LineWriter::assignOf(const FormatLine &line) const {
  if (line.first == line.last)
    return 0;
  const size_t assign = shapes[line.first].assign.value_or(0);
  return assign < line.last ? assign : 0;
}

/// `let`s on neighbouring lines keep a column for their `=` where they had one:
/// where one of them has more than one blank before it.
void LineWriter::alignLets() {
  for (size_t first = 0; first < lines.size();) {
    size_t last = first + 1;
    if (assignOf(lines[first]))
      while (last < lines.size() && assignOf(lines[last]) && !lines[last].blankBefore &&
             lines[last].indent == lines[first].indent)
        ++last;
    if (last - first > 1)
      alignRun(first, last);
    first = last;
  }
}

void LineWriter::alignRun(size_t first, size_t last) {
  bool columns = false;
  size_t widest = 0;
  for (size_t i = first; i < last; ++i) {
    const size_t assign = assignOf(lines[i]);
    columns |= tokens.items[assign].range.begin > tokens.items[assign - 1].range.end + 1;
    widest = std::max(widest, width(span(lines[i].first, assign)));
  }
  for (size_t i = first; columns && i < last; ++i) {
    const size_t assign = assignOf(lines[i]);
    padding[assign] = widest - width(span(lines[i].first, assign));
  }
}

std::string LineWriter::write() const {
  std::vector<std::string> code;
  for (const FormatLine &line : lines)
    code.push_back(codeOf(line));
  auto isBeside = [&](size_t i) { return lines[i].comment && lines[i].first != lines[i].last; };
  std::string out;
  size_t column = 0; // of comments beside code, for a run of lines
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].blankBefore)
      out += '\n';
    if (isBeside(i) && (i == 0 || !isBeside(i - 1) || lines[i].blankBefore)) {
      column = 0;
      for (size_t j = i; j < lines.size() && isBeside(j) && (j == i || !lines[j].blankBefore); ++j)
        if (width(code[j]) <= widestColumn)
          column = std::max(column, width(code[j]));
    }
    out += code[i];
    if (isBeside(i)) {
      const size_t used = width(code[i]);
      out.append(std::max(column, used) - used + blanksBeforeComment, ' ');
    }
    if (lines[i].comment) {
      const SourceRange &range = *lines[i].comment;
      std::string_view text = tokens.source.substr(range.begin, range.end - range.begin);
      out += text.substr(0, text.find_last_not_of(" \t") + 1);
    }
    out += '\n';
  }
  return out;
}

} // namespace

std::optional<std::string> formatFile(FileId file, const SourceManager &sources,
                                      Diagnostics &diagnostics) {
  parseFile(file, sources, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  const TokenList tokens = tokenize(file, sources.text(file));
  const std::vector<TokenShape> shapes = shapeOf(tokens);
  return LineWriter(tokens, shapes).write();
}

} // namespace penstock::dsl
