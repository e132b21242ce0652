// Mistakes inside of a value.
#include "dsl/Parser/Speaker.h"

namespace penstock::dsl {

using Lexer = grammar::PenstockLexer;
using Parser = grammar::PenstockParser;

/// The user's `= a if c else b` turned round, if it stands on one line.
std::string Speaker::choiceInOurWords() const {
  std::string general = "`if condition then a else b`";
  size_t begin = at, other = at, end = at;
  while (begin > 0 && !tokens.startsLine(begin) &&
         !tokens.is(begin, Lexer::ASSIGN) && !tokens.is(begin, Lexer::STAGE))
    --begin;
  while (other < tokens.items.size() && !tokens.is(other, Lexer::ELSE) &&
         (other == at || !tokens.startsLine(other)))
    ++other;
  if (!tokens.is(begin, Lexer::ASSIGN) || !is(Lexer::IF) ||
      !tokens.is(other, Lexer::ELSE))
    return general;
  end = other;
  while (end + 2 < tokens.items.size() && !tokens.startsLine(end + 1))
    ++end;
  auto text = [&](size_t from, size_t to) {
    return std::string(tokens.source.substr(range(from).begin,
                                            range(to).end - range(from).begin));
  };
  if (begin + 1 == at || other == at + 1 || end == other)
    return general;
  return quote("if " + text(at + 1, other - 1) + " then " +
               text(begin + 1, at - 1) + " else " + text(other + 1, end));
}

// `a if c else b`
bool Speaker::conditionAfterValue() {
  if (!afterExpression() || !(is(Lexer::IF) || is(Lexer::ELSE)))
    return false;
  if (is(Lexer::ELSE)) { // the `else` of `|> f if c else b`, or one without
                         // `then`
    bool then = false;
    for (size_t i = at; i-- > 0 && !opensStatement(type(i));)
      then |= tokens.is(i, Lexer::THEN);
    if (then)
      return false;
  }
  say("a choice between values opens with its condition")
      .hint(choiceInOurWords());
  return true;
}

// `x[0]`, `x[:, 0]`, `x[i]`
bool Speaker::indexWithoutAxis() {
  if (!refusal.within(Parser::RuleIndex))
    return false;
  size_t open = at; // the bracket of this index
  while (open > 0 && !tokens.is(open, Lexer::LBRACK))
    --open;
  bool first = at == open + 1 ||
               (at == open + 2 && isName(type(open + 1)) && !is(Lexer::ASSIGN));
  if (!first)
    return false;
  size_t item = open + 1;
  if (tokens.is(item, Lexer::RBRACK) || type(item) == antlr4::Token::EOF)
    return false;
  std::string base = open > 0 && isName(type(open - 1))
                         ? std::string(tokens.text(open - 1))
                         : "x";
  std::string value =
      tokens.is(item, Lexer::COLON) ? "0" : std::string(tokens.text(item));
  diagnostics.error(range(item), "an index names its axis")
      .hint("`" + base + "[h = " + value + "]`, with the axis in place of `h`");
  return true;
}

// `over h, w`
bool Speaker::axesWithoutBrackets() {
  if (!refusal.within(Parser::RuleAxes) || at == 0 || !isName(type(at)))
    return false;
  if (!previous(Lexer::OVER) && !previous(Lexer::PER) &&
      !previous(Lexer::STORED))
    return false;
  std::string axes(tokens.text(at));
  SourceRange span = range(at);
  for (size_t i = at + 1; tokens.is(i, Lexer::COMMA) && isName(type(i + 1)) &&
                          !tokens.is(i + 2, Lexer::ASSIGN);
       i += 2) {
    axes += ", " + std::string(tokens.text(i + 1));
    span = join(span, range(i + 1));
  }
  std::string word(tokens.text(at - 1));
  diagnostics
      .error(span, "the axes after " + quote(word) + " stand in brackets")
      .hint(quote(word + " [" + axes + "]"));
  return true;
}

// `if a = b then`
bool Speaker::assignForEquals() {
  if (!is(Lexer::ASSIGN) || !afterExpression())
    return false;
  for (size_t i = at;
       i-- > 0 && !opensStatement(type(i)) && !tokens.is(i, Lexer::ASSIGN);) {
    if (tokens.is(i, Lexer::IF) || tokens.is(i, Lexer::WHERE) ||
        tokens.is(i, Lexer::WHEN)) {
      say("`=` gives a name to a value; values are compared with `==`")
          .hint("`==`");
      return true;
    }
  }
  return false;
}

// `a < b < c`, `0 .. 4 .. 2`
bool Speaker::chained() {
  if (!afterExpression() || refusal.within(Parser::RuleType) ||
      refusal.within(Parser::RuleBind))
    return false;
  size_t token = type(at);
  bool range = token == Lexer::RANGE_TO || token == Lexer::RANGE_IN;
  bool comparison =
      (token >= Lexer::EQ && token <= Lexer::GE) || token == Lexer::IN;
  if (!range && !comparison)
    return false;
  // There must be an earlier one in the same brackets.
  size_t depth = 0;
  for (size_t i = at; i-- > 0 && !opensStatement(type(i));) {
    if (isCloser(type(i)))
      ++depth;
    else if (isOpener(type(i)) && depth-- == 0)
      return false;
    size_t other = type(i);
    bool same = range ? other == Lexer::RANGE_TO || other == Lexer::RANGE_IN
                      : (other >= Lexer::EQ && other <= Lexer::GE) ||
                            other == Lexer::IN;
    if (depth == 0 && same) {
      say(range ? "ranges do not chain" : "comparisons do not chain")
          .note(tokens.items[i].range, "the first one")
          .hint(range ? "a range has two ends and no step"
                      : "`a < b and b < c`");
      return true;
    }
  }
  return false;
}

// `|> flip w`, `draw uniform 0 .. 1`
bool Speaker::callWithoutParentheses() {
  size_t token = type(at);
  bool argument =
      isName(token) || (token >= Lexer::INT && token <= Lexer::STRING);
  if (at == 0 || !isName(type(at - 1)) || !argument || tokens.startsLine(at) ||
      !(refusal.rules.size() == 1 ||
        refusal.rules.front() == Parser::RulePipelineDecl ||
        refusal.rules.front() == Parser::RuleBatchBlock ||
        refusal.within(Parser::RuleExpr)))
    return false;
  say("expected an operator or the next statement, found " + found())
      .hint(quote(std::string(tokens.text(at - 1)) + "(" +
                  std::string(tokens.text(at)) + ")") +
            " if it is an argument");
  return true;
}

// `1 %`
bool Speaker::strayUnit() {
  if (!previous(Lexer::PERCENT) || at < 2 ||
      !(tokens.is(at - 2, Lexer::INT) || tokens.is(at - 2, Lexer::FLOAT)))
    return false;
  SourceRange span = join(range(at - 2), range(at - 1));
  diagnostics.error(span, "a unit is glued to its number")
      .hint(quote(std::string(tokens.text(at - 2)) + "%"));
  return true;
}

// `per [h, w]` or `over [h]` where none belongs
bool Speaker::strayPlace() {
  if (!next(Lexer::LBRACK))
    return false;
  if (is(Lexer::PER)) {
    // `beta(0.4, 0.4) per [n]`: the whole draw but for its first word.
    std::optional<size_t> open;
    if (previous(Lexer::RPAREN))
      open = tokens.opener(at - 1);
    bool call = open && *open > 0 && isName(type(*open - 1));
    SourceRange span = call ? join(range(*open - 1), range(at)) : range(at);
    diagnostics.error(span, "`per` follows a `draw`, and adds axes to it")
        .hint(call ? quote("draw " + std::string(tokens.text(*open - 1)) +
                           "(...) per [...]")
                   : "`draw normal per [h, w]`");
    return true;
  }
  if (is(Lexer::OVER)) {
    if (std::optional<size_t> open = nakedParenthesis()) {
      diagnostics
          .error(range(*open), "`over` needs the name of a reduction here")
          .note(range(at), "the `over`")
          .hint("`sum(x over [h, w])`");
      return true;
    }
    say("`over` follows the one argument of a reduction")
        .hint("`sum(x over [h, w])`");
    return true;
  }
  return false;
}

/// The `(` without a function before it that the refused token stands in.
std::optional<size_t> Speaker::nakedParenthesis() const {
  if (refusal.rules.front() != Parser::RuleGroup)
    return std::nullopt;
  size_t depth = 0;
  for (size_t i = at; i-- > 0;) {
    if (isCloser(type(i)))
      ++depth;
    else if (isOpener(type(i)) && depth-- == 0)
      return i;
  }
  return std::nullopt;
}

// `(a, b)`
bool Speaker::tuple() {
  std::optional<size_t> open = nakedParenthesis();
  if (!is(Lexer::COMMA) || !open)
    return false;
  diagnostics.error(range(*open), "parentheses hold one value")
      .note(range(at), "here a second one begins")
      .hint("`f(a, b)` calls a function, `[a, b]` is a list");
  return true;
}

} // namespace penstock::dsl
