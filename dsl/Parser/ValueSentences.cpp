// SPDX-License-Identifier: Apache-2.0
//
// Mistakes inside of a value.
#include "dsl/Parser/Speaker.h"

#include "dsl/Diagnostics/Nearest.h"

#include <algorithm>
#include <cctype>

namespace penstock::dsl {

using Lexer = grammar::PenstockLexer;
using Parser = grammar::PenstockParser;

static bool isElement(std::string_view name) {
  static constexpr std::string_view types[] = {"u8",  "i8",   "u16", "i16", "i32", "i64",
                                               "f16", "bf16", "f32", "f64", "bool"};
  return std::find(std::begin(types), std::end(types), name) != std::end(types);
}

/// The user's `= a if c else b` turned round, if it stands on one line.
std::string Speaker::choiceInOurWords() const {
  std::string general = "`if condition then a else b`";
  size_t begin = at, other = at, end = at;
  while (begin > 0 && !tokens.startsLine(begin) && !tokens.is(begin, Lexer::ASSIGN) &&
         !tokens.is(begin, Lexer::STAGE))
    --begin;
  while (other < tokens.items.size() && !tokens.is(other, Lexer::ELSE) &&
         (other == at || !tokens.startsLine(other)))
    ++other;
  if (!tokens.is(begin, Lexer::ASSIGN) || !is(Lexer::IF) || !tokens.is(other, Lexer::ELSE))
    return general;
  end = other;
  while (end + 2 < tokens.items.size() && !tokens.startsLine(end + 1))
    ++end;
  if (begin + 1 == at || other == at + 1 || end == other)
    return general;
  return quote("if " + textOf(at + 1, other - 1) + " then " + textOf(begin + 1, at - 1) + " else " +
               textOf(other + 1, end));
}

// `a if c else b`
bool Speaker::conditionAfterValue() {
  if (!afterExpression() || !(is(Lexer::IF) || is(Lexer::ELSE)))
    return false;
  // On a line of its own `if` begins the next thing, such as a result without `return`.
  if (refusal.expected == Lexer::RETURN && is(Lexer::IF) && tokens.startsLine(at))
    return false;
  if (is(Lexer::ELSE)) { // the `else` of `|> f if c else b`, or one without
                         // `then`
    bool then = false;
    for (size_t i = at; i-- > 0 && !opensStatement(type(i));)
      then |= tokens.is(i, Lexer::THEN);
    if (then)
      return false;
  }
  say("a choice between values opens with its condition").hint(choiceInOurWords());
  return true;
}

// `if (c) { a } else { b }`
bool Speaker::choiceInBlocks() {
  if (!is(Lexer::LBRACE) || at == 0)
    return false;
  size_t word = at; // the `if` in the same brackets, without its `then`
  for (size_t depth = 0; word-- > 0;) {
    if (isCloser(type(word)))
      ++depth;
    else if (isOpener(type(word)) && depth-- == 0)
      return false;
    if (depth == 0 && tokens.is(word, Lexer::IF))
      break;
    if (depth == 0 && (opensStatement(type(word)) || tokens.is(word, Lexer::THEN) ||
                       tokens.is(word, Lexer::STAGE)))
      return false;
    if (word == 0)
      return false;
  }
  std::string hint = "`if condition then a else b`";
  size_t first = word + 1, last = at - 1;
  if (tokens.is(first, Lexer::LPAREN) && tokens.closer(first) == last && first + 1 < last)
    ++first, --last;
  const std::optional<size_t> middle = tokens.closer(at);
  const size_t brace = middle ? *middle + 2 : 0;
  const std::optional<size_t> end =
      tokens.is(brace, Lexer::LBRACE) ? tokens.closer(brace) : std::nullopt;
  auto isPlain = [&](size_t open, size_t close) {
    for (size_t i = open + 1; i < close; ++i)
      if (opensStatement(type(i)))
        return false;
    return close > open + 1;
  };
  if (end && tokens.is(*middle + 1, Lexer::ELSE) && isPlain(at, *middle) && isPlain(brace, *end))
    hint = quote("if " + textOf(first, last) + " then " + textOf(at + 1, *middle - 1) + " else " +
                 textOf(brace + 1, *end - 1));
  diagnostics
      .error(range(word),
             "`if` chooses between two values, with `then` and `else` and without braces")
      .note(range(at), "this brace opens no block")
      .hint(hint);
  return true;
}

// `if c: a else: b`
bool Speaker::colonForThen() {
  if (!is(Lexer::COLON) || refusal.expected != Lexer::THEN)
    return false;
  std::string hint = "`if condition then a else b`";
  size_t word = at, other = at, end = at;
  while (word > 0 && !tokens.is(word, Lexer::IF))
    --word;
  while (other + 1 < tokens.items.size() && !tokens.startsLine(other) &&
         !tokens.is(other, Lexer::ELSE))
    ++other;
  for (end = other; end + 2 < tokens.items.size() && !tokens.startsLine(end + 1);)
    ++end;
  if (tokens.is(other, Lexer::ELSE) && tokens.is(other + 1, Lexer::COLON) && end > other + 1 &&
      other > at + 1)
    hint = quote("if " + textOf(word + 1, at - 1) + " then " + textOf(at + 1, other - 1) +
                 " else " + textOf(other + 2, end));
  say("the value of an `if` stands after `then`, not after `:`").hint(hint);
  return true;
}

// `let y = if c then a`
bool Speaker::choiceWithoutElse() {
  if (refusal.expected != Lexer::ELSE || !(opensStatement(type(at)) || isCloser(type(at))))
    return false;
  size_t word = at, depth = 0;
  while (word-- > 0) {
    depth += isCloser(type(word));
    if (isOpener(type(word)) && depth-- == 0)
      return false;
    if (depth == 0 && tokens.is(word, Lexer::IF))
      break;
    if (word == 0)
      return false;
  }
  diagnostics.error(range(word), "this `if` has no `else`, and a choice needs both values")
      .hint("`else` and the other value; for a stage, `|> f(...) if condition`");
  return true;
}

// `u8(n, h, w)`
bool Speaker::parenthesesForAxes() {
  if (!is(Lexer::LPAREN) || refusal.expected != Lexer::ASSIGN || at == 0 || !isName(type(at - 1)) ||
      refusal.within(Parser::RuleExpr))
    return false;
  const std::optional<size_t> close = tokens.closer(at);
  say("the axes of a type stand in brackets")
      .hint(close && *close > at + 1
                ? quote(std::string(tokens.text(at - 1)) + "[" + textOf(at + 1, *close - 1) + "]")
                : "`u8[h, w, c]`");
  return true;
}

// `f16[3, 224, 224]`
bool Speaker::numbersForAxes() {
  if (!refusal.within(Parser::RuleAxisTypes) || !is(Lexer::INT))
    return false;
  size_t open = at;
  while (open > 0 && !tokens.is(open, Lexer::LBRACK))
    --open;
  const std::optional<size_t> close = tokens.closer(open);
  std::vector<std::string> extents;
  for (size_t i = open + 1; close && i < *close; i += 2) {
    const bool single = type(i) == Lexer::INT || isName(type(i));
    if (!single || (i + 1 != *close && !tokens.is(i + 1, Lexer::COMMA)))
      extents.resize(5); // more than a picture has
    extents.emplace_back(tokens.text(i));
  }
  if (extents.size() == 4 || (!extents.empty() && extents.front() == "n")) // the batch's
    extents.erase(extents.begin());
  auto few = [](const std::string &text) { return text == "1" || text == "3" || text == "4"; };
  const bool channelsLast = extents.size() == 3 && !few(extents[0]) && few(extents[2]);
  std::string_view names = extents.size() == 1   ? "k"
                           : extents.size() == 2 ? "hw"
                           : channelsLast        ? "hwc"
                                                 : "chw";
  std::string axes = refusal.within(Parser::RuleOutputStmt) ? "n" : "";
  for (size_t i = 0; i < extents.size() && i < names.size(); ++i)
    axes += (axes.empty() ? "" : ", ") + std::string(1, names[i]) + " = " + extents[i];
  say("an axis has a name, and its extent stands after it")
      .hint(extents.size() > 3 || extents.empty() || open == 0
                ? "`h = " + std::string(tokens.text(at)) + "`"
                : quote(std::string(tokens.text(open - 1)) + "[" + axes + "]"));
  return true;
}

/// Returns whether a token can open an argument, an item or a field.
static bool opensItem(size_t token) {
  return isName(token) || (token >= Lexer::INT && token <= Lexer::STRING) || token == Lexer::TRUE ||
         token == Lexer::FALSE || token == Lexer::DRAW || token == Lexer::MAP ||
         token == Lexer::NOT;
}

// `resize(x, 224 224)`, `{ image = a  boxes = b }`
bool Speaker::missingComma() {
  if (!afterExpression() || !opensItem(type(at)))
    return false;
  // `draw normal per h`
  if (is(Lexer::PER) && next(Lexer::ID)) {
    say("the axes of `per` stand in brackets")
        .hint(quote("per [" + std::string(tokens.text(at + 1)) + "]"));
    return true;
  }
  size_t open = at, depth = 0;
  while (open-- > 0) {
    if (isCloser(type(open)))
      ++depth;
    else if (isOpener(type(open)) && depth-- == 0)
      break;
    if (open == 0)
      return false;
  }
  auto takesNames = [](size_t word) {
    return word == Lexer::MAP || word == Lexer::WINDOW || word == Lexer::EACH ||
           word == Lexer::SEARCH;
  };
  const bool call = tokens.is(open, Lexer::LPAREN) && open > 0 &&
                    (isName(type(open - 1)) || takesNames(type(open - 1)));
  const bool record = tokens.is(open, Lexer::LBRACE) && isName(type(open + 1)) &&
                      (tokens.is(open + 2, Lexer::ASSIGN) || tokens.is(open + 2, Lexer::COLON));
  if (!call && !record && !tokens.is(open, Lexer::LBRACK))
    return false;
  const std::optional<size_t> close = tokens.closer(open);
  for (size_t i = open; record && i < close.value_or(at); ++i)
    if (opensStatement(type(i)))
      return false; // a block
  if (call && is(Lexer::ID) && next(Lexer::LBRACK) &&
      !nearest(tokens.text(at), std::initializer_list<std::string_view>{"over"}).empty()) {
    say(quote(tokens.text(at)) + " is no word of the language").hint("`over`");
    return true;
  }
  say("a `,` is missing before " + found())
      .hint(quote(std::string(tokens.text(at - 1)) + ", " + std::string(tokens.text(at))));
  return true;
}

bool Speaker::isOfDecode(size_t token) const {
  int depth = 0;
  for (; token > 0; --token) {
    depth += tokens.is(token, Lexer::RPAREN);
    if (tokens.is(token, Lexer::LPAREN) && depth-- == 0)
      return tokens.text(token - 1) == "decode";
  }
  return false;
}

// `x[0]`, `x[:, 0]`, `x[i]`
bool Speaker::indexWithoutAxis() {
  if (!refusal.within(Parser::RuleIndex))
    return false;
  size_t open = at; // the bracket of this index
  while (open > 0 && !tokens.is(open, Lexer::LBRACK))
    --open;
  bool first = at == open + 1 || (at == open + 2 && isName(type(open + 1)) && !is(Lexer::ASSIGN));
  if (!first)
    return false;
  size_t item = open + 1;
  if (tokens.is(item, Lexer::RBRACK) || type(item) == antlr4::Token::EOF)
    return false;
  std::string base = open > 0 && isName(type(open - 1)) ? std::string(tokens.text(open - 1)) : "x";
  if (base == "shape" && open > 2 && tokens.is(open - 2, Lexer::DOT) && isName(type(open - 3))) {
    diagnostics.error(range(item), "an extent is asked for by the name of its axis")
        .hint(quote("extent(" + std::string(tokens.text(open - 3)) + ", h)"));
    return true;
  }
  if (isName(type(item)) && tokens.is(item + 1, Lexer::LE) && isElement(base)) {
    const bool isNumber = tokens.is(item + 2, Lexer::INT);
    if (isOfDecode(open)) {
      diagnostics
          .error(join(range(item), range(isNumber ? item + 2 : item + 1)),
                 "a file has its own number of elements along one axis, or an exact one")
          .hint(quote(std::string(tokens.text(item))) + ", or " +
                quote(std::string(tokens.text(item)) + " = " +
                      (isNumber ? std::string(tokens.text(item + 2)) : "9")));
      return true;
    }
    diagnostics
        .error(join(range(item), range(isNumber ? item + 2 : item + 1)),
               "an extent that differs from row to row is a range")
        .hint(quote(std::string(tokens.text(item)) +
                    " = 0 ..= " + (isNumber ? std::string(tokens.text(item + 2)) : "9")));
    return true;
  }
  if (tokens.is(item, Lexer::STRING)) { // `row["label"]`
    const std::string_view quoted = tokens.text(item), text = quoted.substr(1, quoted.size() - 2);
    const bool isWord = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    auto report = diagnostics.error(range(item), "a column or field is named without quotes");
    if (isWord)
      report.hint(quote(base + "." + std::string(text)));
    else
      report.hint("a name of its own where the table is opened: `label = column(\"" +
                  std::string(text) + "\", i64)`, and then `" + base + ".label`");
    return true;
  }
  const bool plain = tokens.is(item, Lexer::INT) || isName(type(item));
  std::string value = plain ? std::string(tokens.text(item)) : "0";
  if (tokens.is(item, Lexer::MINUS) && tokens.is(item + 1, Lexer::INT)) // `x[-1]`
    value = "extent(" + base + ", h) - " + std::string(tokens.text(item + 1));
  if (plain && tokens.is(item + 1, Lexer::COLON) && tokens.is(item + 2, Lexer::INT)) // `x[1:9]`
    value += " .. " + std::string(tokens.text(item + 2));
  diagnostics.error(range(item), "an index names its axis")
      .hint("`" + base + "[h = " + value + "]`, with the axis in place of `h`");
  return true;
}

// `x[k = 2 ..]`
bool Speaker::sliceWithoutEnd() {
  const bool afterAxis = at > 2 && previous(Lexer::ASSIGN) && isName(type(at - 2)) &&
                         (tokens.is(at - 3, Lexer::LBRACK) || tokens.is(at - 3, Lexer::COMMA));
  if (afterAxis && (is(Lexer::RANGE_TO) || is(Lexer::RANGE_IN))) {
    diagnostics.error(range(at), "a slice has a begin").hint("`0 ..` is from the first element on");
    return true;
  }
  if (is(Lexer::COLON) && at > 3 && tokens.is(at - 2, Lexer::ASSIGN) && isName(type(at - 3)) &&
      (tokens.is(at - 4, Lexer::LBRACK) || tokens.is(at - 4, Lexer::COMMA))) {
    const std::string begin(tokens.text(at - 1));
    const bool hasEnd = tokens.is(at + 1, Lexer::INT) || isName(type(at + 1));
    diagnostics.error(range(at), "the ends of a slice have `..` between them")
        .hint("`" + std::string(tokens.text(at - 3)) + " = " + begin + " .. " +
              (hasEnd ? std::string(tokens.text(at + 1))
                      : "extent(x, " + std::string(tokens.text(at - 3)) + ")") +
              "`");
    return true;
  }
  if (!is(Lexer::RBRACK) || !(previous(Lexer::RANGE_TO) || previous(Lexer::RANGE_IN)))
    return false;
  size_t begin = at; // of this axis
  while (begin > 0 && !tokens.is(begin, Lexer::LBRACK) && !tokens.is(begin, Lexer::COMMA))
    --begin;
  const bool isNamed = isName(type(begin + 1)) && tokens.is(begin + 2, Lexer::ASSIGN);
  const std::string axis = isNamed ? std::string(tokens.text(begin + 1)) : "h";
  diagnostics.error(range(at - 1), "a slice has an end")
      .hint("`.. extent(x, " + axis + ")` is up to the last element");
  return true;
}

// `over h, w`
bool Speaker::axesWithoutBrackets() {
  if (!refusal.within(Parser::RuleAxes) || at == 0 || !isName(type(at)))
    return false;
  if (!previous(Lexer::OVER) && !previous(Lexer::PER) && !previous(Lexer::STORED))
    return false;
  std::string axes(tokens.text(at));
  SourceRange span = range(at);
  for (size_t i = at + 1;
       tokens.is(i, Lexer::COMMA) && isName(type(i + 1)) && !tokens.is(i + 2, Lexer::ASSIGN);
       i += 2) {
    axes += ", " + std::string(tokens.text(i + 1));
    span = join(span, range(i + 1));
  }
  std::string word(tokens.text(at - 1));
  diagnostics.error(span, "the axes after " + quote(word) + " stand in brackets")
      .hint(quote(word + " [" + axes + "]"));
  return true;
}

// `if a = b then`
bool Speaker::assignForEquals() {
  if (!is(Lexer::ASSIGN) || !afterExpression())
    return false;
  for (size_t i = at; i-- > 0 && !opensStatement(type(i)) && !tokens.is(i, Lexer::ASSIGN);) {
    if (tokens.is(i, Lexer::IF) || tokens.is(i, Lexer::WHERE) || tokens.is(i, Lexer::WHEN)) {
      say("`=` gives a name to a value; values are compared with `==`").hint("`==`");
      return true;
    }
  }
  return false;
}

/// Returns the bracket that is open at a token.
std::optional<size_t> Speaker::headOf(size_t token) const {
  size_t depth = 0;
  for (size_t i = token; i-- > 0;) {
    if (isCloser(type(i)))
      ++depth;
    else if (isOpener(type(i)) && depth-- == 0)
      return i;
  }
  return std::nullopt;
}

// `a < b < c`, `0 .. 4 .. 2`, `window (p in a, q in b, ...)`
bool Speaker::chained() {
  if (!afterExpression() || refusal.within(Parser::RuleType) || refusal.within(Parser::RuleBind))
    return false;
  size_t token = type(at);
  bool range = token == Lexer::RANGE_TO || token == Lexer::RANGE_IN;
  bool comparison = (token >= Lexer::EQ && token <= Lexer::GE) || token == Lexer::IN;
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
                      : (other >= Lexer::EQ && other <= Lexer::GE) || other == Lexer::IN;
    if (depth == 0 && same) {
      const std::optional<size_t> open = headOf(i);
      if (open && *open > 0 && tokens.is(*open - 1, Lexer::WINDOW)) {
        say("a window goes over one tensor")
            .note(tokens.items[i].range, "the first one")
            .hint("what one `map` makes of both, or a window for each");
        return true;
      }
      say(range ? "ranges do not chain" : "comparisons do not chain")
          .note(tokens.items[i].range, "the first one")
          .hint(range ? "a range has two ends and no step" : "`a < b and b < c`");
      return true;
    }
  }
  return false;
}

// `|> flip w`, `draw uniform 0 .. 1`
bool Speaker::callWithoutParentheses() {
  size_t token = type(at);
  bool argument = isName(token) || (token >= Lexer::INT && token <= Lexer::STRING);
  if (at == 0 || !isName(type(at - 1)) || !argument || tokens.startsLine(at) ||
      !(refusal.rules.size() == 1 || refusal.rules.front() == Parser::RulePipelineDecl ||
        refusal.rules.front() == Parser::RuleBatchBlock || refusal.within(Parser::RuleExpr)))
    return false;
  say("expected an operator or the next statement, found " + found())
      .hint(quote(std::string(tokens.text(at - 1)) + "(" + std::string(tokens.text(at)) + ")") +
            " if it is an argument");
  return true;
}

// `a * 7%11`
bool Speaker::shareForRemainder() {
  const size_t token = type(at);
  if (!previous(Lexer::QUANTITY) || !tokens.text(at - 1).ends_with('%') ||
      range(at - 1).end != range(at).begin ||
      !(isName(token) || token == Lexer::LPAREN || (token >= Lexer::INT && token <= Lexer::STRING)))
    return false;
  const std::string share(tokens.text(at - 1));
  diagnostics.error(range(at - 1), quote(share) + " is a share, whose `%` is glued to its number")
      .hint(quote(share.substr(0, share.size() - 1) + " % " + std::string(tokens.text(at))) +
            " is a remainder");
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
/// `chance` is a condition; what is drawn for each element is `bernoulli`.
static std::string distributionOf(std::string_view name) {
  return name == "chance" ? "bernoulli" : std::string(name);
}

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
        .hint(call ? quote("draw " + distributionOf(tokens.text(*open - 1)) + "(...) per [...]")
                   : "`draw normal per [h, w]`");
    return true;
  }
  if (is(Lexer::OVER)) {
    if (std::optional<size_t> open = nakedParenthesis()) {
      diagnostics.error(range(*open), "`over` needs the name of a reduction here")
          .note(range(at), "the `over`")
          .hint("`sum(x over [h, w])`");
      return true;
    }
    say("`over` follows the first argument of a reduction").hint("`sum(x over [h, w])`");
    return true;
  }
  return false;
}

/// The `(` without a function before it that the refused token stands in.
std::optional<size_t> Speaker::nakedParenthesis() const {
  return refusal.rules.front() == Parser::RuleGroup ? headOf(at) : std::nullopt;
}

// `(a, b)`
bool Speaker::tuple() {
  std::optional<size_t> open = nakedParenthesis();
  if (!is(Lexer::COMMA) || !open)
    return false;
  // `resize(x, (224, 224))`: the sizes are arguments of their own.
  const std::optional<size_t> close = tokens.closer(*open);
  const bool argument =
      *open > 0 && (tokens.is(*open - 1, Lexer::COMMA) || tokens.is(*open - 1, Lexer::LPAREN));
  bool numbers = argument && close;
  for (size_t i = *open + 1; numbers && i < *close; ++i)
    numbers = type(i) == Lexer::INT || tokens.is(i, Lexer::COMMA);
  const std::string inner = numbers ? textOf(*open + 1, *close - 1) : "";
  diagnostics.error(range(*open), "parentheses hold one value")
      .note(range(at), "here a second one begins")
      .hint(numbers ? quote(inner) + " as arguments, or a list " + quote("[" + inner + "]")
                    : "`f(a, b)` calls a function, `[a, b]` is a list");
  return true;
}

} // namespace penstock::dsl
