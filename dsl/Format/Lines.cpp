// SPDX-License-Identifier: Apache-2.0
//
// Line breaks and indentation.
//
// Brackets decide. They are *open* where the first thing in them stands on a
// line of its own: then their content is one level further in and the closer
// gets a line of its own. Else they *hang*, and what follows on later lines
// goes on from the line of the opener.
#include "dsl/Format/Lines.h"

#include <algorithm>

namespace penstock::dsl {
namespace {

class LineCutter {
public:
  LineCutter(const TokenList &tokens, const std::vector<TokenShape> &shapes);
  std::vector<FormatLine> cut();

private:
  static constexpr size_t none = SIZE_MAX;

  void matchBrackets();
  void mergeComments();
  size_t newlinesBefore(uint32_t offset, uint32_t end) const {
    std::string_view between = tokens.source.substr(end, offset - end);
    return static_cast<size_t>(std::count(between.begin(), between.end(), '\n'));
  }
  bool isHolder(size_t opener) const {
    return shapes[opener].holdsStatements && spansLines[opener];
  }
  bool isOpen(size_t opener) const { return isHolder(opener) || startsLine[opener + 1]; }
  bool mustStartLine(size_t token) const;
  bool isFirstOnLine(size_t token) const { return lines[lineOf[token]].first == token; }
  size_t indentAt(size_t token) const { return lines[lineOf[token]].indent; }
  size_t openerIndent(size_t opener) const {
    return indentAt(shapes[opener].owner.value_or(opener));
  }
  /// The indent of a line that starts with this token.
  size_t indentOf(size_t token) const;
  std::optional<size_t> branchIndent(size_t token) const;
  size_t commentIndent(size_t next) const;

  const TokenList &tokens;
  const std::vector<TokenShape> &shapes;
  size_t count; ///< tokens without the end of the file
  std::vector<SourceRange> comments;
  std::vector<size_t> parent;   ///< the opener around a token, or of a closer
  std::vector<bool> spansLines; ///< of an opener
  std::vector<bool> startsLine;
  std::vector<size_t> lineOf;
  std::vector<FormatLine> lines;
};

LineCutter::LineCutter(const TokenList &tokens, const std::vector<TokenShape> &shapes)
    : tokens(tokens), shapes(shapes), count(tokens.items.size() - 1), parent(count, none),
      spansLines(count), startsLine(count + 1), lineOf(count) {
  matchBrackets();
  mergeComments();
}

void LineCutter::matchBrackets() {
  std::vector<size_t> open;
  for (size_t i = 0; i < count; ++i) {
    parent[i] = open.empty() ? none : open.back();
    if (isOpener(tokens.items[i].type))
      open.push_back(i);
    if (!isCloser(tokens.items[i].type) || open.empty())
      continue;
    spansLines[open.back()] =
        newlinesBefore(tokens.items[i].range.begin, tokens.items[open.back()].range.end) > 0;
    open.pop_back();
  }
}

void LineCutter::mergeComments() {
  comments = tokens.remarks;
  for (const DocLexeme &doc : tokens.docs)
    comments.push_back(doc.range);
  std::sort(comments.begin(), comments.end(),
            [](const SourceRange &a, const SourceRange &b) { return a.begin < b.begin; });
}

bool LineCutter::mustStartLine(size_t token) const {
  const size_t opener = parent[token];
  if (isCloser(tokens.items[token].type))
    return opener != none && isOpen(opener);
  return shapes[token].begins == Begins::Statement && (opener == none || isHolder(opener));
}

std::vector<FormatLine> LineCutter::cut() {
  uint32_t end = 0; // of what was last put on a line
  size_t nextComment = 0;
  bool afterComment = false;
  auto blank = [&](size_t newlines, size_t token) {
    return newlines > 1 && !lines.empty() &&
           !(token < count && isCloser(tokens.items[token].type)) &&
           !(!afterComment && token > 0 && isOpener(tokens.items[token - 1].type));
  };
  for (size_t i = 0; i <= count; ++i) {
    const uint32_t begin = i < count ? tokens.items[i].range.begin : UINT32_MAX;
    for (; nextComment < comments.size() && comments[nextComment].begin < begin; ++nextComment) {
      const SourceRange &comment = comments[nextComment];
      const size_t newlines = newlinesBefore(comment.begin, end);
      if (lines.empty() || newlines || afterComment) {
        const bool closes = i < count && isCloser(tokens.items[i].type);
        lines.push_back({blank(newlines, closes ? count : i), commentIndent(i), i, i, comment});
      } else {
        lines.back().comment = comment;
      }
      end = comment.end;
      afterComment = true;
      if (i > 0 && i <= count)
        startsLine[i] = true;
    }
    if (i == count)
      break;
    const size_t newlines = newlinesBefore(begin, end);
    // An opener's way depends on what follows it, which may be a comment.
    if (isOpener(tokens.items[i].type) && i + 1 < count)
      startsLine[i + 1] =
          newlinesBefore(tokens.items[i + 1].range.begin, tokens.items[i].range.end) > 0;
    if (lines.empty() || newlines || afterComment || mustStartLine(i)) {
      startsLine[i] = true;
      lineOf[i] = lines.size();
      lines.push_back({blank(newlines, i), 0, i, i, {}});
      lines.back().indent = indentOf(i);
    }
    lineOf[i] = lines.size() - 1;
    lines.back().last = i + 1;
    end = tokens.items[i].range.end;
    afterComment = false;
  }
  return std::move(lines);
}

std::optional<size_t> LineCutter::branchIndent(size_t token) const {
  if (!shapes[token].branchOf)
    return std::nullopt;
  const size_t head = *shapes[token].branchOf; // `if` or `search`
  const bool chained = head > 0 && shapes[head - 1].branchOf && isFirstOnLine(head - 1);
  if (!isFirstOnLine(head) && !chained)
    return std::nullopt;
  return indentAt(head) + (tokens.text(token) == "then");
}

size_t LineCutter::indentOf(size_t token) const {
  const size_t opener = parent[token];
  if (isCloser(tokens.items[token].type))
    return opener == none ? 0 : openerIndent(opener);
  if (std::optional<size_t> indent = branchIndent(token))
    return *indent;
  const bool continues = shapes[token].begins == Begins::Nothing;
  if (opener == none)
    return continues;
  if (isOpen(opener))
    return openerIndent(opener) + 1 + continues;
  // A long formula stays on one level, however deep its parentheses are.
  const size_t head = lines[lineOf[opener]].first;
  const bool further = !continues || shapes[head].begins != Begins::Nothing;
  return indentAt(opener) + further;
}

size_t LineCutter::commentIndent(size_t next) const {
  if (next >= count)
    return 0;
  if (isCloser(tokens.items[next].type) && parent[next] != none)
    return openerIndent(parent[next]) + 1;
  return indentOf(next);
}

} // namespace

std::vector<FormatLine> linesOf(const TokenList &tokens, const std::vector<TokenShape> &shapes) {
  return LineCutter(tokens, shapes).cut();
}

} // namespace penstock::dsl
