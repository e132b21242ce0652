// SPDX-License-Identifier: Apache-2.0
//
// Mistakes in statements, declarations and the heads of blocks.
#include "dsl/Parser/Speaker.h"

#include "dsl/Diagnostics/Nearest.h"

namespace penstock::dsl {

using Lexer = grammar::PenstockLexer;
using Parser = grammar::PenstockParser;

// `d = 3`
bool Speaker::statementWithoutWord() {
  size_t name;
  if (isName(type(at)) && next(Lexer::ASSIGN) && (afterExpression() || previous(Lexer::LBRACE)))
    name = at;
  else if (is(Lexer::ASSIGN) && at > 0 && isName(type(at - 1)) &&
           refusal.within(Parser::RuleBlock) && at > 1 && tokens.is(at - 2, Lexer::LBRACE))
    name = at - 1;
  else
    return false;
  bool top = refusal.rules.size() == 1;
  diagnostics.error(range(name), "every statement opens with a word, and this one has none")
      .hint(quote((top ? "const " : "let ") + std::string(tokens.text(name)) + " = ..."));
  return true;
}

// `print(x)`
bool Speaker::callAsStatement() {
  if (!isName(type(at)) || !next(Lexer::LPAREN) || !tokens.startsLine(at) ||
      !(afterExpression() || previous(Lexer::LBRACE)) || refusal.rules.size() == 1)
    return false;
  say("a call alone does nothing: every statement opens with a word")
      .hint(quote("let name = " + std::string(tokens.text(at)) + "(...)"));
  return true;
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
    say("an output states its type").hint(quote("output " + name + ": f32[n, c, h, w] = ..."));
  else
    return false;
  return true;
}

// `let (a, b) = f(x)`
bool Speaker::severalNames() {
  if (!is(Lexer::LPAREN) || !previous(Lexer::LET))
    return false;
  say("a `let` names one value")
      .hint("`let both = ...`, then `both.a` and `both.b`: a record has several");
  return true;
}

// `mpa (x in xs) {`, `(x in xs) {`, `chose {`
bool Speaker::wrongHead() {
  if (!is(Lexer::LBRACE) || at == 0 || refusal.within(Parser::RuleType))
    return false;
  static constexpr std::string_view heads[] = {"map", "window", "each", "search", "repeat"};
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
      diagnostics.error(range(name), "a block follows `map`, `window`, `each`, `search` or "
                                     "`repeat`, and none of these stands here");
      return true;
    }
    Diagnostics::Report report =
        diagnostics.error(range(name), quote(text) + " does not take a block");
    report.note(range(at), "the block opens here");
    report.hint(near.empty() ? "`map`, `window`, `each`, `search` or `repeat`" : quote(near));
    return true;
  }
  if (isName(type(at - 1)) && refusal.within(Parser::RulePipelineDecl) &&
      nearest(tokens.text(at - 1), std::initializer_list<std::string_view>{"choose"}) != "") {
    diagnostics.error(range(at - 1), quote(tokens.text(at - 1)) + " does not take a block")
        .hint("`choose`");
    return true;
  }
  return false;
}

// `repeat (4) step`, `map (p in x) p + 1`
bool Speaker::bodyWithoutBraces() {
  if (refusal.expected != Lexer::LBRACE || !previous(Lexer::RPAREN))
    return false;
  std::optional<size_t> open = tokens.opener(at - 1);
  if (!open || *open == 0)
    return false;
  const size_t word = type(*open - 1);
  if (word != Lexer::REPEAT && word != Lexer::MAP && word != Lexer::WINDOW && word != Lexer::EACH &&
      word != Lexer::SEARCH)
    return false;
  const std::string name(tokens.text(*open - 1));
  const std::string head = textOf(*open - 1, at - 1);
  say("what " + quote(name) + " computes each time stands in braces")
      .hint(quote(head + (word == Lexer::REPEAT ? " { stage |> ... }" : " { ... }")));
  return true;
}

// `{ let a = 1  a + 1 }`
bool Speaker::resultWithoutReturn() {
  if (refusal.expected != Lexer::RETURN)
    return false;
  if (is(Lexer::RBRACE))
    say("a block with `let` ends with `return`, and this one has no result")
        .hint("`return` and the result before the `}`");
  else if (isName(type(at)) || is(Lexer::LBRACE) || is(Lexer::LBRACK) || is(Lexer::LPAREN) ||
           is(Lexer::IF) || is(Lexer::MINUS) ||
           (type(at) >= Lexer::MAP && type(at) <= Lexer::DRAW) ||
           (type(at) >= Lexer::INT && type(at) <= Lexer::STRING))
    say("the result of a block with `let` stands after `return`").hint("`return`");
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
  if (is(Lexer::ID) && refusal.rules.size() == 1) {
    std::string_view word = tokens.text(at);
    if ((word == "export" || word == "public") && (next(Lexer::FN) || next(Lexer::CONST))) {
      say(quote(word) + " is written `pub`").hint("`pub`");
      return true;
    }
    if (word == "pub" && next(Lexer::PIPELINE)) {
      say("`pub` stands before `fn` and `const`").hint("remove it");
      return true;
    }
  }
  if (is(Lexer::USE) && refusal.rules.size() == 1) {
    say("`use` stands before all declarations").hint("move it below `pipe 1`");
    return true;
  }
  if ((is(Lexer::LET) || is(Lexer::OUTPUT) || is(Lexer::BATCH) || is(Lexer::RETURN)) &&
      refusal.rules.size() == 1) {
    say(found() + " stands inside a declaration")
        .hint(is(Lexer::LET) ? "`const`, or a `}` less above" : "");
    return true;
  }
  if (is(Lexer::OUTPUT) && refusal.rules.front() == Parser::RulePipelineDecl) {
    say("`output` stands in the `batch` block").hint("`batch size { output ... }`");
    return true;
  }
  if (is(Lexer::BATCH) && refusal.expected == Lexer::FOR) {
    say("a pipeline has `for row in ...` before its `batch` block").hint("`for row in source`");
    return true;
  }
  if (is(Lexer::ELEMENTS) && refusal.within(Parser::RuleBatchBlock)) {
    say("a limit of elements stands behind `<=`")
        .hint("`batch <= 1_000_000 elements by row.length buckets 8`");
    return true;
  }
  if (is(Lexer::RBRACE) && refusal.rules.front() == Parser::RuleBatchHead) {
    say("a pipeline ends with a `batch` block, and this one has none")
        .hint("`batch size { output ... }` before the `}`");
    return true;
  }
  if (is(Lexer::RETURN) && !refusal.within(Parser::RuleBlock)) {
    say("`return` stands in the block of a function, `map`, `window` or `each`")
        .hint(refusal.within(Parser::RulePipelineDecl) ? "`output` in the `batch` block" : "");
    return true;
  }
  if (is(Lexer::FOR) && !refusal.within(Parser::RuleForHead)) {
    say("`for` opens a pipeline's loop over rows, once per pipeline")
        .hint("`each` for views, `map` for elements");
    return true;
  }
  return false;
}

// `batch 8 drop_last`, `batch 8 last drop per rank`, `for row in source order shuffled where ...`
bool Speaker::headOutOfOrder() {
  const size_t rule = refusal.rules.front();
  if (is(Lexer::WHERE) && refusal.within(Parser::RulePipelineDecl)) {
    for (size_t i = at; i-- > 0 && !opensStatement(type(i));)
      if (tokens.is(i, Lexer::ORDER) || tokens.is(i, Lexer::WHERE)) {
        const bool isOrder = tokens.is(i, Lexer::ORDER);
        say(isOrder ? "`where` stands before `order`" : "there is one `where`, before `order`")
            .note(tokens.items[i].range, isOrder ? "the `order`" : "the first one")
            .hint(isOrder ? "`where condition order shuffled`" : "`and` between conditions");
        return true;
      }
    return false;
  }
  if ((is(Lexer::PER) || is(Lexer::GLOBAL)) && refusal.within(Parser::RulePipelineDecl) &&
      at >= 2 && tokens.is(at - 2, Lexer::LAST)) {
    const std::string share = is(Lexer::PER) ? "per rank" : "global";
    say(quote(share) + " stands before `last`")
        .hint(quote(share + " last " + std::string(tokens.text(at - 1))));
    return true;
  }
  if (is(Lexer::ID) && (rule == Parser::RuleBatchHead || rule == Parser::RuleBatchBlock) &&
      !previous(Lexer::BATCH)) {
    const std::string_view word = tokens.text(at);
    const bool drops = word == "drop_last" || word == "droplast", mixes = word == "shuffle";
    if (!drops && !mixes)
      return false;
    say(quote(word) + " is no word of the language")
        .hint(drops ? "`last drop`" : "`for row in source order shuffled`");
    return true;
  }
  return false;
}

// `let map = 3`, `raw(on = ...)`, `row.on`
bool Speaker::reservedAsName() {
  const auto rule = refusal.rules.front();
  const bool isArgument = rule == Parser::RuleArgs && type(at + 1) == Lexer::ASSIGN;
  if (!isReserved(type(at)) ||
      !(rule == Parser::RuleName || isArgument || type(at + 1) == Lexer::COLON))
    return false;
  const size_t next = type(at + 1);
  switch (previous(Lexer::DOT) ? size_t(Lexer::ASSIGN) : next) {
  case Lexer::ASSIGN:
  case Lexer::COLON:
  case Lexer::COMMA:
  case Lexer::RPAREN:
  case Lexer::RBRACK:
  case Lexer::IN:
    say(quote(tokens.text(at)) + " is a word of the language and cannot be a name")
        .hint("another name");
    return true;
  default:
    return false;
  }
}

} // namespace penstock::dsl
