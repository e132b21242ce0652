// SPDX-License-Identifier: Apache-2.0
//
// Expressions and stages: one function per rule of the grammar, in its order.
#include "dsl/Parser/Literals.h"
#include "dsl/Parser/TreeBuilder.h"
#include "generated/PenstockLexer.h"

namespace penstock::dsl {

using Parser = grammar::PenstockParser;
using Lexer = grammar::PenstockLexer;

ExprPtr TreeBuilder::binary(BinaryOp op, SourceRange opRange, ExprPtr lhs, ExprPtr rhs) {
  auto out = std::make_unique<BinaryExpr>();
  out->op = op;
  out->range = join(lhs->range, rhs->range);
  out->opRange = opRange;
  out->lhs = std::move(lhs);
  out->rhs = std::move(rhs);
  return out;
}

ExprPtr TreeBuilder::unaryOp(UnaryOp op, antlr4::ParserRuleContext *context, ExprPtr operand) {
  auto out = std::make_unique<UnaryExpr>();
  out->op = op;
  out->range = range(context);
  out->opRange = tokenRange(context->getStart());
  out->operand = std::move(operand);
  return out;
}

ExprPtr TreeBuilder::expr(Parser::ExprContext *context) {
  ExprPtr input = choice(context->choice());
  if (context->stage().empty())
    return input;
  auto out = std::make_unique<PipeExpr>();
  out->range = range(context);
  out->input = std::move(input);
  out->chain = chain(context->stage());
  return out;
}

ExprPtr TreeBuilder::choice(Parser::ChoiceContext *context) {
  if (!context->IF())
    return oper(context->oper());
  auto out = std::make_unique<IfExpr>();
  out->range = range(context);
  out->condition = oper(context->oper());
  out->thenValue = choice(context->choice(0));
  out->elseValue = choice(context->choice(1));
  return out;
}

// Each call of a context's accessor goes over all of its children: of chains, which
// may be as long as a text, the parts are asked for once.

ExprPtr TreeBuilder::oper(Parser::OperContext *context) {
  const auto parts = context->conjunction();
  ExprPtr out = conjunction(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i)
    out = binary(BinaryOp::Or, childRange(context->children[2 * i - 1]), std::move(out),
                 conjunction(parts[i]));
  return out;
}

ExprPtr TreeBuilder::conjunction(Parser::ConjunctionContext *context) {
  const auto parts = context->negation();
  ExprPtr out = negation(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i)
    out = binary(BinaryOp::And, childRange(context->children[2 * i - 1]), std::move(out),
                 negation(parts[i]));
  return out;
}

ExprPtr TreeBuilder::negation(Parser::NegationContext *context) {
  if (context->NOT())
    return unaryOp(UnaryOp::Not, context, negation(context->negation()));
  return comparison(context->comparison());
}

// clang-format off: a table
static BinaryOp comparator(size_t type) {
  switch (type) {
  case Lexer::EQ: return BinaryOp::Eq;
  case Lexer::NE: return BinaryOp::Ne;
  case Lexer::LT: return BinaryOp::Lt;
  case Lexer::LE: return BinaryOp::Le;
  case Lexer::GT: return BinaryOp::Gt;
  case Lexer::GE: return BinaryOp::Ge;
  default: return BinaryOp::In;
  }
}
// clang-format on

ExprPtr TreeBuilder::comparison(Parser::ComparisonContext *context) {
  ExprPtr out = span(context->span(0));
  if (!context->comparator())
    return out;
  return binary(comparator(context->comparator()->getStart()->getType()),
                range(context->comparator()), std::move(out), span(context->span(1)));
}

ExprPtr TreeBuilder::span(Parser::SpanContext *context) {
  ExprPtr low = sum(context->sum(0));
  if (context->sum().size() == 1)
    return low;
  auto out = std::make_unique<RangeExpr>();
  out->range = range(context);
  out->closed = context->RANGE_IN() != nullptr;
  out->opRange = childRange(context->children[1]);
  out->low = std::move(low);
  out->high = sum(context->sum(1));
  return out;
}

ExprPtr TreeBuilder::sum(Parser::SumContext *context) {
  const auto parts = context->product();
  ExprPtr out = product(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    auto *op = context->children[2 * i - 1];
    out = binary(childType(op) == Lexer::PLUS ? BinaryOp::Add : BinaryOp::Sub, childRange(op),
                 std::move(out), product(parts[i]));
  }
  return out;
}

ExprPtr TreeBuilder::product(Parser::ProductContext *context) {
  const auto parts = context->unary();
  ExprPtr out = unary(parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    auto *child = context->children[2 * i - 1];
    BinaryOp op = childType(child) == Lexer::STAR    ? BinaryOp::Mul
                  : childType(child) == Lexer::SLASH ? BinaryOp::Div
                                                     : BinaryOp::Rem;
    out = binary(op, childRange(child), std::move(out), unary(parts[i]));
  }
  return out;
}

ExprPtr TreeBuilder::unary(Parser::UnaryContext *context) {
  if (context->MINUS())
    return unaryOp(UnaryOp::Negate, context, unary(context->unary()));
  if (context->scoped())
    return scoped(context->scoped());
  ExprPtr out = atom(context->atom());
  for (auto *item : context->postfix())
    out = postfix(std::move(out), item);
  return out;
}

ExprPtr TreeBuilder::postfix(ExprPtr base, Parser::PostfixContext *context) {
  SourceRange all = join(base->range, range(context));
  if (context->name()) {
    auto out = std::make_unique<FieldExpr>();
    out->range = all;
    out->base = std::move(base);
    out->field = name(context->name());
    return out;
  }
  if (context->args()) {
    auto out = std::make_unique<CallExpr>();
    out->range = all;
    out->callee = std::move(base);
    out->args = args(context->args());
    return out;
  }
  auto out = std::make_unique<IndexExpr>();
  out->range = all;
  out->base = std::move(base);
  for (auto *axis : context->index()->axisIndex())
    out->settings.push_back(
        {range(axis), name(axis->name()), axis->expr() ? expr(axis->expr()) : nullptr});
  return out;
}

ExprPtr TreeBuilder::scoped(Parser::ScopedContext *context) {
  if (auto *each = context->each()) {
    auto out = std::make_unique<EachExpr>();
    out->range = range(each);
    out->bind = bind(each->bind());
    out->body = block(each->block());
    return out;
  }
  if (auto *map = context->map()) {
    auto out = std::make_unique<MapExpr>();
    out->range = range(map);
    for (auto *item : map->bind())
      out->binds.push_back(bind(item));
    out->body = block(map->block());
    return out;
  }
  if (auto *window = context->window()) {
    auto out = std::make_unique<WindowExpr>();
    out->range = range(window);
    out->bind = bind(window->bind());
    out->extents = settings<AxisSetting>(window->setting());
    out->body = block(window->block());
    return out;
  }
  if (context->search())
    return search(context->search());
  Parser::DrawContext *draw = context->draw();
  auto out = std::make_unique<DrawExpr>();
  out->range = range(draw);
  out->distribution = name(draw->name());
  if (draw->args())
    out->args = args(draw->args());
  if (draw->axes())
    out->per = axes(draw->axes());
  return out;
}

ExprPtr TreeBuilder::search(Parser::SearchContext *context) {
  auto out = std::make_unique<SearchExpr>();
  out->range = range(context);
  out->tries = expr(context->expr());
  for (auto *item : context->letStmt())
    out->lets.push_back(let(item));
  out->accepted = expr(context->accept()->expr(0));
  out->condition = expr(context->accept()->expr(1));
  out->otherwise = unary(context->unary());
  return out;
}

ExprPtr TreeBuilder::atom(Parser::AtomContext *context) {
  if (context->group())
    return expr(context->group()->expr());
  SourceRange at = range(context);
  std::string_view text = tokens.source.substr(at.begin, at.end - at.begin);
  auto placed = [&](auto node) {
    node->range = at;
    return node;
  };
  if (context->name()) {
    auto out = placed(std::make_unique<NameExpr>());
    out->name = text;
    return out;
  }
  if (context->record()) {
    auto out = placed(std::make_unique<RecordExpr>());
    out->fields = settings<FieldSetting>(context->record()->setting());
    return out;
  }
  if (context->list()) {
    auto out = placed(std::make_unique<ListExpr>());
    for (auto *item : context->list()->expr())
      out->items.push_back(expr(item));
    return out;
  }
  if (context->INT()) {
    auto out = placed(std::make_unique<IntLit>());
    out->value = intValue(text, at, diagnostics);
    return out;
  }
  if (context->FLOAT()) {
    auto out = placed(std::make_unique<FloatLit>());
    out->value = floatValue(text, at, diagnostics);
    return out;
  }
  if (context->QUANTITY())
    return quantity(text, at, diagnostics);
  if (context->STRING()) {
    auto out = placed(std::make_unique<StringLit>());
    out->value = stringValue(text, at, diagnostics);
    return out;
  }
  auto out = placed(std::make_unique<BoolLit>());
  out->value = context->TRUE() != nullptr;
  return out;
}

ArgList TreeBuilder::args(Parser::ArgsContext *context) {
  ArgList out;
  out.range = range(context);
  for (auto *arg : context->arg()) {
    Arg item;
    item.range = range(arg);
    if (arg->name())
      item.name = name(arg->name());
    item.value = expr(arg->expr());
    out.args.push_back(std::move(item));
  }
  if (context->axes())
    out.over = axes(context->axes());
  return out;
}

// --- Stages
// -------------------------------------------------------------------

Chain TreeBuilder::chain(const std::vector<Parser::StageContext *> &contexts) {
  Chain out;
  for (auto *context : contexts) {
    std::unique_ptr<Stage> stage = stageBody(context->stageBody());
    stage->range = range(context);
    if (context->oper())
      stage->condition = oper(context->oper());
    if (context->place())
      stage->place = place(context->place());
    out.push_back(std::move(stage));
  }
  return out;
}

std::unique_ptr<Stage> TreeBuilder::stageBody(Parser::StageBodyContext *context) {
  if (auto *call = context->callStage()) {
    auto out = std::make_unique<CallStage>();
    out->path = names(call->name());
    if (call->args())
      out->args = args(call->args());
    return out;
  }
  if (auto *group = context->chainGroup()) {
    auto out = std::make_unique<GroupStage>();
    out->chain = chain(group->chain()->stage());
    return out;
  }
  if (auto *choose = context->chooseStage()) {
    auto out = std::make_unique<ChooseStage>();
    for (auto *arm : choose->arm())
      out->arms.push_back({range(arm), oper(arm->oper()), chain(arm->chain()->stage())});
    return out;
  }
  auto *repeat = context->repeatStage();
  auto out = std::make_unique<RepeatStage>();
  out->count = expr(repeat->expr());
  out->chain = chain(repeat->chainGroup()->chain()->stage());
  return out;
}

} // namespace penstock::dsl
