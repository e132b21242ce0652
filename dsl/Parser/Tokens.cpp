// SPDX-License-Identifier: Apache-2.0
#include "dsl/Parser/Tokens.h"

#include "generated/PenstockLexer.h"

#include <algorithm>

namespace penstock::dsl {

using grammar::PenstockLexer;

namespace {

/// Returns whether the `pub` at `index` opens a declaration. After what an expression
/// may end with, no name can stand.
bool makesPublic(const TokenList &list, size_t index) {
  if (index > 0 && !endsExpression(list.items[index - 1].type))
    return false;
  return list.is(index + 1, PenstockLexer::FN) || list.is(index + 1, PenstockLexer::CONST);
}

} // namespace

TokenList tokenize(FileId file, std::string_view text) {
  // ANTLR counts code points. With every byte of a longer character replaced
  // by a control character, its positions are byte offsets, and text that is
  // not UTF-8 does no harm.
  std::string ascii(text);
  if (text.starts_with("\xEF\xBB\xBF"))
    std::fill_n(ascii.begin(), 3, ' ');
  for (char &c : ascii)
    if (c & 0x80)
      c = '\x01';

  antlr4::ANTLRInputStream input(ascii);
  PenstockLexer lexer(&input);
  lexer.removeErrorListeners();

  TokenList list{text, file, {}, {}, {}};
  for (;;) {
    std::unique_ptr<antlr4::Token> token = lexer.nextToken();
    if (token->getType() == antlr4::Token::EOF)
      break;
    SourceRange range{file, static_cast<uint32_t>(token->getStartIndex()),
                      static_cast<uint32_t>(token->getStopIndex() + 1)};
    if (token->getChannel() == PenstockLexer::DOCS) {
      size_t lineStart = text.rfind('\n', range.begin);
      lineStart = lineStart == std::string_view::npos ? 0 : lineStart + 1;
      std::string_view before = text.substr(lineStart, range.begin - lineStart);
      list.docs.push_back({range, before.find_first_not_of(" \t") == std::string_view::npos});
    } else if (token->getChannel() == PenstockLexer::REMARKS) {
      list.remarks.push_back(range);
    } else {
      list.items.push_back({token->getType(), range});
    }
  }
  for (size_t i = 0; i < list.items.size(); ++i)
    if (list.items[i].type == PenstockLexer::PUB && !makesPublic(list, i))
      list.items[i].type = PenstockLexer::ID;
  // The end of the file is just after the last token: that is where a user
  // looks for what is missing.
  uint32_t end = list.items.empty() ? 0 : list.items.back().range.end;
  list.items.push_back({antlr4::Token::EOF, {file, end, end}});
  return list;
}

std::string_view TokenList::text(size_t index) const {
  const SourceRange &range = items[index].range;
  return source.substr(range.begin, range.end - range.begin);
}

namespace {

// clang-format off: a table
size_t partner(size_t type) {
  switch (type) {
  case PenstockLexer::LPAREN: return PenstockLexer::RPAREN;
  case PenstockLexer::LBRACK: return PenstockLexer::RBRACK;
  case PenstockLexer::LBRACE: return PenstockLexer::RBRACE;
  case PenstockLexer::RPAREN: return PenstockLexer::LPAREN;
  case PenstockLexer::RBRACK: return PenstockLexer::LBRACK;
  default: return PenstockLexer::LBRACE;
  }
}
// clang-format on

} // namespace

std::optional<size_t> TokenList::closer(size_t index) const {
  size_t open = items[index].type, close = partner(open), depth = 0;
  for (size_t i = index; i < items.size(); ++i) {
    depth += items[i].type == open;
    if (items[i].type == close && --depth == 0)
      return i;
  }
  return std::nullopt;
}

std::optional<size_t> TokenList::opener(size_t index) const {
  size_t close = items[index].type, open = partner(close), depth = 0;
  for (size_t i = index + 1; i-- > 0;) {
    depth += items[i].type == close;
    if (items[i].type == open && --depth == 0)
      return i;
  }
  return std::nullopt;
}

bool TokenList::startsLine(size_t index) const {
  if (index == 0)
    return true;
  uint32_t begin = items[index - 1].range.end, end = items[index].range.begin;
  return source.substr(begin, end - begin).find('\n') != std::string_view::npos;
}

bool opensDeclaration(size_t type) {
  return type == PenstockLexer::CONST || type == PenstockLexer::FN ||
         type == PenstockLexer::PIPELINE || type == PenstockLexer::PUB;
}

bool opensStatement(size_t type) {
  switch (type) {
  case PenstockLexer::LET:
  case PenstockLexer::RETURN:
  case PenstockLexer::OUTPUT:
  case PenstockLexer::BATCH:
  case PenstockLexer::FOR:
    return true;
  default:
    return opensDeclaration(type);
  }
}

bool isOpener(size_t type) {
  return type == PenstockLexer::LPAREN || type == PenstockLexer::LBRACK ||
         type == PenstockLexer::LBRACE;
}

bool isCloser(size_t type) {
  return type == PenstockLexer::RPAREN || type == PenstockLexer::RBRACK ||
         type == PenstockLexer::RBRACE;
}

bool isReserved(size_t type) {
  return type >= PenstockLexer::PIPELINE && type <= PenstockLexer::FALSE;
}

bool isName(size_t type) {
  return type == PenstockLexer::ID || (type >= PenstockLexer::PIPE && type <= PenstockLexer::WHEN);
}

bool endsExpression(size_t type) {
  switch (type) {
  case PenstockLexer::INT:
  case PenstockLexer::FLOAT:
  case PenstockLexer::QUANTITY:
  case PenstockLexer::STRING:
  case PenstockLexer::TRUE:
  case PenstockLexer::FALSE:
    return true;
  default:
    return isName(type) || isCloser(type);
  }
}

StatementLog::StatementLog(const TokenList &tokens) {
  starts.push_back(0);
  for (size_t i = 0; i < tokens.items.size(); ++i)
    if (opensStatement(tokens.items[i].type) && (i == 0 || !tokens.is(i - 1, PenstockLexer::PUB)))
      starts.push_back(tokens.items[i].range.begin);
  taken.resize(starts.size());
}

size_t StatementLog::statement(uint32_t offset) const {
  auto next = std::upper_bound(starts.begin(), starts.end(), offset);
  return static_cast<size_t>(next - starts.begin()) - 1;
}

bool StatementLog::take(uint32_t offset) {
  size_t index = statement(offset);
  if (taken[index])
    return false;
  taken[index] = true;
  return true;
}

} // namespace penstock::dsl
