// SPDX-License-Identifier: Apache-2.0
//
// The first sentence of the table at the end that recognises the situation is
// said; what none recognises is "expected A, found B".
#include "dsl/Parser/Sentences.h"

#include "dsl/Parser/RuleWords.h"
#include "dsl/Parser/Speaker.h"

#include <algorithm>

namespace penstock::dsl {

using Lexer = grammar::PenstockLexer;
using Parser = grammar::PenstockParser;

bool Refusal::within(size_t rule) const {
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

bool Speaker::closesNothing() {
  if (!isCloser(type(at)) || !(afterExpression() || opensStatement(type(at + 1)) || at == 0))
    return false;
  // With an opener of its own it is merely early; that is "expected, found".
  size_t depth = 0;
  for (size_t i = at; i-- > 0;) {
    if (isCloser(type(i)))
      ++depth;
    else if (isOpener(type(i)) && depth-- == 0) {
      std::optional<size_t> partner = tokens.closer(i);
      if (partner == at)
        return false;
      say(found() + " closes nothing")
          .note(range(i), quote(tokens.text(i)) + " is the bracket that is open here");
      return true;
    }
  }
  say(found() + " closes nothing");
  return true;
}

void Speaker::expectedFound() {
  std::string words = ruleWords(refusal.rules.front());
  if (!refusal.expected) { // between statements
    if (afterExpression() && refusal.rules.front() != Parser::RuleName &&
        (refusal.rules.size() == 1 || refusal.rules.front() == Parser::RulePipelineDecl ||
         refusal.rules.front() == Parser::RuleBatchBlock))
      words = "an operator or the next statement";
    else if (refusal.rules.front() == Parser::RulePipelineDecl)
      words = "`let`, `for` or `batch`";
    else if (refusal.rules.front() == Parser::RuleBatchBlock)
      words = "`let` or `output`";
    else if (refusal.rules.size() == 1)
      words = "`const`, `fn` or `pipeline`";
  }
  if (!refusal.expectedText.empty()) {
    words = quote(refusal.expectedText);
    bool mayGoOn = isCloser(*refusal.expected) && isList(refusal.rules.front()) &&
                   !previous(Lexer::COMMA) && !isOpener(type(at - 1));
    if (mayGoOn)
      words = "`,` or " + words;
  }
  Diagnostics::Report report = say("expected " + words + ", found " + found());
  if (refusal.expected && isCloser(*refusal.expected)) {
    std::optional<size_t> open = openBrace();
    if (open)
      report.note(range(*open), "`{` opens here");
  }
}

/// The brace that most likely lacks its partner: the innermost open one, unless
/// the `}` of one inside it stands further left than the line that opened it.
std::optional<size_t> Speaker::openBrace() const {
  auto column = [&](size_t index) {
    uint32_t offset = range(index).begin;
    size_t line = offset == 0 ? std::string_view::npos : tokens.source.rfind('\n', offset - 1);
    return offset - (line == std::string_view::npos ? 0 : line + 1);
  };
  auto indent = [&](size_t index) {
    while (index > 0 && !tokens.startsLine(index))
      --index;
    return column(index);
  };
  size_t depth = 0;
  for (size_t i = at; i-- > 0;) {
    if (isCloser(type(i))) {
      ++depth;
      if (tokens.is(i, Lexer::RBRACE) && tokens.startsLine(i)) {
        std::optional<size_t> partner = tokens.opener(i);
        if (partner && column(i) < indent(*partner))
          return partner;
      }
    } else if (isOpener(type(i)) && depth-- == 0) {
      return tokens.is(i, Lexer::LBRACE) ? std::optional<size_t>(i) : std::nullopt;
    }
  }
  return std::nullopt;
}

void reportRefusal(const Refusal &refusal, Diagnostics &diagnostics) {
  static constexpr bool (Speaker::*sentences[])() = {
      &Speaker::strayUnit,
      &Speaker::shareForRemainder,
      &Speaker::headOutOfOrder,
      &Speaker::choiceInBlocks,
      &Speaker::colonForThen,
      &Speaker::choiceWithoutElse,
      &Speaker::parenthesesForAxes,
      &Speaker::numbersForAxes,
      &Speaker::indexWithoutAxis,
      &Speaker::sliceWithoutEnd,
      &Speaker::axesWithoutBrackets,
      &Speaker::missingComma,
      &Speaker::statementWithoutWord,
      &Speaker::assignForEquals,
      &Speaker::conditionAfterValue,
      &Speaker::chained,
      &Speaker::severalNames,
      &Speaker::missingType,
      &Speaker::wrongHead,
      &Speaker::bodyWithoutBraces,
      &Speaker::resultWithoutReturn,
      &Speaker::misplacedStatement,
      &Speaker::strayPlace,
      &Speaker::tuple,
      &Speaker::reservedAsName,
      &Speaker::closesNothing,
      &Speaker::callAsStatement,
      &Speaker::callWithoutParentheses,
  };
  Speaker speaker(refusal, diagnostics);
  for (auto sentence : sentences)
    if ((speaker.*sentence)())
      return;
  speaker.expectedFound();
}

} // namespace penstock::dsl
