// Each mistake that has a sentence of its own is one function of the table at
// the end; the first that recognises the situation speaks.
#include "dsl/Parser/Sentences.h"

#include "dsl/Diagnostics/Nearest.h"
#include "generated/PenstockLexer.h"
#include "generated/PenstockParser.h"

#include <algorithm>
#include <iterator>

namespace penstock::dsl {

using Lexer = grammar::PenstockLexer;
using Parser = grammar::PenstockParser;

bool Refusal::within(size_t rule) const {
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

// clang-format off: a table
std::string ruleWords(size_t rule) {
  switch (rule) {
  case Parser::RuleFile:
  case Parser::RuleHeader: return "`pipe 1`";
  case Parser::RuleUseDecl: return "`use`";
  case Parser::RuleDecl: return "`const`, `fn` or `pipeline`";
  case Parser::RuleConstDecl: return "a constant";
  case Parser::RuleFnDecl: return "a function";
  case Parser::RuleGenerics:
  case Parser::RuleGeneric: return "an element type such as `E: (u8, f32)`";
  case Parser::RuleParams: return "parameters in parentheses";
  case Parser::RuleParam: return "a parameter such as `size: int`";
  case Parser::RulePipelineDecl:
  case Parser::RulePipelineHead: return "a pipeline";
  case Parser::RuleForHead: return "`for row in ...`";
  case Parser::RuleBatchBlock:
  case Parser::RuleBatchHead: return "a `batch` block";
  case Parser::RuleBatchItem: return "`let` or `output`";
  case Parser::RuleLetStmt: return "`let`";
  case Parser::RuleReturnStmt: return "`return`";
  case Parser::RuleOutputStmt: return "`output`";
  case Parser::RuleOutputTrait: return "`stored`, `pad`, `ragged` or `on`";
  case Parser::RulePlace: return "`cpu`, `gpu` or `auto`";
  case Parser::RuleBlock: return "a block";
  case Parser::RuleExpr:
  case Parser::RuleChoice:
  case Parser::RuleOper:
  case Parser::RuleConjunction:
  case Parser::RuleNegation:
  case Parser::RuleComparison:
  case Parser::RuleSpan:
  case Parser::RuleSum:
  case Parser::RuleProduct:
  case Parser::RuleUnary:
  case Parser::RuleAtom:
  case Parser::RuleScoped:
  case Parser::RuleGroup: return "an expression";
  case Parser::RuleComparator: return "a comparison";
  case Parser::RulePostfix: return "`.`, `(` or `[`";
  case Parser::RuleIndex: return "an index such as `[h = 0]`";
  case Parser::RuleEach: return "`each (v in 0 .. 2) { ... }`";
  case Parser::RuleMap: return "`map (x in xs) { ... }`";
  case Parser::RuleWindow: return "`window (v in x, h = -1 ..= 1) { ... }`";
  case Parser::RuleSearch: return "`search (10) { ... accept value when condition } else value`";
  case Parser::RuleAccept: return "`accept value when condition`";
  case Parser::RuleDraw: return "a distribution after `draw`";
  case Parser::RuleArgs:
  case Parser::RuleArg: return "an argument";
  case Parser::RuleBind: return "`name in value`";
  case Parser::RuleSetting: return "`name = value`";
  case Parser::RuleAxes: return "axes in brackets such as `[h, w]`";
  case Parser::RuleRecord: return "a record";
  case Parser::RuleList: return "a list";
  case Parser::RuleStage:
  case Parser::RuleStageBody:
  case Parser::RuleCallStage:
  case Parser::RuleChain: return "a stage";
  case Parser::RuleChainGroup: return "stages in braces";
  case Parser::RuleChooseStage: return "`choose { weight => stage, ... }`";
  case Parser::RuleArm: return "`weight => stage`";
  case Parser::RuleRepeatStage: return "`repeat (n) { ... }`";
  case Parser::RuleType:
  case Parser::RuleRecordType: return "a type";
  case Parser::RuleAxisTypes:
  case Parser::RuleAxisType: return "an axis such as `h` or `c = 3`";
  case Parser::RuleFieldType: return "a field such as `data: bytes`";
  case Parser::RuleName: return "a name";
  default: return "";
  }
}
// clang-format on

namespace {

std::string quote(std::string_view text) {
  return "`" + std::string(text) + "`";
}

/// The refused token with its surroundings, and the ways to speak about it.
class Speaker {
public:
  Speaker(const Refusal &refusal, Diagnostics &diagnostics)
      : refusal(refusal), tokens(refusal.tokens), at(refusal.at),
        diagnostics(diagnostics) {}

  std::string choiceInOurWords() const;
  bool conditionAfterValue();
  bool indexWithoutAxis();
  bool axesWithoutBrackets();
  bool statementWithoutWord();
  bool assignForEquals();
  bool chained();
  bool missingType();
  bool callWithoutParentheses();
  bool wrongHead();
  bool resultWithoutReturn();
  bool misplacedStatement();
  bool strayUnit();
  bool strayPlace();
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
    return index < tokens.items.size() ? tokens.items[index].type
                                       : antlr4::Token::EOF;
  }
  bool is(size_t token) const { return tokens.is(at, token); }
  bool next(size_t token) const { return tokens.is(at + 1, token); }
  bool previous(size_t token) const {
    return at > 0 && tokens.is(at - 1, token);
  }
  bool afterExpression() const {
    return at > 0 && endsExpression(type(at - 1));
  }
  SourceRange range(size_t index) const { return tokens.items[index].range; }
  Diagnostics::Report say(std::string message) {
    return diagnostics.error(range(at), std::move(message));
  }
  std::string found() const {
    return type(at) == antlr4::Token::EOF ? "the end of the file"
                                          : quote(tokens.text(at));
  }
};

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

// `d = 3`
bool Speaker::statementWithoutWord() {
  size_t name;
  if (isName(type(at)) && next(Lexer::ASSIGN) &&
      (afterExpression() || previous(Lexer::LBRACE)))
    name = at;
  else if (is(Lexer::ASSIGN) && at > 0 && isName(type(at - 1)) &&
           refusal.within(Parser::RuleBlock) && at > 1 &&
           tokens.is(at - 2, Lexer::LBRACE))
    name = at - 1;
  else
    return false;
  bool top = refusal.rules.size() == 1;
  diagnostics
      .error(range(name),
             "every statement opens with a word, and this one has none")
      .hint(quote((top ? "const " : "let ") + std::string(tokens.text(name)) +
                  " = ..."));
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

// `fn f(x: int) { ... }`, `fn f(x)`, `output image = pixels`
bool Speaker::missingType() {
  size_t rule = refusal.rules.front();
  if (refusal.expected == Lexer::ARROW) {
    say("a function states its result").hint("`-> type` before the body");
    return true;
  }
  if (refusal.expected != Lexer::COLON || at == 0)
    return false;
  std::string name(tokens.text(at - 1));
  if (rule == Parser::RuleParam)
    say("a parameter states its type").hint(quote(name + ": type"));
  else if (rule == Parser::RuleOutputStmt)
    say("an output states its type")
        .hint(quote("output " + name + ": f32[n, c, h, w] = ..."));
  else
    return false;
  return true;
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

// `mpa (x in xs) {`, `(x in xs) {`, `chose {`
bool Speaker::wrongHead() {
  if (!is(Lexer::LBRACE) || at == 0 || refusal.within(Parser::RuleType))
    return false;
  static constexpr std::string_view heads[] = {"map", "window", "each",
                                               "search", "repeat"};
  if (previous(Lexer::RPAREN)) {
    std::optional<size_t> open = tokens.opener(at - 1);
    if (!open)
      return false;
    bool named = *open > 0 && isName(type(*open - 1));
    size_t name = named ? *open - 1 : *open;
    std::string text(tokens.text(name));
    std::string near = nearest(text, heads);
    // On a line of its own, a brace more likely opens a record than a block.
    if (near.empty() && tokens.startsLine(at))
      return false;
    if (!named) {
      diagnostics.error(range(name),
                        "a block follows `map`, `window`, `each`, `search` or "
                        "`repeat`, and none of these stands here");
      return true;
    }
    Diagnostics::Report report =
        diagnostics.error(range(name), quote(text) + " does not take a block");
    report.note(range(at), "the block opens here");
    report.hint(near.empty() ? "`map`, `window`, `each`, `search` or `repeat`"
                             : quote(near));
    return true;
  }
  if (isName(type(at - 1)) && refusal.within(Parser::RulePipelineDecl) &&
      nearest(tokens.text(at - 1),
              std::initializer_list<std::string_view>{"choose"}) != "") {
    diagnostics
        .error(range(at - 1),
               quote(tokens.text(at - 1)) + " does not take a block")
        .hint("`choose`");
    return true;
  }
  return false;
}

// `{ let a = 1  a + 1 }`
bool Speaker::resultWithoutReturn() {
  if (refusal.expected != Lexer::RETURN)
    return false;
  if (is(Lexer::RBRACE))
    say("a block with `let` ends with `return`, and this one has no result")
        .hint("`return` and the result before the `}`");
  else if (isName(type(at)) || is(Lexer::LBRACE) || is(Lexer::LBRACK) ||
           is(Lexer::LPAREN) || is(Lexer::IF) || is(Lexer::MINUS) ||
           (type(at) >= Lexer::MAP && type(at) <= Lexer::DRAW) ||
           (type(at) >= Lexer::INT && type(at) <= Lexer::STRING))
    say("the result of a block with `let` stands after `return`")
        .hint("`return`");
  else
    return false;
  return true;
}

// `output` before `batch`, `use` after a declaration, `for` twice
bool Speaker::misplacedStatement() {
  if (refusal.rules.front() == Parser::RuleHeader && !previous(Lexer::PIPE)) {
    say("a file opens with `pipe 1`").hint("`pipe 1` as its first line");
    return true;
  }
  if (is(Lexer::USE) && refusal.rules.size() == 1) {
    say("`use` stands before all declarations").hint("move it below `pipe 1`");
    return true;
  }
  if ((is(Lexer::LET) || is(Lexer::OUTPUT) || is(Lexer::BATCH) ||
       is(Lexer::RETURN)) &&
      refusal.rules.size() == 1) {
    say(found() + " stands inside a declaration")
        .hint(is(Lexer::LET) ? "`const`, or a `}` less above" : "");
    return true;
  }
  if (is(Lexer::OUTPUT) && refusal.rules.front() == Parser::RulePipelineDecl) {
    say("`output` stands in the `batch` block")
        .hint("`batch size { output ... }`");
    return true;
  }
  if (is(Lexer::BATCH) && refusal.expected == Lexer::FOR) {
    say("a pipeline has `for row in ...` before its `batch` block")
        .hint("`for row in source`");
    return true;
  }
  if (is(Lexer::RBRACE) && refusal.rules.front() == Parser::RuleBatchHead) {
    say("a pipeline ends with a `batch` block, and this one has none")
        .hint("`batch size { output ... }` before the `}`");
    return true;
  }
  if (is(Lexer::RETURN) && !refusal.within(Parser::RuleBlock)) {
    say("`return` stands in the block of a function, `map`, `window` or `each`")
        .hint(refusal.within(Parser::RulePipelineDecl)
                  ? "`output` in the `batch` block"
                  : "");
    return true;
  }
  if (is(Lexer::FOR) && !refusal.within(Parser::RuleForHead)) {
    say("`for` opens a pipeline's loop over rows, once per pipeline")
        .hint("`each` for views, `map` for elements");
    return true;
  }
  return false;
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

// `let map = 3`
bool Speaker::reservedAsName() {
  if (!isReserved(type(at)) || refusal.rules.front() != Parser::RuleName)
    return false;
  switch (type(at + 1)) {
  case Lexer::ASSIGN:
  case Lexer::COLON:
  case Lexer::COMMA:
  case Lexer::RPAREN:
  case Lexer::RBRACK:
  case Lexer::IN:
    say(quote(tokens.text(at)) +
        " is a word of the language and cannot be a name")
        .hint("another name");
    return true;
  default:
    return false;
  }
}

bool Speaker::closesNothing() {
  if (!isCloser(type(at)) ||
      !(afterExpression() || opensStatement(type(at + 1)) || at == 0))
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
          .note(range(i),
                quote(tokens.text(i)) + " is the bracket that is open here");
      return true;
    }
  }
  say(found() + " closes nothing");
  return true;
}

/// Whether the rule is a list with commas.
bool isList(size_t rule) {
  switch (rule) {
  case Parser::RuleArgs:
  case Parser::RuleParams:
  case Parser::RuleGeneric:
  case Parser::RuleGenerics:
  case Parser::RuleIndex:
  case Parser::RuleAxes:
  case Parser::RuleRecord:
  case Parser::RuleList:
  case Parser::RuleChooseStage:
  case Parser::RuleAxisTypes:
  case Parser::RuleRecordType:
    return true;
  default:
    return false;
  }
}

void Speaker::expectedFound() {
  std::string words = ruleWords(refusal.rules.front());
  if (!refusal.expected) { // between statements
    if (afterExpression() && refusal.rules.front() != Parser::RuleName &&
        (refusal.rules.size() == 1 ||
         refusal.rules.front() == Parser::RulePipelineDecl ||
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
    bool mayGoOn = isCloser(*refusal.expected) &&
                   isList(refusal.rules.front()) && !previous(Lexer::COMMA) &&
                   !isOpener(type(at - 1));
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
    size_t line = offset == 0 ? std::string_view::npos
                              : tokens.source.rfind('\n', offset - 1);
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
      return tokens.is(i, Lexer::LBRACE) ? std::optional<size_t>(i)
                                         : std::nullopt;
    }
  }
  return std::nullopt;
}

} // namespace

void reportRefusal(const Refusal &refusal, Diagnostics &diagnostics) {
  static constexpr bool (Speaker::*sentences[])() = {
      &Speaker::strayUnit,
      &Speaker::indexWithoutAxis,
      &Speaker::axesWithoutBrackets,
      &Speaker::statementWithoutWord,
      &Speaker::assignForEquals,
      &Speaker::conditionAfterValue,
      &Speaker::chained,
      &Speaker::missingType,
      &Speaker::wrongHead,
      &Speaker::resultWithoutReturn,
      &Speaker::misplacedStatement,
      &Speaker::strayPlace,
      &Speaker::tuple,
      &Speaker::reservedAsName,
      &Speaker::closesNothing,
      &Speaker::callWithoutParentheses,
  };
  Speaker speaker(refusal, diagnostics);
  for (auto sentence : sentences)
    if ((speaker.*sentence)())
      return;
  speaker.expectedFound();
}

} // namespace penstock::dsl
