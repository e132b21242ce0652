// SPDX-License-Identifier: Apache-2.0
#include "dsl/Parser/Shape.h"

#include "dsl/Parser/TokenStream.h"
#include "generated/PenstockLexer.h"
#include "generated/PenstockParser.h"

namespace penstock::dsl {
namespace {

using Parser = grammar::PenstockParser;
using Context = antlr4::ParserRuleContext;

class ShapeReader {
public:
  explicit ShapeReader(size_t count) : shapes(count) {}

  void read(Context &context);
  std::vector<TokenShape> shapes;

private:
  void rule(Context &context);
  void begin(antlr4::tree::ParseTree *tree, Begins what);
  void children(Context &context, Begins what);
  /// The first token of this type directly in `context`.
  TokenShape *token(Context &context, size_t type);
  void glue(TokenShape *shape) {
    if (shape)
      shape->gluedBefore = true;
  }
  void holder(Context &context, std::optional<size_t> owner = {}) {
    TokenShape *brace = token(context, Parser::LBRACE);
    brace->holdsStatements = true;
    brace->owner = owner;
  }
};

size_t firstToken(antlr4::tree::ParseTree *tree) {
  if (auto *leaf = dynamic_cast<antlr4::tree::TerminalNode *>(tree))
    return leaf->getSymbol()->getTokenIndex();
  return static_cast<Context *>(tree)->getStart()->getTokenIndex();
}

void ShapeReader::begin(antlr4::tree::ParseTree *tree, Begins what) {
  TokenShape &shape = shapes[firstToken(tree)];
  shape.begins = std::max(shape.begins, what);
}

/// Every child that is a rule of its own begins something.
void ShapeReader::children(Context &context, Begins what) {
  for (antlr4::tree::ParseTree *child : context.children)
    if (dynamic_cast<Context *>(child))
      begin(child, what);
}

TokenShape *ShapeReader::token(Context &context, size_t type) {
  for (antlr4::tree::ParseTree *child : context.children)
    if (auto *leaf = dynamic_cast<antlr4::tree::TerminalNode *>(child))
      if (leaf->getSymbol()->getType() == type)
        return &shapes[leaf->getSymbol()->getTokenIndex()];
  return nullptr;
}

void ShapeReader::rule(Context &context) {
  switch (context.getRuleIndex()) {
  case Parser::RuleFile:
  case Parser::RuleBatchBlock:
    children(context, Begins::Statement);
    if (context.getRuleIndex() == Parser::RuleBatchBlock)
      holder(context, firstToken(&context));
    break;
  case Parser::RulePipelineDecl:
    holder(context, firstToken(&context));
    break;
  case Parser::RuleLetStmt:
    shapes[firstToken(&context)].assign =
        static_cast<size_t>(token(context, Parser::ASSIGN) - shapes.data());
    [[fallthrough]];
  case Parser::RuleReturnStmt:
  case Parser::RuleForHead:
  case Parser::RuleBatchHead:
  case Parser::RuleOutputStmt:
  case Parser::RuleAccept:
    begin(&context, Begins::Statement);
    break;
  case Parser::RuleBlock: {
    auto *fn = dynamic_cast<Parser::FnDeclContext *>(context.parent);
    holder(context, fn ? std::optional(firstToken(fn)) : std::nullopt);
    children(context, Begins::Statement);
    break;
  }
  case Parser::RuleSearch:
    holder(context);
    token(context, Parser::ELSE)->branchOf = firstToken(&context);
    break;
  case Parser::RuleChooseStage:
    holder(context);
    children(context, Begins::Statement);
    break;
  case Parser::RuleChoice:
    for (size_t word : {Parser::THEN, Parser::ELSE})
      if (TokenShape *shape = token(context, word))
        shape->branchOf = firstToken(&context);
    break;
  case Parser::RuleUnary:
    if (TokenShape *minus = token(context, Parser::MINUS))
      minus->gluedAfter = true;
    break;
  case Parser::RulePostfix:
  case Parser::RuleCallStage:
    for (antlr4::tree::ParseTree *child : context.children)
      if (child->getText() == ".")
        shapes[firstToken(child)].gluedBefore = shapes[firstToken(child)].gluedAfter = true;
    break;
  case Parser::RuleArgs:
  case Parser::RuleIndex:
  case Parser::RuleParams:
  case Parser::RuleGenerics:
  case Parser::RuleAxisTypes:
    shapes[firstToken(&context)].gluedBefore = true;
    [[fallthrough]];
  case Parser::RuleAxes:
  case Parser::RuleList:
  case Parser::RuleGroup:
  case Parser::RuleRecord:
  case Parser::RuleRecordType:
  case Parser::RuleChainGroup:
    children(context, Begins::Item);
    break;
  case Parser::RuleGeneric:
  case Parser::RuleEach:
  case Parser::RuleMap:
  case Parser::RuleWindow:
    for (antlr4::tree::ParseTree *child : context.children)
      if (auto *part = dynamic_cast<Context *>(child);
          part && part->getRuleIndex() != Parser::RuleBlock)
        begin(part, Begins::Item);
    break;
  default:
    break;
  }
}

void ShapeReader::read(Context &context) {
  rule(context);
  for (antlr4::tree::ParseTree *child : context.children)
    if (auto *part = dynamic_cast<Context *>(child))
      read(*part);
}

} // namespace

std::vector<TokenShape> shapeOf(const TokenList &tokens) {
  TokenStream stream(tokens);
  grammar::PenstockParser parser(&stream.stream);
  parser.removeErrorListeners();
  ShapeReader reader(tokens.items.size());
  reader.read(*parser.file());
  for (size_t i = 0; i < tokens.items.size(); ++i) {
    TokenShape &shape = reader.shapes[i];
    const size_t type = tokens.items[i].type;
    const bool round = type == Parser::LPAREN || type == Parser::LBRACK;
    shape.gluedAfter |= round;
    shape.gluedBefore |= type == Parser::RPAREN || type == Parser::RBRACK ||
                         type == Parser::COMMA || type == Parser::COLON;
  }
  return reader.shapes;
}

} // namespace penstock::dsl
