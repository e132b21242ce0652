// SPDX-License-Identifier: Apache-2.0
#include "dsl/Parser/ErrorStrategy.h"

#include "generated/PenstockLexer.h"
#include "generated/PenstockParser.h"

#include <algorithm>

namespace penstock::dsl {

using Lexer = grammar::PenstockLexer;
using Parser = grammar::PenstockParser;

namespace {

/// The rules that leave a broken statement behind; all others pass it on.
bool isStatementRule(size_t rule) {
  switch (rule) {
  case Parser::RuleFile:
  case Parser::RuleHeader:
  case Parser::RuleUseDecl:
  case Parser::RuleConstDecl:
  case Parser::RuleFnDecl:
  case Parser::RulePipelineDecl:
  case Parser::RulePipelineHead:
  case Parser::RuleForHead:
  case Parser::RuleBatchHead:
  case Parser::RuleLetStmt:
  case Parser::RuleReturnStmt:
  case Parser::RuleOutputStmt:
    return true;
  default:
    return false;
  }
}

/// Returns whether skipping in `rule` ends before a token of this type. `depth` is the
/// number of brackets opened since the statement began.
bool stopsAt(size_t rule, size_t type, int depth) {
  if (type == antlr4::Token::EOF)
    return true;
  if (rule == Parser::RuleFile)
    return false;
  if (opensDeclaration(type))
    return true;
  switch (rule) {
  case Parser::RuleHeader:
  case Parser::RuleUseDecl:
    return type == Lexer::USE;
  case Parser::RuleConstDecl:
  case Parser::RuleFnDecl:
  case Parser::RulePipelineDecl:
    return false;
  case Parser::RulePipelineHead:
  case Parser::RuleBatchHead:
    if (type == Lexer::LBRACE && depth <= 0)
      return true;
    break;
  default:
    break;
  }
  // These three never stand inside an expression, so they always end it.
  if (type == Lexer::FOR || type == Lexer::BATCH || type == Lexer::OUTPUT)
    return true;
  return depth <= 0 && (type == Lexer::LET || type == Lexer::RETURN || type == Lexer::RBRACE);
}

} // namespace

void ErrorStrategy::report(antlr4::Parser *parser, antlr4::ParserRuleContext *context, size_t at,
                           std::optional<size_t> expected) {
  // A word that opens the next statement was refused on account of this one.
  size_t blamed = at > 0 && (opensStatement(tokens.items[at].type) ||
                             tokens.items[at].type == antlr4::Token::EOF)
                      ? at - 1
                      : at;
  // An error within three tokens of the last report is a follow-up.
  bool followUp = lastReport != SIZE_MAX && at >= lastReport && at - lastReport <= 3;
  bool first = log.take(tokens.items[blamed].range.begin);
  if (followUp || !first)
    return;
  lastReport = at;
  Refusal refusal{tokens, at, {}, expected, {}};
  if (expected) { // `'let'`, in the grammar's quotes
    std::string literal = parser->getVocabulary().getLiteralName(*expected);
    if (literal.size() > 2)
      refusal.expectedText = literal.substr(1, literal.size() - 2);
  }
  for (antlr4::tree::ParseTree *tree = context; tree; tree = tree->parent)
    refusal.rules.push_back(static_cast<antlr4::ParserRuleContext *>(tree)->getRuleIndex());
  reportRefusal(refusal, diagnostics);
}

void ErrorStrategy::reportError(antlr4::Parser *parser, const antlr4::RecognitionException &error) {
  if (travelling)
    return;
  travelling = true;
  std::optional<size_t> expected;
  antlr4::misc::IntervalSet set = parser->getExpectedTokens();
  if (set.size() == 1)
    expected = static_cast<size_t>(set.getMinElement());
  report(parser, parser->getContext(), error.getOffendingToken()->getTokenIndex(), expected);
}

void ErrorStrategy::recover(antlr4::Parser *parser, std::exception_ptr error) {
  antlr4::ParserRuleContext *context = parser->getContext();
  if (!isStatementRule(context->getRuleIndex()))
    std::rethrow_exception(error);
  travelling = false;
  skip(parser, context->getRuleIndex(), context->getStart()->getTokenIndex());
}

antlr4::Token *ErrorStrategy::recoverInline(antlr4::Parser *parser) {
  throw antlr4::InputMismatchException(parser);
}

void ErrorStrategy::sync(antlr4::Parser *parser) {
  antlr4::ParserRuleContext *context = parser->getContext();
  size_t rule = context->getRuleIndex();
  size_t type = parser->getInputStream()->LA(1);
  bool declared = rule == Parser::RuleFile && !context->children.empty() &&
                  dynamic_cast<Parser::DeclContext *>(context->children.back());
  auto junk = [&](size_t type) {
    if (opensDeclaration(type) || type == antlr4::Token::EOF)
      return false;
    switch (rule) {
    case Parser::RuleFile:
      return type != Lexer::USE || declared;
    case Parser::RulePipelineDecl:
      return type != Lexer::LET && type != Lexer::FOR && type != Lexer::BATCH &&
             type != Lexer::RBRACE;
    case Parser::RuleBatchBlock:
      return type != Lexer::LET && type != Lexer::OUTPUT && type != Lexer::RBRACE;
    default:
      return false;
    }
  };
  if (!junk(type))
    return;
  size_t at = parser->getCurrentToken()->getTokenIndex();
  report(parser, context, at, std::nullopt);
  int depth = 0;
  while (type != antlr4::Token::EOF && !opensDeclaration(type) && (depth > 0 || junk(type))) {
    depth = std::max(0, depth + isOpener(type) - isCloser(type));
    parser->consume();
    type = parser->getInputStream()->LA(1);
  }
}

void ErrorStrategy::skip(antlr4::Parser *parser, size_t rule, size_t start) {
  int depth = 0;
  size_t at = parser->getCurrentToken()->getTokenIndex();
  for (size_t i = start; i < at; ++i)
    depth += isOpener(tokens.items[i].type) - isCloser(tokens.items[i].type);
  depth = std::max(depth, 0);
  for (;;) {
    size_t type = parser->getInputStream()->LA(1);
    if (stopsAt(rule, type, depth))
      return;
    depth = std::max(0, depth + isOpener(type) - isCloser(type));
    parser->consume();
  }
}

} // namespace penstock::dsl
