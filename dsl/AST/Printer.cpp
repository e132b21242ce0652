// SPDX-License-Identifier: Apache-2.0
#include "dsl/AST/Printer.h"

#include "dsl/AST/Spelling.h"

#include <cstdio>

namespace penstock::dsl {
namespace {

bool isLeaf(const Expr &expr) { return expr.kind <= ExprKind::Name; }

std::string leaf(const Expr &expr) {
  return std::string(spelling(expr.kind)) + " " + printSource(expr);
}

/// Writes lines; every `Indent` in scope adds one level.
class TreePrinter {
public:
  std::string out;

  void file(const File &file);
  void expr(const Expr &expr);

private:
  struct Indent {
    explicit Indent(TreePrinter &printer) : printer(printer) { ++printer.depth; }
    ~Indent() { --printer.depth; }
    TreePrinter &printer;
  };
  int depth = 0;

  void line(const std::string &text) { out += std::string(depth * 2, ' ') + text + "\n"; }
  void doc(const std::string &text);
  /// A line, and one expression on it or below it.
  void labelled(const std::string &label, const ExprPtr &value);
  void type(const TypeExpr &type);
  void params(const std::vector<Param> &params);
  void let(const LetDecl &let);
  void output(const OutputDecl &output);
  void block(const Block &block);
  void bind(const Bind &bind) { labelled("bind " + bind.name.text, bind.domain); }
  void args(const ArgList &args);
  void chain(const Chain &chain);
  void stage(const Stage &stage);
  void fn(const FnDecl &fn);
  void pipeline(const PipelineDecl &pipeline);
};

void TreePrinter::doc(const std::string &text) {
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    line("doc " + text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void TreePrinter::labelled(const std::string &label, const ExprPtr &value) {
  if (!value)
    return;
  if (isLeaf(*value)) {
    line(label + " " + leaf(*value));
    return;
  }
  line(label);
  Indent indent(*this);
  expr(*value);
}

void TreePrinter::type(const TypeExpr &type) { line("type " + printType(type)); }

void TreePrinter::params(const std::vector<Param> &params) {
  for (const Param &param : params) {
    line("param " + param.name.text + ": " + printType(param.type));
    Indent indent(*this);
    doc(param.doc);
    labelled("default", param.defaultValue);
  }
}

void TreePrinter::let(const LetDecl &let) {
  line("let " + let.name.text);
  Indent indent(*this);
  doc(let.doc);
  if (let.type)
    type(*let.type);
  expr(*let.value);
}

void TreePrinter::output(const OutputDecl &output) {
  line("output " + output.name.text + ": " + printType(output.type));
  Indent indent(*this);
  doc(output.doc);
  if (output.stored)
    line("stored " + printAxes(*output.stored));
  labelled("pad", output.pad);
  if (output.ragged)
    line("ragged");
  if (output.place)
    line(std::string("on ") + spelling(output.place->target));
  expr(*output.value);
}

void TreePrinter::block(const Block &block) {
  for (const LetDecl &item : block.lets)
    let(item);
  labelled("return", block.result);
}

void TreePrinter::args(const ArgList &args) {
  for (const Arg &arg : args.args)
    labelled(arg.name ? "arg " + arg.name->text : "arg", arg.value);
  if (args.over)
    line("over " + printAxes(*args.over));
}

void TreePrinter::chain(const Chain &chain) {
  for (const auto &item : chain)
    stage(*item);
}

void TreePrinter::stage(const Stage &stage) {
  std::string tail;
  if (stage.place)
    tail = std::string(" on ") + spelling(stage.place->target);
  // clang-format off: a table
  switch (stage.kind) {
  case StageKind::Call: line("stage " + printPath(stage.cast<CallStage>().path) + tail); break;
  case StageKind::Group: line("stage group" + tail); break;
  case StageKind::Choose: line("stage choose" + tail); break;
  case StageKind::Repeat: line("stage repeat" + tail); break;
  }
  // clang-format on
  Indent indent(*this);
  if (const auto *call = stage.as<CallStage>(); call && call->args)
    args(*call->args);
  if (const auto *group = stage.as<GroupStage>())
    chain(group->chain);
  if (const auto *choose = stage.as<ChooseStage>()) {
    for (const ChooseStage::Arm &arm : choose->arms) {
      line("arm");
      Indent armIndent(*this);
      labelled("weight", arm.weight);
      chain(arm.chain);
    }
  }
  if (const auto *repeat = stage.as<RepeatStage>()) {
    labelled("count", repeat->count);
    chain(repeat->chain);
  }
  labelled("if", stage.condition);
}

void TreePrinter::expr(const Expr &expr) {
  if (isLeaf(expr))
    return line(leaf(expr));
  switch (expr.kind) {
  case ExprKind::Unary:
    line(std::string("unary ") + spelling(expr.cast<UnaryExpr>().op));
    break;
  case ExprKind::Binary:
    line(std::string("binary ") + spelling(expr.cast<BinaryExpr>().op));
    break;
  case ExprKind::Range:
    line(expr.cast<RangeExpr>().closed ? "range ..=" : "range ..");
    break;
  case ExprKind::Field:
    line("field " + expr.cast<FieldExpr>().field.text);
    break;
  case ExprKind::Draw:
    line("draw " + expr.cast<DrawExpr>().distribution.text);
    break;
  default:
    line(spelling(expr.kind));
    break;
  }

  Indent indent(*this);
  if (const auto *list = expr.as<ListExpr>()) {
    for (const ExprPtr &item : list->items)
      this->expr(*item);
  } else if (const auto *record = expr.as<RecordExpr>()) {
    for (const FieldSetting &field : record->fields)
      labelled("field " + field.name.text, field.value);
  } else if (const auto *field = expr.as<FieldExpr>()) {
    this->expr(*field->base);
  } else if (const auto *call = expr.as<CallExpr>()) {
    this->expr(*call->callee);
    args(call->args);
  } else if (const auto *index = expr.as<IndexExpr>()) {
    this->expr(*index->base);
    for (const AxisSetting &setting : index->settings)
      labelled("axis " + setting.axis.text, setting.value);
  } else if (const auto *unary = expr.as<UnaryExpr>()) {
    this->expr(*unary->operand);
  } else if (const auto *binary = expr.as<BinaryExpr>()) {
    this->expr(*binary->lhs);
    this->expr(*binary->rhs);
  } else if (const auto *range = expr.as<RangeExpr>()) {
    this->expr(*range->low);
    this->expr(*range->high);
  } else if (const auto *choice = expr.as<IfExpr>()) {
    this->expr(*choice->condition);
    labelled("then", choice->thenValue);
    labelled("else", choice->elseValue);
  } else if (const auto *pipe = expr.as<PipeExpr>()) {
    this->expr(*pipe->input);
    chain(pipe->chain);
  } else if (const auto *each = expr.as<EachExpr>()) {
    bind(each->bind);
    block(each->body);
  } else if (const auto *map = expr.as<MapExpr>()) {
    for (const Bind &item : map->binds)
      bind(item);
    block(map->body);
  } else if (const auto *window = expr.as<WindowExpr>()) {
    bind(window->bind);
    for (const AxisSetting &setting : window->extents)
      labelled("axis " + setting.axis.text, setting.value);
    block(window->body);
  } else if (const auto *search = expr.as<SearchExpr>()) {
    labelled("tries", search->tries);
    for (const LetDecl &item : search->lets)
      let(item);
    labelled("accept", search->accepted);
    labelled("when", search->condition);
    labelled("else", search->otherwise);
  } else if (const auto *draw = expr.as<DrawExpr>()) {
    if (draw->args)
      args(*draw->args);
    if (draw->per)
      line("per " + printAxes(*draw->per));
  }
}

void TreePrinter::fn(const FnDecl &fn) {
  line((fn.isPublic ? "pub fn " : "fn ") + fn.name.text);
  Indent indent(*this);
  doc(fn.doc);
  for (const GenericParam &generic : fn.generics) {
    std::string text = "generic " + generic.name.text + ":";
    for (const Name &element : generic.elements)
      text += " " + element.text;
    line(text);
  }
  params(fn.params);
  line("result " + printType(fn.result));
  block(fn.body);
}

void TreePrinter::pipeline(const PipelineDecl &pipeline) {
  line("pipeline " + pipeline.name.text);
  Indent indent(*this);
  doc(pipeline.doc);
  params(pipeline.params);
  for (const OptionSetting &option : pipeline.options)
    labelled("with " + option.name.text, option.value);
  for (const LetDecl &item : pipeline.tableLets)
    let(item);
  labelled("for " + pipeline.row.text, pipeline.source);
  labelled("where", pipeline.where);
  labelled("order", pipeline.order);
  for (const LetDecl &item : pipeline.sampleLets)
    let(item);

  std::string batch = pipeline.batch.byLength ? "batch by length" : "batch";
  if (pipeline.batch.scope != BatchScope::Unstated)
    batch += pipeline.batch.scope == BatchScope::Global ? " global" : " per rank";
  if (pipeline.batch.last)
    batch += " last " + pipeline.batch.last->text;
  line(batch);
  Indent batchIndent(*this);
  labelled(pipeline.batch.byLength ? "elements" : "size", pipeline.batch.size);
  if (pipeline.batch.byLength) {
    labelled("length", pipeline.batch.byLength->length);
    labelled("buckets", pipeline.batch.byLength->buckets);
  }
  for (const auto &item : pipeline.batch.items) {
    if (const auto *letItem = std::get_if<LetDecl>(&item))
      let(*letItem);
    else
      output(std::get<OutputDecl>(item));
  }
}

void TreePrinter::file(const File &file) {
  line("file");
  Indent indent(*this);
  line("pipe " + std::to_string(file.version));
  for (const Name &use : file.uses)
    line("use " + use.text);
  for (const ConstDecl &constant : file.consts) {
    line((constant.isPublic ? "pub const " : "const ") + constant.name.text);
    Indent constIndent(*this);
    doc(constant.doc);
    if (constant.type)
      type(*constant.type);
    expr(*constant.value);
  }
  for (const FnDecl &item : file.fns)
    fn(item);
  for (const PipelineDecl &item : file.pipelines)
    pipeline(item);
}

} // namespace

std::string printAst(const File &file) {
  TreePrinter printer;
  printer.file(file);
  return std::move(printer.out);
}

std::string printAst(const Expr &expr) {
  TreePrinter printer;
  printer.expr(expr);
  return std::move(printer.out);
}

} // namespace penstock::dsl
