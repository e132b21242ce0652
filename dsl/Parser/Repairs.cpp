// SPDX-License-Identifier: Apache-2.0
#include "dsl/Parser/Repairs.h"

#include "dsl/AST/Units.h"
#include "dsl/Diagnostics/Quote.h"
#include "generated/PenstockLexer.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace penstock::dsl {
namespace {

using Lexer = grammar::PenstockLexer;

/// Replaces operators of other languages by ours.
struct Habit {
  size_t type;
  const char *message; ///< `$` stands for the text
  const char *hint;
  size_t becomes; ///< 0: leave it; Lexer::UNKNOWN: drop it
};

constexpr Habit habits[] = {
    {Lexer::SEMICOLON, "statements need no `;`", "remove it", Lexer::UNKNOWN},
    {Lexer::QUESTION, "there is no `? :`", "`if condition then a else b`", 0},
    {Lexer::BANG, "`!` is written `not`", "`not`", Lexer::NOT},
    {Lexer::AND_AND, "`&&` is written `and`", "`and`", Lexer::AND},
    {Lexer::OR_OR, "`||` is written `or`", "`or`", Lexer::OR},
    {Lexer::POWER, "there is no operator `**`", "`pow(a, b)`, or `a * a` for a square",
     Lexer::STAR},
    {Lexer::COMPOUND_ASSIGN, "`$` would change a value, and values never change",
     "a `let` with a new name", 0},
    {Lexer::HASH_COMMENT, "a comment opens with `//`, not with `#`", "`//`", Lexer::UNKNOWN},
    {Lexer::BLOCK_COMMENT, "a comment opens with `//` and ends with its line", "`//` on every line",
     Lexer::UNKNOWN},
    {Lexer::OPEN_STRING, "this text is never closed", "a `\"` at its end", Lexer::STRING},
};

/// Returns whether a text in quotes could be a name.
bool isWord(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

class HabitRepair {
public:
  HabitRepair(TokenList &tokens, StatementLog &log, Diagnostics &diagnostics)
      : tokens(tokens), log(log), diagnostics(diagnostics) {}

  void run() {
    for (at = 0; at < tokens.items.size(); ++at)
      step();
    tokens.items = std::move(kept);
  }

private:
  TokenList &tokens;
  StatementLog &log;
  Diagnostics &diagnostics;
  std::vector<Lexeme> kept;
  size_t at = 0;

  /// For what is repaired: the statement can still be read, and have an error
  /// of its own.
  void report(SourceRange range, std::string message, std::string hint) {
    diagnostics.error(range, std::move(message)).hint(std::move(hint));
  }
  void reportUnrepaired(SourceRange range, std::string message, std::string hint) {
    if (log.take(range.begin))
      report(range, std::move(message), std::move(hint));
  }

  void step() {
    Lexeme item = tokens.items[at];
    if (item.type == Lexer::UNKNOWN)
      return unknownCharacters();
    for (const Habit &habit : habits)
      if (habit.type == item.type)
        return replace(item, habit);
    const bool isLeft = item.type == Lexer::LT, isRight = item.type == Lexer::GT;
    if ((isLeft || isRight) && tokens.is(at + 1, item.type) &&
        tokens.items[at + 1].range.begin == item.range.end) {
      item.range = join(item.range, tokens.items[++at].range);
      reportUnrepaired(item.range, isLeft ? "`<<` is no operator" : "`>>` is no operator",
                       isLeft ? "`shl(a, b)`" : "`shr(a, b)`");
      kept.push_back(item); // a comparison, where one number may stand, too
      return;
    }
    if (item.type == Lexer::QUOTED_STRING) {
      std::string_view text = tokens.text(at);
      const std::string inner(text.substr(1, text.size() - 2));
      const bool word = isWord(inner) && isArgument();
      report(item.range, "text stands in double quotes",
             word ? quote(inner) + " for a word such as an axis or a filter, " +
                        quote('"' + inner + '"') + " for a text"
                  : quote('"' + inner + '"'));
      const bool column =
          at > 1 && tokens.is(at - 1, Lexer::LPAREN) && tokens.text(at - 2) == "column";
      item.type = word && !column ? Lexer::ID : Lexer::STRING;
      if (item.type == Lexer::ID)
        ++item.range.begin, --item.range.end;
    } else if (item.type == Lexer::ID) {
      word(item);
    } else if (unitApart()) {
      return;
    }
    kept.push_back(item);
  }

  /// Returns whether an argument begins here, with or without its name.
  bool isArgument() const {
    size_t before = at;
    if (before > 2 && tokens.is(before - 1, Lexer::ASSIGN))
      before -= 2;
    return before > 0 &&
           (tokens.is(before - 1, Lexer::LPAREN) || tokens.is(before - 1, Lexer::COMMA));
  }

  void replace(Lexeme item, const Habit &habit) {
    std::string message = habit.message;
    if (size_t dollar = message.find('$'); dollar != std::string::npos)
      message.replace(dollar, 1, tokens.text(at));
    SourceRange range = item.range;
    if (size_t end = tokens.text(at).find('\n'); end != std::string_view::npos)
      range.end = range.begin + static_cast<uint32_t>(end);
    if (habit.becomes == 0)
      reportUnrepaired(range, message, habit.hint);
    else
      report(range, message, habit.hint);
    if (habit.becomes == Lexer::UNKNOWN)
      return;
    if (habit.becomes != 0)
      item.type = habit.becomes;
    kept.push_back(item);
  }

  void word(Lexeme &item) {
    std::string_view text = tokens.text(at);
    bool beforeName = at + 1 < tokens.items.size() && isName(tokens.items[at + 1].type);
    if (text == "True" || text == "False") {
      std::string ours = text == "True" ? "true" : "false";
      report(item.range, quote(text) + " is written " + quote(ours), quote(ours));
      item.type = text == "True" ? Lexer::TRUE : Lexer::FALSE;
    } else if (text == "lambda" && beforeName) {
      reportUnrepaired(item.range, "there are no nameless functions",
                       "`map (x in xs) { ... }` for every element, or a `fn`");
    } else if (text == "def" && beforeName) {
      report(item.range, "a function opens with `fn`", "`fn`");
      item.type = Lexer::FN;
    } else if (text == "import" && beforeName) {
      report(item.range, "a module is named after `use`", "`use`");
      item.type = Lexer::USE;
      importedAs(at + 2);
    } else if (text == "from" && beforeName && tokens.startsLine(at)) {
      report(item.range, "a module is named after `use`",
             "`use vision` brings all of its functions");
      item.type = Lexer::USE;
      importedAs(at + 2);
    } else if (text == "elif" && at > 0 && endsExpression(tokens.items[at - 1].type)) {
      report(item.range, "`elif` is written `else if`", "`else if`");
      kept.push_back({Lexer::ELSE, item.range});
      item.type = Lexer::IF;
    }
  }

  /// `.nn as nn`, `import transforms`: leaves out the rest of the line.
  void importedAs(size_t index) {
    size_t end = index;
    while (end + 1 < tokens.items.size() && !tokens.startsLine(end))
      ++end;
    tokens.items.erase(tokens.items.begin() + static_cast<std::ptrdiff_t>(index),
                       tokens.items.begin() + static_cast<std::ptrdiff_t>(end));
  }

  /// `25 ms`: glues the unit to its number.
  bool unitApart() {
    const Lexeme &number = tokens.items[at];
    if (number.type != Lexer::INT && number.type != Lexer::FLOAT)
      return false;
    if (!tokens.is(at + 1, Lexer::ID) || tokens.startsLine(at + 1) ||
        !findUnit(tokens.text(at + 1)) || tokens.is(at + 2, Lexer::ASSIGN))
      return false;
    SourceRange range = join(number.range, tokens.items[at + 1].range);
    std::string glued = std::string(tokens.text(at)) + std::string(tokens.text(at + 1));
    report(range, "a unit is glued to its number", quote(glued));
    // The range of the unit is read back from the end of the token.
    kept.push_back({Lexer::QUANTITY, range});
    ++at;
    return true;
  }

  /// All bytes of a character, and all such characters in a row, are one
  /// report.
  void unknownCharacters() {
    SourceRange range = tokens.items[at].range;
    while (tokens.is(at + 1, Lexer::UNKNOWN) && tokens.items[at + 1].range.begin == range.end)
      range.end = tokens.items[++at].range.end;
    std::string_view text = tokens.source.substr(range.begin, range.end - range.begin);
    if (text == "|" || text == "&") {
      reportUnrepaired(range, quote(text) + " is no operator",
                       text == "|"
                           ? "`|>` for a stage, `or` between conditions, `bit_or(a, b)` of integers"
                           : "`and` between conditions, `bit_and(a, b)` of integers");
      // Between brackets, which nothing else can stand between.
      if (at > 0 && tokens.is(at - 1, Lexer::RPAREN) && tokens.is(at + 1, Lexer::LPAREN))
        kept.push_back({text == "|" ? size_t(Lexer::OR) : size_t(Lexer::AND), range});
      return;
    }
    if (text == "^" || text == "~") {
      reportUnrepaired(range, quote(text) + " is no operator",
                       text == "^" ? "`bit_xor(a, b)` of integers, `pow(a, b)` for a power"
                                   : "`bit_not(a)` of integers, `not` before a condition");
      return;
    }
    if (text == "\\") {
      report(range, "a statement runs on over line breaks by itself", "remove the `\\`");
      return;
    }
    if (text == "@") {
      reportUnrepaired(range, "there is no operator `@`",
                       "`contract(x, m)` multiplies by a matrix");
      return;
    }
    if (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof(code), "%02x", text[0]);
      reportUnrepaired(range, std::string("a control character (0x") + code + ") stands here",
                       "remove it");
      return;
    }
    reportUnrepaired(range, quote(text) + " has no meaning in the language", "");
  }
};

class BracketRepair {
public:
  BracketRepair(TokenList &tokens, StatementLog &log, Diagnostics &diagnostics)
      : tokens(tokens), log(log), diagnostics(diagnostics) {}

  void run() {
    for (size_t i = 0; i < tokens.items.size(); ++i) {
      size_t type = tokens.items[i].type;
      if (type == Lexer::FOR && topIsRoundOrSquare() && !tokens.startsLine(i))
        i = comprehension(i);
      type = tokens.items[i].type;
      if (opensStatement(type) || i + 1 == tokens.items.size())
        closeAll(i);
      if (isCloser(type))
        close(i);
      kept.push_back(tokens.items[i]);
      if (isOpener(type))
        open.push_back(i);
    }
    tokens.items = std::move(kept);
  }

private:
  TokenList &tokens;
  StatementLog &log;
  Diagnostics &diagnostics;
  std::vector<Lexeme> kept;
  std::vector<size_t> open; ///< indices of openers, innermost last

  bool topIs(size_t type) const { return !open.empty() && tokens.is(open.back(), type); }
  bool topIsRoundOrSquare() const { return topIs(Lexer::LPAREN) || topIs(Lexer::LBRACK); }

  /// `[x for x in xs]`: leaves out what stands before the closing bracket, and
  /// returns its place.
  size_t comprehension(size_t index) {
    std::optional<size_t> closer = tokens.closer(open.back());
    if (!closer || *closer < index)
      return index;
    for (size_t i = index + 1; i < *closer; ++i)
      if (opensStatement(tokens.items[i].type))
        return index;
    if (log.take(tokens.items[open.back()].range.begin))
      diagnostics
          .error(tokens.items[index].range, "`for` opens a pipeline's loop over rows; there are no "
                                            "comprehensions")
          .hint("`map (x in xs) { ... }`");
    return *closer;
  }

  void closeAll(size_t proof) {
    while (topIsRoundOrSquare())
      neverClosed(proof);
  }

  void close(size_t index) {
    size_t type = tokens.items[index].type;
    size_t wanted = type == Lexer::RPAREN   ? Lexer::LPAREN
                    : type == Lexer::RBRACK ? Lexer::LBRACK
                                            : Lexer::LBRACE;
    // Is there an opener for it? One beyond a brace belongs to someone else.
    for (size_t i = open.size(); i-- > 0;) {
      if (tokens.is(open[i], wanted)) {
        while (open.size() > i + 1)
          neverClosed(index);
        open.pop_back();
        return;
      }
      if (tokens.is(open[i], Lexer::LBRACE))
        return; // closes nothing: the parser says so
    }
  }

  /// Reports the innermost opener, and puts its partner before the proof.
  void neverClosed(size_t proof) {
    size_t opener = open.back();
    open.pop_back();
    SourceRange range = tokens.items[opener].range;
    SourceRange at = tokens.items[proof].range;
    if (log.take(range.begin)) {
      // A line break is evidence for where the span ends, not more.
      SourceRange span = range;
      for (size_t i = opener + 1; i < proof && !tokens.startsLine(i); ++i)
        span.end = tokens.items[i].range.end;
      bool atEnd = proof + 1 == tokens.items.size();
      bool closes = isCloser(tokens.items[proof].type);
      diagnostics.error(span, quote(tokens.text(opener)) + " is never closed")
          .note(at, atEnd ? "the file ends here"
                          : quote(tokens.text(proof)) +
                                (closes ? " closes another bracket" : " opens a statement"));
    }
    bool square = tokens.is(opener, Lexer::LBRACK);
    uint32_t end = kept.back().range.end; // part of the statement before the proof
    kept.push_back({square ? Lexer::RBRACK : Lexer::RPAREN, {at.file, end, end}});
  }
};

} // namespace

void repairHabits(TokenList &tokens, StatementLog &log, Diagnostics &diagnostics) {
  HabitRepair(tokens, log, diagnostics).run();
}

void warnOfDivisions(const TokenList &tokens, Diagnostics &diagnostics) {
  size_t after = 0;
  for (const SourceRange &remark : tokens.remarks) {
    while (after < tokens.items.size() && tokens.items[after].range.begin < remark.begin)
      ++after;
    std::string_view text = tokens.source.substr(remark.begin, remark.end - remark.begin);
    if (after == 0 || !endsExpression(tokens.items[after - 1].type) || !text.starts_with("//"))
      continue;
    const uint32_t end = tokens.items[after - 1].range.end;
    if (tokens.source.substr(end, remark.begin - end).find('\n') != std::string_view::npos)
      continue;
    text.remove_prefix(std::min(text.find_first_not_of("/ "), text.size()));
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits > 0 && text.find_first_not_of(")]}, ", digits) == std::string_view::npos)
      diagnostics.warning(remark, "`//` opens a comment, so that this is not read")
          .hint("`/` of whole numbers drops the fraction");
  }
}

void repairBrackets(TokenList &tokens, StatementLog &log, Diagnostics &diagnostics) {
  BracketRepair(tokens, log, diagnostics).run();
}

bool checkNesting(const TokenList &tokens, Diagnostics &diagnostics) {
  constexpr size_t limit = 200; // levels; each costs the parser some 15 frames
  size_t depth = 0, signs = 0, elses = 0;
  for (const Lexeme &item : tokens.items) {
    if (isOpener(item.type))
      ++depth;
    else if (isCloser(item.type) && depth > 0)
      --depth;
    signs = item.type == Lexer::MINUS || item.type == Lexer::NOT ? signs + 1 : 0;
    if (opensStatement(item.type))
      elses = 0;
    elses += item.type == Lexer::IF || item.type == Lexer::ELSE;
    if (depth > limit || signs > limit || elses > 2 * limit) {
      diagnostics.error(item.range, "more than " + std::to_string(limit) + " levels of nesting")
          .hint("a `let` or a `fn` for the inner part");
      return false;
    }
  }
  return true;
}

} // namespace penstock::dsl
