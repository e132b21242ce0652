// SPDX-License-Identifier: Apache-2.0
//
// A mistake that has a sentence of its own is one function here.
#pragma once

#include "dsl/Diagnostics/Quote.h"
#include "dsl/Parser/Sentences.h"
#include "generated/PenstockLexer.h"
#include "generated/PenstockParser.h"

namespace penstock::dsl {

/// The refused token with its surroundings, and the ways to speak about it.
class Speaker {
public:
  Speaker(const Refusal &refusal, Diagnostics &diagnostics)
      : refusal(refusal), tokens(refusal.tokens), at(refusal.at), diagnostics(diagnostics) {}

  std::string textOf(size_t first, size_t last) const {
    return std::string(
        tokens.source.substr(range(first).begin, range(last).end - range(first).begin));
  }
  std::string choiceInOurWords() const;
  bool choiceInBlocks();
  bool colonForThen();
  bool numbersForAxes();
  bool missingComma();
  bool choiceWithoutElse();
  bool parenthesesForAxes();
  bool callAsStatement();
  bool conditionAfterValue();
  bool indexWithoutAxis();
  /// Returns whether a token stands among the arguments of `decode`.
  bool isOfDecode(size_t token) const;
  bool sliceWithoutEnd();
  bool axesWithoutBrackets();
  bool statementWithoutWord();
  bool assignForEquals();
  bool chained();
  bool missingType();
  bool callWithoutParentheses();
  bool wrongHead();
  bool bodyWithoutBraces();
  bool resultWithoutReturn();
  bool misplacedStatement();
  bool severalNames();
  bool headOutOfOrder();
  bool shareForRemainder();
  bool strayUnit();
  bool strayPlace();
  std::optional<size_t> headOf(size_t token) const;
  std::optional<size_t> nakedParenthesis() const;
  bool tuple();
  bool reservedAsName();
  bool closesNothing();
  void expectedFound();
  std::optional<size_t> openBrace() const;

private:
  const Refusal &refusal;
  const TokenList &tokens;
  size_t at;
  Diagnostics &diagnostics;

  size_t type(size_t index) const {
    return index < tokens.items.size() ? tokens.items[index].type : antlr4::Token::EOF;
  }
  bool is(size_t token) const { return tokens.is(at, token); }
  bool next(size_t token) const { return tokens.is(at + 1, token); }
  bool previous(size_t token) const { return at > 0 && tokens.is(at - 1, token); }
  bool afterExpression() const { return at > 0 && endsExpression(type(at - 1)); }
  SourceRange range(size_t index) const { return tokens.items[index].range; }
  Diagnostics::Report say(std::string message) {
    return diagnostics.error(range(at), std::move(message));
  }
  std::string found() const {
    return type(at) == antlr4::Token::EOF ? "the end of the file" : quote(tokens.text(at));
  }
};

} // namespace penstock::dsl
