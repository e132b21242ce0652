// SPDX-License-Identifier: Apache-2.0
//
// How Builder.cpp and Expressions.cpp build the tree: one function per rule of
// the grammar. Rules hold each other, so it is one class.
#pragma once

#include "dsl/Parser/Builder.h"

namespace penstock::dsl {

class TreeBuilder {
  using Parser = grammar::PenstockParser;

public:
  TreeBuilder(TokenList &tokens, Diagnostics &diagnostics)
      : tokens(tokens), diagnostics(diagnostics) {}

  std::unique_ptr<File> file(Parser::FileContext *context);

private:
  TokenList &tokens;
  Diagnostics &diagnostics;

  // --- Places, names, comments
  SourceRange tokenRange(antlr4::Token *token) const {
    return tokens.items[token->getTokenIndex()].range;
  }
  SourceRange range(antlr4::ParserRuleContext *context) const {
    return join(tokenRange(context->getStart()), tokenRange(context->getStop()));
  }
  size_t firstToken(antlr4::ParserRuleContext *context) const {
    return context->getStart()->getTokenIndex();
  }
  SourceRange childRange(antlr4::tree::ParseTree *child) const {
    return tokenRange(dynamic_cast<antlr4::tree::TerminalNode *>(child)->getSymbol());
  }
  static size_t childType(antlr4::tree::ParseTree *child) {
    auto *terminal = dynamic_cast<antlr4::tree::TerminalNode *>(child);
    return terminal ? terminal->getSymbol()->getType() : 0;
  }
  Name name(Parser::NameContext *context) const {
    SourceRange at = range(context);
    return {std::string(tokens.source.substr(at.begin, at.end - at.begin)), at};
  }
  std::vector<Name> names(const std::vector<Parser::NameContext *> &contexts) const {
    std::vector<Name> out;
    for (auto *context : contexts)
      out.push_back(name(context));
    return out;
  }
  /// The name after a statement's first word, if one was written.
  std::optional<Name> nameAfter(antlr4::ParserRuleContext *context) const {
    size_t index = firstToken(context) + 1;
    if (tokens.is(index - 1, grammar::PenstockParser::PUB))
      ++index;
    if (index >= tokens.items.size() || !isName(tokens.items[index].type))
      return std::nullopt;
    return Name{std::string(tokens.text(index)), tokens.items[index].range};
  }
  std::string doc(antlr4::ParserRuleContext *context);

  // --- Declarations
  ConstDecl constDecl(Parser::ConstDeclContext *context);
  FnDecl fnDecl(Parser::FnDeclContext *context);
  std::vector<Param> params(Parser::ParamsContext *context);
  PipelineDecl pipelineDecl(Parser::PipelineDeclContext *context);
  BatchDecl batch(Parser::BatchBlockContext *context);
  LetDecl let(Parser::LetStmtContext *context);
  OutputDecl output(Parser::OutputStmtContext *context);
  Block block(Parser::BlockContext *context);
  Place place(Parser::PlaceContext *context) const;

  // --- Types
  TypeExpr type(Parser::TypeContext *context);
  AxisType axisType(Parser::AxisTypeContext *context);
  AxisList axes(Parser::AxesContext *context) const {
    return {range(context), names(context->name())};
  }

  // --- Expressions
  ExprPtr expr(Parser::ExprContext *context);
  ExprPtr choice(Parser::ChoiceContext *context);
  ExprPtr oper(Parser::OperContext *context);
  ExprPtr conjunction(Parser::ConjunctionContext *context);
  ExprPtr negation(Parser::NegationContext *context);
  ExprPtr comparison(Parser::ComparisonContext *context);
  ExprPtr span(Parser::SpanContext *context);
  ExprPtr sum(Parser::SumContext *context);
  ExprPtr product(Parser::ProductContext *context);
  ExprPtr unary(Parser::UnaryContext *context);
  ExprPtr postfix(ExprPtr base, Parser::PostfixContext *context);
  ExprPtr scoped(Parser::ScopedContext *context);
  ExprPtr search(Parser::SearchContext *context);
  ExprPtr atom(Parser::AtomContext *context);
  ArgList args(Parser::ArgsContext *context);
  Bind bind(Parser::BindContext *context) {
    return {range(context), name(context->name()), expr(context->expr())};
  }
  template <typename Setting>
  std::vector<Setting> settings(const std::vector<Parser::SettingContext *> &contexts) {
    std::vector<Setting> out;
    for (auto *context : contexts)
      out.push_back({range(context), name(context->name()), expr(context->expr())});
    return out;
  }
  static ExprPtr binary(BinaryOp op, SourceRange opRange, ExprPtr lhs, ExprPtr rhs);
  ExprPtr unaryOp(UnaryOp op, antlr4::ParserRuleContext *context, ExprPtr operand);

  // --- Stages
  Chain chain(const std::vector<Parser::StageContext *> &contexts);
  std::unique_ptr<Stage> stageBody(Parser::StageBodyContext *context);
};

} // namespace penstock::dsl
