// SPDX-License-Identifier: Apache-2.0
//
// The token list of one file, which the parser's checks and repairs work on.
#pragma once

#include "dsl/Diagnostics/Source.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::dsl {

/// One token; `type` is one of PenstockLexer's. A token that a repair put in
/// has an empty range.
struct Lexeme {
  size_t type;
  SourceRange range;
};

/// A `///` comment.
struct DocLexeme {
  SourceRange range;
  bool ownLine; ///< nothing but blanks before it
  bool used = false;
};

struct TokenList {
  std::string_view source; ///< the file's text
  FileId file;
  std::vector<Lexeme> items; ///< without comments; ends with an end-of-file token
  std::vector<DocLexeme> docs;
  std::vector<SourceRange> remarks; ///< `//` comments

  std::string_view text(size_t index) const;
  bool is(size_t index, size_t type) const {
    return index < items.size() && items[index].type == type;
  }
  /// The token that closes the bracket at `index`, and the other way round.
  std::optional<size_t> closer(size_t index) const;
  std::optional<size_t> opener(size_t index) const;
  /// Returns whether a line break stands between a token and the one before it.
  bool startsLine(size_t index) const;
};

TokenList tokenize(FileId file, std::string_view text);

/// Returns whether the word opens a statement: `let`, `fn`, `batch` ...
bool opensStatement(size_t type);
/// Returns whether the word opens a declaration: `pub`, `const`, `fn`, `pipeline`.
bool opensDeclaration(size_t type);
bool isOpener(size_t type);
bool isCloser(size_t type);
bool isReserved(size_t type);
/// Returns whether a token of this type may stand where the grammar says `name`.
bool isName(size_t type);
/// Returns whether an expression may end with this token.
bool endsExpression(size_t type);

/// Keeps the promise of one report per statement. A statement reaches from the
/// word that opens it to the next such word.
class StatementLog {
public:
  explicit StatementLog(const TokenList &tokens);
  /// Returns true the first time it is asked about the statement at this offset.
  bool take(uint32_t offset);
  bool isTaken(uint32_t offset) const { return taken[statement(offset)]; }

private:
  size_t statement(uint32_t offset) const;

  std::vector<uint32_t> starts;
  std::vector<bool> taken;
};

} // namespace penstock::dsl
