// SPDX-License-Identifier: Apache-2.0
//
// Files, declarations and types: one function per rule of the grammar, in its
// order.
#include "dsl/Parser/Literals.h"
#include "dsl/Parser/TreeBuilder.h"

namespace penstock::dsl {

using Parser = grammar::PenstockParser;

/// The comments on the lines above, without their slashes. Each comment belongs
/// to one thing only.
std::string TreeBuilder::doc(antlr4::ParserRuleContext *context) {
  size_t index = firstToken(context);
  uint32_t begin = index > 0 ? tokens.items[index - 1].range.end : 0;
  uint32_t end = tokens.items[index].range.begin;
  std::string out;
  for (DocLexeme &comment : tokens.docs) {
    if (!comment.ownLine || comment.range.begin < begin || comment.range.begin >= end)
      continue;
    comment.used = true;
    std::string_view text =
        tokens.source.substr(comment.range.begin + 3, comment.range.end - comment.range.begin - 3);
    if (text.starts_with(' '))
      text.remove_prefix(1);
    text = text.substr(0, text.find_last_not_of(" \t") + 1);
    out += (out.empty() ? "" : "\n") + std::string(text);
  }
  return out;
}

// --- Declarations
// -------------------------------------------------------------

std::unique_ptr<File> TreeBuilder::file(Parser::FileContext *context) {
  auto file = std::make_unique<File>();
  file->id = tokens.file;
  Parser::HeaderContext *header = context->header();
  if (header && !header->exception && header->INT()) {
    file->versionRange = tokenRange(header->INT()->getSymbol());
    file->version =
        intValue(tokens.source.substr(file->versionRange.begin,
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
      auto broken = [](antlr4::ParserRuleContext *part) { return !part || part->exception; };
      if (broken(pipeline) || broken(pipeline->pipelineHead()) || broken(pipeline->forHead()) ||
          broken(pipeline->batchBlock()) || broken(pipeline->batchBlock()->batchHead()))
        unread(pipeline);
      else
        file->pipelines.push_back(pipelineDecl(pipeline));
    }
  }
  // Inside a declaration that could not be read, comments may be anywhere.
  if (!diagnostics.hasErrors())
    for (const DocLexeme &comment : tokens.docs)
      if (!comment.used)
        diagnostics.warning(comment.range, "this `///` comment describes nothing")
            .hint("`//` for a remark; `///` stands on the lines above a "
                  "declaration");
  return file;
}

ConstDecl TreeBuilder::constDecl(Parser::ConstDeclContext *context) {
  ConstDecl decl;
  decl.range = range(context);
  decl.doc = doc(context);
  decl.isPublic = context->PUB();
  decl.name = name(context->name());
  if (context->type())
    decl.type = type(context->type());
  decl.value = expr(context->expr());
  return decl;
}

FnDecl TreeBuilder::fnDecl(Parser::FnDeclContext *context) {
  FnDecl decl;
  decl.range = range(context);
  decl.doc = doc(context);
  decl.isPublic = context->PUB();
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

std::vector<Param> TreeBuilder::params(Parser::ParamsContext *context) {
  std::vector<Param> out;
  for (auto *param : context->param())
    out.push_back({range(param), doc(param), name(param->name()), type(param->type()),
                   param->expr() ? expr(param->expr()) : nullptr});
  return out;
}

PipelineDecl TreeBuilder::pipelineDecl(Parser::PipelineDeclContext *context) {
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

BatchDecl TreeBuilder::batch(Parser::BatchBlockContext *context) {
  BatchDecl decl;
  decl.range = range(context);
  Parser::BatchHeadContext *head = context->batchHead();
  decl.keyword = tokenRange(head->BATCH()->getSymbol());
  if (Parser::ByLengthContext *lengths = head->byLength()) {
    decl.size = sum(lengths->sum(0));
    decl.byLength = {range(lengths), oper(lengths->oper()), sum(lengths->sum(1))};
  } else {
    decl.size = oper(head->oper());
  }
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

LetDecl TreeBuilder::let(Parser::LetStmtContext *context) {
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

OutputDecl TreeBuilder::output(Parser::OutputStmtContext *context) {
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
      diagnostics.error(range(trait),
                        "`" + word + "` is said twice of output `" + decl.name.text + "`");
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

Block TreeBuilder::block(Parser::BlockContext *context) {
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

Place TreeBuilder::place(Parser::PlaceContext *context) const {
  Target target = context->CPU() ? Target::Cpu : context->GPU() ? Target::Gpu : Target::Auto;
  return {range(context), target};
}

// --- Types
// --------------------------------------------------------------------

TypeExpr TreeBuilder::type(Parser::TypeContext *context) {
  TypeExpr out;
  out.range = range(context);
  if (auto *record = context->recordType()) {
    out.kind = TypeExpr::Kind::Record;
    for (auto *field : record->fieldType())
      out.fields.push_back({range(field), name(field->name()), type(field->type())});
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

AxisType TreeBuilder::axisType(Parser::AxisTypeContext *context) {
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

std::unique_ptr<File> buildFile(Parser::FileContext *context, TokenList &tokens,
                                Diagnostics &diagnostics) {
  return TreeBuilder(tokens, diagnostics).file(context);
}

} // namespace penstock::dsl
