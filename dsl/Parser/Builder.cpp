// One function per rule of the grammar, in its order. It is longer than other
// files because the grammar is one thing.
#include "dsl/Parser/Builder.h"

#include "dsl/Parser/Literals.h"
#include "generated/PenstockLexer.h"

#include <algorithm>

namespace penstock::dsl {
namespace {

using Parser = grammar::PenstockParser;
using Lexer = grammar::PenstockLexer;

class Builder {
public:
  Builder(TokenList &tokens, Diagnostics &diagnostics)
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
    return join(tokenRange(context->getStart()),
                tokenRange(context->getStop()));
  }
  size_t firstToken(antlr4::ParserRuleContext *context) const {
    return context->getStart()->getTokenIndex();
  }
  SourceRange childRange(antlr4::tree::ParseTree *child) const {
    return tokenRange(
        dynamic_cast<antlr4::tree::TerminalNode *>(child)->getSymbol());
  }
  static size_t childType(antlr4::tree::ParseTree *child) {
    auto *terminal = dynamic_cast<antlr4::tree::TerminalNode *>(child);
    return terminal ? terminal->getSymbol()->getType() : 0;
  }
  Name name(Parser::NameContext *context) const {
    SourceRange at = range(context);
    return {std::string(tokens.source.substr(at.begin, at.end - at.begin)), at};
  }
  std::vector<Name>
  names(const std::vector<Parser::NameContext *> &contexts) const {
    std::vector<Name> out;
    for (auto *context : contexts)
      out.push_back(name(context));
    return out;
  }
  /// The name after a statement's first word, if one was written.
  std::optional<Name> nameAfter(antlr4::ParserRuleContext *context) const {
    size_t index = firstToken(context) + 1;
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
  std::vector<Setting>
  settings(const std::vector<Parser::SettingContext *> &contexts) {
    std::vector<Setting> out;
    for (auto *context : contexts)
      out.push_back(
          {range(context), name(context->name()), expr(context->expr())});
    return out;
  }
  static ExprPtr binary(BinaryOp op, SourceRange opRange, ExprPtr lhs,
                        ExprPtr rhs);
  ExprPtr unaryOp(UnaryOp op, antlr4::ParserRuleContext *context,
                  ExprPtr operand);

  // --- Stages
  Chain chain(const std::vector<Parser::StageContext *> &contexts);
  std::unique_ptr<Stage> stageBody(Parser::StageBodyContext *context);
};

/// The comments on the lines above, without their slashes. Each comment belongs
/// to one thing only.
std::string Builder::doc(antlr4::ParserRuleContext *context) {
  size_t index = firstToken(context);
  uint32_t begin = index > 0 ? tokens.items[index - 1].range.end : 0;
  uint32_t end = tokens.items[index].range.begin;
  std::string out;
  for (DocLexeme &comment : tokens.docs) {
    if (!comment.ownLine || comment.range.begin < begin ||
        comment.range.begin >= end)
      continue;
    comment.used = true;
    std::string_view text = tokens.source.substr(
        comment.range.begin + 3, comment.range.end - comment.range.begin - 3);
    if (text.starts_with(' '))
      text.remove_prefix(1);
    text = text.substr(0, text.find_last_not_of(" \t") + 1);
    out += (out.empty() ? "" : "\n") + std::string(text);
  }
  return out;
}

// --- Declarations
// -------------------------------------------------------------

std::unique_ptr<File> Builder::file(Parser::FileContext *context) {
  auto file = std::make_unique<File>();
  file->id = tokens.file;
  file->version = 1;
  Parser::HeaderContext *header = context->header();
  if (header && !header->exception && header->INT()) {
    file->versionRange = tokenRange(header->INT()->getSymbol());
    file->version = intValue(
        tokens.source.substr(file->versionRange.begin,
                             file->versionRange.end - file->versionRange.begin),
        file->versionRange, diagnostics);
  }
  for (auto *use : context->useDecl())
    if (!use->exception)
      for (Name &module : names(use->name()))
        file->uses.push_back(std::move(module));

  auto unread = [&](antlr4::ParserRuleContext *declaration) {
    if (std::optional<Name> known = nameAfter(declaration))
      file->unread.insert(known->text);
  };
  for (auto *decl : context->decl()) {
    if (auto *constant = decl->constDecl()) {
      if (constant->exception)
        unread(constant);
      else
        file->consts.push_back(constDecl(constant));
    } else if (auto *fn = decl->fnDecl()) {
      if (fn->exception)
        unread(fn);
      else
        file->fns.push_back(fnDecl(fn));
    } else if (auto *pipeline = decl->pipelineDecl()) {
      auto broken = [](antlr4::ParserRuleContext *part) {
        return !part || part->exception;
      };
      if (broken(pipeline) || broken(pipeline->pipelineHead()) ||
          broken(pipeline->forHead()) || broken(pipeline->batchBlock()) ||
          broken(pipeline->batchBlock()->batchHead()))
        unread(pipeline);
      else
        file->pipelines.push_back(pipelineDecl(pipeline));
    }
  }
  // Inside a declaration that could not be read, comments may be anywhere.
  if (!diagnostics.hasErrors())
    for (const DocLexeme &comment : tokens.docs)
      if (!comment.used)
        diagnostics
            .warning(comment.range, "this `///` comment describes nothing")
            .hint("`//` for a remark; `///` stands on the lines above a "
                  "declaration");
  return file;
}

ConstDecl Builder::constDecl(Parser::ConstDeclContext *context) {
  ConstDecl decl{
      range(context), doc(context), name(context->name()), {}, nullptr};
  if (context->type())
    decl.type = type(context->type());
  decl.value = expr(context->expr());
  return decl;
}

FnDecl Builder::fnDecl(Parser::FnDeclContext *context) {
  FnDecl decl;
  decl.range = range(context);
  decl.doc = doc(context);
  decl.name = name(context->name());
  if (context->generics()) {
    for (auto *generic : context->generics()->generic()) {
      std::vector<Name> all = names(generic->name());
      Name own = all.front();
      all.erase(all.begin());
      decl.generics.push_back({range(generic), std::move(own), std::move(all)});
    }
  }
  decl.params = params(context->params());
  decl.result = type(context->type());
  if (context->block()) {
    decl.body = block(context->block());
  } else {
    decl.body.result = expr(context->expr());
    decl.body.range = range(context->expr());
  }
  return decl;
}

std::vector<Param> Builder::params(Parser::ParamsContext *context) {
  std::vector<Param> out;
  for (auto *param : context->param())
    out.push_back({range(param), doc(param), name(param->name()),
                   type(param->type()),
                   param->expr() ? expr(param->expr()) : nullptr});
  return out;
}

PipelineDecl Builder::pipelineDecl(Parser::PipelineDeclContext *context) {
  PipelineDecl decl;
  decl.range = range(context);
  decl.doc = doc(context);
  Parser::PipelineHeadContext *head = context->pipelineHead();
  decl.name = name(head->name());
  decl.params = params(head->params());
  decl.options = settings<OptionSetting>(head->setting());

  Parser::ForHeadContext *loop = context->forHead();
  decl.row = name(loop->name());
  size_t next = 0;
  decl.source = expr(loop->expr(next++));
  if (loop->WHERE())
    decl.where = expr(loop->expr(next++));
  if (loop->ORDER())
    decl.order = expr(loop->expr(next++));
  for (auto *item : context->letStmt()) {
    bool before = firstToken(item) < firstToken(loop);
    (before ? decl.tableLets : decl.sampleLets).push_back(let(item));
  }
  decl.batch = batch(context->batchBlock());
  return decl;
}

BatchDecl Builder::batch(Parser::BatchBlockContext *context) {
  BatchDecl decl;
  decl.range = range(context);
  Parser::BatchHeadContext *head = context->batchHead();
  decl.keyword = tokenRange(head->BATCH()->getSymbol());
  decl.size = oper(head->oper());
  if (head->GLOBAL())
    decl.scope = BatchScope::Global;
  else if (head->PER())
    decl.scope = BatchScope::PerRank;
  if (head->name())
    decl.last = name(head->name());
  for (auto *item : context->batchItem()) {
    if (item->letStmt())
      decl.items.emplace_back(let(item->letStmt()));
    else if (item->outputStmt() && nameAfter(item->outputStmt()))
      decl.items.emplace_back(output(item->outputStmt()));
  }
  return decl;
}

LetDecl Builder::let(Parser::LetStmtContext *context) {
  LetDecl decl;
  decl.range = range(context);
  decl.doc = doc(context);
  if (std::optional<Name> known = nameAfter(context))
    decl.name = *known;
  if (context->exception)
    return decl;
  if (context->type())
    decl.type = type(context->type());
  decl.value = expr(context->expr());
  return decl;
}

OutputDecl Builder::output(Parser::OutputStmtContext *context) {
  OutputDecl decl;
  decl.range = range(context);
  decl.doc = doc(context);
  decl.name = *nameAfter(context);
  if (context->exception)
    return decl;
  decl.type = type(context->type());
  auto once = [&](bool already, Parser::OutputTraitContext *trait) {
    if (already) {
      std::string word(tokens.text(firstToken(trait)));
      diagnostics.error(range(trait), "`" + word +
                                          "` is said twice of output `" +
                                          decl.name.text + "`");
    }
  };
  for (auto *trait : context->outputTrait()) {
    if (trait->axes()) {
      once(decl.stored.has_value(), trait);
      decl.stored = axes(trait->axes());
    } else if (trait->unary()) {
      once(decl.pad != nullptr, trait);
      decl.pad = unary(trait->unary());
    } else if (trait->RAGGED()) {
      once(decl.ragged.has_value(), trait);
      decl.ragged = range(trait);
    } else {
      once(decl.place.has_value(), trait);
      decl.place = place(trait->place());
    }
  }
  decl.value = expr(context->expr());
  return decl;
}

Block Builder::block(Parser::BlockContext *context) {
  Block out;
  out.range = range(context);
  for (auto *item : context->letStmt())
    out.lets.push_back(let(item));
  if (context->expr())
    out.result = expr(context->expr());
  else if (context->returnStmt() && !context->returnStmt()->exception)
    out.result = expr(context->returnStmt()->expr());
  return out;
}

Place Builder::place(Parser::PlaceContext *context) const {
  Target target = context->CPU()   ? Target::Cpu
                  : context->GPU() ? Target::Gpu
                                   : Target::Auto;
  return {range(context), target};
}

// --- Types
// --------------------------------------------------------------------

TypeExpr Builder::type(Parser::TypeContext *context) {
  TypeExpr out;
  out.range = range(context);
  if (auto *record = context->recordType()) {
    out.kind = TypeExpr::Kind::Record;
    for (auto *field : record->fieldType())
      out.fields.push_back(
          {range(field), name(field->name()), type(field->type())});
    return out;
  }
  out.name = name(context->name());
  if (auto *list = context->axisTypes()) {
    out.kind = TypeExpr::Kind::Tensor;
    for (auto *axis : list->axisType())
      out.axes.push_back(axisType(axis));
  }
  return out;
}

AxisType Builder::axisType(Parser::AxisTypeContext *context) {
  AxisType out;
  out.range = range(context);
  out.name = name(context->name(0));
  if (context->sum()) {
    out.extentKind = context->LE() ? ExtentKind::AtMost : ExtentKind::Exact;
    out.extent = sum(context->sum());
  }
  if (context->name().size() > 1)
    out.metadata = name(context->name(1));
  return out;
}

// --- Expressions
// --------------------------------------------------------------

ExprPtr Builder::binary(BinaryOp op, SourceRange opRange, ExprPtr lhs,
                        ExprPtr rhs) {
  auto out = std::make_unique<BinaryExpr>();
  out->op = op;
  out->range = join(lhs->range, rhs->range);
  out->opRange = opRange;
  out->lhs = std::move(lhs);
  out->rhs = std::move(rhs);
  return out;
}

ExprPtr Builder::unaryOp(UnaryOp op, antlr4::ParserRuleContext *context,
                         ExprPtr operand) {
  auto out = std::make_unique<UnaryExpr>();
  out->op = op;
  out->range = range(context);
  out->opRange = tokenRange(context->getStart());
  out->operand = std::move(operand);
  return out;
}

ExprPtr Builder::expr(Parser::ExprContext *context) {
  ExprPtr input = choice(context->choice());
  if (context->stage().empty())
    return input;
  auto out = std::make_unique<PipeExpr>();
  out->range = range(context);
  out->input = std::move(input);
  out->chain = chain(context->stage());
  return out;
}

ExprPtr Builder::choice(Parser::ChoiceContext *context) {
  if (!context->IF())
    return oper(context->oper());
  auto out = std::make_unique<IfExpr>();
  out->range = range(context);
  out->condition = oper(context->oper());
  out->thenValue = choice(context->choice(0));
  out->elseValue = choice(context->choice(1));
  return out;
}

ExprPtr Builder::oper(Parser::OperContext *context) {
  ExprPtr out = conjunction(context->conjunction(0));
  for (size_t i = 1; i < context->conjunction().size(); ++i)
    out = binary(BinaryOp::Or, tokenRange(context->OR(i - 1)->getSymbol()),
                 std::move(out), conjunction(context->conjunction(i)));
  return out;
}

ExprPtr Builder::conjunction(Parser::ConjunctionContext *context) {
  ExprPtr out = negation(context->negation(0));
  for (size_t i = 1; i < context->negation().size(); ++i)
    out = binary(BinaryOp::And, tokenRange(context->AND(i - 1)->getSymbol()),
                 std::move(out), negation(context->negation(i)));
  return out;
}

ExprPtr Builder::negation(Parser::NegationContext *context) {
  if (context->NOT())
    return unaryOp(UnaryOp::Not, context, negation(context->negation()));
  return comparison(context->comparison());
}

// clang-format off: a table
BinaryOp comparator(size_t type) {
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

ExprPtr Builder::comparison(Parser::ComparisonContext *context) {
  ExprPtr out = span(context->span(0));
  if (!context->comparator())
    return out;
  return binary(comparator(context->comparator()->getStart()->getType()),
                range(context->comparator()), std::move(out),
                span(context->span(1)));
}

ExprPtr Builder::span(Parser::SpanContext *context) {
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

ExprPtr Builder::sum(Parser::SumContext *context) {
  ExprPtr out = product(context->product(0));
  for (size_t i = 1; i < context->product().size(); ++i) {
    auto *op = context->children[2 * i - 1];
    out = binary(childType(op) == Lexer::PLUS ? BinaryOp::Add : BinaryOp::Sub,
                 childRange(op), std::move(out), product(context->product(i)));
  }
  return out;
}

ExprPtr Builder::product(Parser::ProductContext *context) {
  ExprPtr out = unary(context->unary(0));
  for (size_t i = 1; i < context->unary().size(); ++i) {
    auto *child = context->children[2 * i - 1];
    BinaryOp op = childType(child) == Lexer::STAR    ? BinaryOp::Mul
                  : childType(child) == Lexer::SLASH ? BinaryOp::Div
                                                     : BinaryOp::Rem;
    out =
        binary(op, childRange(child), std::move(out), unary(context->unary(i)));
  }
  return out;
}

ExprPtr Builder::unary(Parser::UnaryContext *context) {
  if (context->MINUS())
    return unaryOp(UnaryOp::Negate, context, unary(context->unary()));
  if (context->scoped())
    return scoped(context->scoped());
  ExprPtr out = atom(context->atom());
  for (auto *item : context->postfix())
    out = postfix(std::move(out), item);
  return out;
}

ExprPtr Builder::postfix(ExprPtr base, Parser::PostfixContext *context) {
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
  out->settings = settings<AxisSetting>(context->index()->setting());
  return out;
}

ExprPtr Builder::scoped(Parser::ScopedContext *context) {
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

ExprPtr Builder::search(Parser::SearchContext *context) {
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

ExprPtr Builder::atom(Parser::AtomContext *context) {
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

ArgList Builder::args(Parser::ArgsContext *context) {
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

Chain Builder::chain(const std::vector<Parser::StageContext *> &contexts) {
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

std::unique_ptr<Stage> Builder::stageBody(Parser::StageBodyContext *context) {
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
      out->arms.push_back(
          {range(arm), oper(arm->oper()), chain(arm->chain()->stage())});
    return out;
  }
  auto *repeat = context->repeatStage();
  auto out = std::make_unique<RepeatStage>();
  out->count = expr(repeat->expr());
  out->chain = chain(repeat->chainGroup()->chain()->stage());
  return out;
}

} // namespace

std::unique_ptr<File> buildFile(Parser::FileContext *context, TokenList &tokens,
                                Diagnostics &diagnostics) {
  return Builder(tokens, diagnostics).file(context);
}

} // namespace penstock::dsl
