#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Sema/Checker.h"

#include <algorithm>
#include <functional>

namespace penstock::dsl {
namespace {

std::string quote(std::string_view text) {
  return "`" + std::string(text) + "`";
}

/// The types of the parameters, as a key: overloads differ in it.
std::string signature(const FnDecl &fn) {
  std::string out;
  for (const GenericParam &generic : fn.generics)
    for (const Name &element : generic.elements)
      out += generic.name.text + element.text + ",";
  for (const Param &param : fn.params)
    out += printType(param.type) + ";";
  return out;
}

} // namespace

Checker::Checker(const Program &program, const File &file,
                 const Builtins &builtins, Diagnostics &diagnostics)
    : program(program), file(file), builtins(builtins),
      diagnostics(diagnostics) {}

void Checker::run() {
  if (file.version != 1)
    diagnostics.error(file.versionRange,
                      "this file is written for `pipe " +
                          std::to_string(file.version) +
                          "`, and this compiler knows `pipe 1`");
  checkUses();
  checkDuplicates();
  for (const ConstDecl &constant : file.consts) {
    ScopeGuard scope(*this);
    currentConst = &constant;
    if (constant.type)
      checkType(*constant.type);
    check(constant.value);
    currentConst = nullptr;
  }
  checkConstCycles();
  for (const FnDecl &fn : file.fns) {
    currentFn = &fn;
    checkFn(fn);
    currentFn = nullptr;
  }
  checkRecursion();
  for (const PipelineDecl &pipeline : file.pipelines)
    checkPipeline(pipeline);
}

void Checker::checkUses() {
  for (size_t i = 0; i < file.uses.size(); ++i) {
    const Name &use = file.uses[i];
    for (size_t j = 0; j < i; ++j) {
      const Name &other = file.uses[j];
      if (use.text == other.text) {
        diagnostics.warning(use.range, quote(use.text) + " is already in use")
            .note(other.range, "since here");
        break;
      }
      auto first = program.modules.find(other.text),
           second = program.modules.find(use.text);
      if (first == program.modules.end() || second == program.modules.end())
        continue;
      for (const ConstDecl &a : first->second->consts)
        for (const ConstDecl &b : second->second->consts)
          if (a.name.text == b.name.text)
            diagnostics
                .error(use.range, "modules " + quote(other.text) + " and " +
                                      quote(use.text) +
                                      " both have a constant " +
                                      quote(a.name.text))
                .note(a.name.range, "one")
                .note(b.name.range, "the other");
    }
  }
  if (!file.moduleName.empty())
    for (const PipelineDecl &pipeline : file.pipelines)
      diagnostics.error(pipeline.name.range,
                        "a module holds functions and constants, no pipeline");
}

void Checker::checkDuplicates() {
  auto twice = [&](const Name &name, const Name &first, const char *what) {
    diagnostics
        .error(name.range, std::string(what) + " " + quote(name.text) +
                               " is declared twice")
        .note(first.range, "first here");
  };
  for (size_t i = 0; i < file.consts.size(); ++i) {
    const Name &name = file.consts[i].name;
    if (isElementType(name.text))
      diagnostics
          .error(name.range,
                 quote(name.text) + " is an element type and cannot be a name")
          .hint("another name");
    for (size_t j = 0; j < i; ++j)
      if (file.consts[j].name.text == name.text)
        twice(name, file.consts[j].name, "constant");
  }
  for (size_t i = 0; i < file.fns.size(); ++i) {
    const Name &name = file.fns[i].name;
    if (isElementType(name.text))
      diagnostics
          .error(name.range,
                 quote(name.text) + " is an element type and cannot be a name")
          .hint("another name");
    for (size_t j = 0; j < i; ++j)
      if (file.fns[j].name.text == name.text &&
          signature(file.fns[i]) == signature(file.fns[j])) {
        diagnostics
            .error(name.range,
                   "function " + quote(name.text) +
                       " is declared twice with the same parameter types")
            .note(file.fns[j].name.range, "first here");
        break;
      }
  }
  for (size_t i = 0; i < file.pipelines.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (file.pipelines[i].name.text == file.pipelines[j].name.text)
        twice(file.pipelines[i].name, file.pipelines[j].name, "pipeline");
}

void Checker::checkConstCycles() {
  // Depth first; a constant met again on the way to itself closes a circle.
  std::map<std::string, int, std::less<>> state; // 1 on the way, 2 done
  std::function<void(const std::string &)> visit =
      [&](const std::string &name) {
        state[name] = 1;
        for (const NameExpr *use : constUses[name]) {
          if (!constUses.contains(use->name))
            continue;
          if (state[use->name] == 1)
            diagnostics.error(use->range, "the value of constant " +
                                              quote(use->name) +
                                              " depends on itself");
          else if (state[use->name] == 0)
            visit(use->name);
        }
        state[name] = 2;
      };
  for (const ConstDecl &constant : file.consts)
    if (constUses.contains(constant.name.text) &&
        state[constant.name.text] == 0)
      visit(constant.name.text);
}

void Checker::checkRecursion() {
  std::map<const FnDecl *, int> state; // 1 on the way, 2 done
  std::function<void(const FnDecl *)> visit = [&](const FnDecl *fn) {
    state[fn] = 1;
    for (const FnCall &call : fnCalls[fn]) {
      if (state[call.callee] == 1)
        diagnostics
            .error(call.range,
                   call.callee == fn
                       ? "function " + quote(fn->name.text) + " calls itself"
                       : "functions " + quote(fn->name.text) + " and " +
                             quote(call.callee->name.text) + " call each other")
            .note(call.callee->name.range, "it is declared here")
            .hint("`repeat` and `search` go round a bounded number of times");
      else if (state[call.callee] == 0)
        visit(call.callee);
    }
    state[fn] = 2;
  };
  for (const FnDecl &fn : file.fns)
    if (state[&fn] == 0)
      visit(&fn);
}

void Checker::declareParams(const std::vector<Param> &params) {
  for (const Param &param : params) {
    check(param.defaultValue); // sees the parameters before it
    declare(param.name, "parameter");
  }
  for (const Param &param : params)
    declareExtents(param.type, params);
  for (const Param &param : params)
    checkType(param.type);
}

void Checker::declareExtents(const TypeExpr &type,
                             const std::vector<Param> &params) {
  for (const FieldType &field : type.fields)
    declareExtents(field.type, params);
  for (const AxisType &axis : type.axes) {
    const Entry *known = findLocal(axis.name.text);
    if (known && known->what == "extent")
      continue; // the same axis of another parameter: the same extent
    auto isAxisParam = [&](const Param &param) {
      return param.name.text == axis.name.text &&
             param.type.name.text == "axis";
    };
    if (std::any_of(params.begin(), params.end(), isAxisParam))
      continue; // the axis is whatever the caller names
    if (known) {
      diagnostics
          .error(known->range,
                 quote(axis.name.text) +
                     " is the extent of an axis and cannot be a parameter too")
          .note(axis.range, "the axis is named here")
          .hint("another name for the parameter");
      continue;
    }
    if (isElementType(axis.name.text))
      diagnostics.error(axis.name.range,
                        quote(axis.name.text) + " is a type, not an axis");
    else
      scopes.back().emplace(axis.name.text, Entry{"extent", axis.name.range});
  }
}

void Checker::checkFn(const FnDecl &fn) {
  ScopeGuard scope(*this);
  later.clear();
  incomplete = false;
  generics.clear();
  for (const GenericParam &generic : fn.generics) {
    for (const Name &element : generic.elements)
      if (!isElementType(element.text) || generics.contains(element.text))
        diagnostics.error(element.range,
                          quote(element.text) + " is not an element type");
    if (isElementType(generic.name.text) ||
        builtins.types.contains(generic.name.text))
      diagnostics
          .error(generic.name.range,
                 quote(generic.name.text) + " is already a type")
          .hint("another name");
    generics.insert(generic.name.text);
  }
  declareParams(fn.params);
  checkType(fn.result);
  checkBlock(fn.body);
  generics.clear();
}

void Checker::noteLater(const std::vector<LetDecl> &lets) {
  for (const LetDecl &let : lets)
    if (!let.name.text.empty() && !findLocal(let.name.text))
      later.emplace(let.name.text, let.name.range);
}

void Checker::checkPipeline(const PipelineDecl &pipeline) {
  ScopeGuard scope(*this);
  later.clear();
  incomplete = false;
  inPipeline = true;
  declareParams(pipeline.params);
  noteLater(pipeline.tableLets);
  noteLater(pipeline.sampleLets);
  for (const auto &item : pipeline.batch.items)
    if (const auto *let = std::get_if<LetDecl>(&item);
        let && !let->name.text.empty())
      later.emplace(let->name.text, let->name.range);
  if (!pipeline.row.text.empty())
    later.emplace(pipeline.row.text, pipeline.row.range);

  checkOptions(pipeline.options);
  for (const LetDecl &let : pipeline.tableLets)
    checkLet(let);
  check(pipeline.source);
  declare(pipeline.row, "row");
  check(pipeline.where);
  if (pipeline.order)
    checkOrder(*pipeline.order);
  for (const LetDecl &let : pipeline.sampleLets)
    checkLet(let);
  checkBatch(pipeline.batch);
  inPipeline = false;
}

void Checker::checkOptions(const std::vector<OptionSetting> &options) {
  static constexpr std::string_view known[] = {"seed", "on_error", "numerics",
                                               "index"};
  for (size_t i = 0; i < options.size(); ++i) {
    const OptionSetting &option = options[i];
    for (size_t j = 0; j < i; ++j)
      if (options[j].name.text == option.name.text)
        diagnostics
            .error(option.name.range,
                   "option " + quote(option.name.text) + " is given twice")
            .note(options[j].name.range, "first here");
    const auto *word = option.value->as<NameExpr>();
    const auto *call = option.value->as<CallExpr>();
    if (option.name.text == "on_error") {
      const auto *callee = call ? call->callee->as<NameExpr>() : nullptr;
      bool substitute = callee && callee->name == "substitute" &&
                        call->args.args.size() == 1 &&
                        !call->args.args.front().name;
      if (substitute)
        checkArgs(call->args, {}, 0);
      else if (!word || word->name != "fail")
        diagnostics.error(option.value->range,
                          "`on_error` is `substitute(5%)` or `fail`");
    } else if (option.name.text == "numerics") {
      if (word && word->name == "fast")
        diagnostics
            .error(word->range,
                   "`fast` is reserved for a licence to approximate, and has "
                   "no meaning yet")
            .hint("`pillow` or `exact`");
      else if (!word || (word->name != "pillow" && word->name != "exact"))
        diagnostics.error(option.value->range,
                          "`numerics` is `pillow` or `exact`");
    } else if (option.name.text == "seed") {
      check(*option.value);
    } else if (option.name.text == "index") {
      if (!word || (word->name != "auto" && word->name != "off"))
        check(*option.value);
    } else {
      std::string near = nearest(option.name.text, known);
      diagnostics
          .error(option.name.range,
                 "there is no pipeline option " + quote(option.name.text))
          .hint(
              near.empty()
                  ? "the options are `seed`, `on_error`, `numerics` and `index`"
                  : quote(near));
    }
  }
}

void Checker::checkOrder(const Expr &order) {
  static constexpr std::string_view words[] = {"sequential", "shuffled",
                                               "weighted"};
  if (const auto *word = order.as<NameExpr>()) {
    if (isValue(word->name) || word->name == words[0] || word->name == words[1])
      return;
    if (word->name == words[2]) {
      diagnostics.error(word->range, "`weighted` takes the weight of a row")
          .hint("`weighted(row.weight)`");
      return;
    }
    std::string near = nearest(word->name, words);
    diagnostics.error(word->range, "unknown order " + quote(word->name))
        .hint(
            near.empty()
                ? "`sequential`, `shuffled`, `weighted(...)` or a list of rows"
                : quote(near));
    return;
  }
  const auto *call = order.as<CallExpr>();
  const auto *callee = call ? call->callee->as<NameExpr>() : nullptr;
  if (callee && callee->name == words[2])
    return checkArgs(call->args, {}, 0);
  check(order);
}

void Checker::checkBatch(const BatchDecl &batch) {
  check(batch.size);
  if (batch.last && batch.last->text != "drop" && batch.last->text != "keep")
    diagnostics
        .error(batch.last->range,
               "`last` is `drop` or `keep`, not " + quote(batch.last->text))
        .hint("`drop` leaves out a last batch that is not full");
  ScopeGuard scope(*this);
  if (const Entry *taken = findLocal("n"))
    diagnostics
        .error(taken->range,
               "`n` is the batch axis and cannot be the name of a " +
                   std::string(taken->what) + " too")
        .note(batch.keyword, "it exists in this block")
        .hint("another name");
  else
    scopes.back().emplace("n", Entry{"batch axis", batch.keyword});
  inBatch = true;
  std::vector<const OutputDecl *> outputs;
  for (const auto &item : batch.items) {
    if (const auto *let = std::get_if<LetDecl>(&item)) {
      checkLet(*let);
      continue;
    }
    const OutputDecl &output = std::get<OutputDecl>(item);
    for (const OutputDecl *other : outputs)
      if (other->name.text == output.name.text)
        diagnostics
            .error(output.name.range,
                   "output " + quote(output.name.text) + " is declared twice")
            .note(other->name.range, "first here");
    outputs.push_back(&output);
    checkOutput(output);
  }
  if (outputs.empty() && !diagnostics.hasErrors())
    diagnostics.error(batch.keyword, "this batch has no `output`");
  inBatch = false;
}

void Checker::checkOutput(const OutputDecl &output) {
  if (!output.value)
    return; // a syntax error, said already
  checkType(output.type);
  check(output.pad);
  check(output.value);
  if (output.pad && output.ragged)
    diagnostics.error(*output.ragged, "an output is padded or ragged, not both")
        .note(output.pad->range, "its padding");
  if (!output.stored)
    return;
  checkAxes(*output.stored);
  auto has = [](const auto &list, std::string_view name, auto get) {
    return std::any_of(list.begin(), list.end(),
                       [&](auto &item) { return get(item) == name; });
  };
  for (const Name &axis : output.stored->axes)
    if (!has(output.type.axes, axis.text, [](auto &a) { return a.name.text; }))
      diagnostics
          .error(axis.range, "`stored` names axis " + quote(axis.text) +
                                 ", which the output does not have")
          .note(output.type.range, "the output is " + printType(output.type));
  for (const AxisType &axis : output.type.axes)
    if (!has(output.stored->axes, axis.name.text,
             [](auto &a) { return a.text; }))
      diagnostics
          .error(output.stored->range,
                 "`stored` leaves out axis " + quote(axis.name.text))
          .note(axis.range, "the output has it");
}

void Checker::checkType(const TypeExpr &type) {
  for (size_t i = 0; i < type.fields.size(); ++i) {
    checkType(type.fields[i].type);
    for (size_t j = 0; j < i; ++j)
      if (type.fields[i].name.text == type.fields[j].name.text)
        diagnostics
            .error(type.fields[i].name.range,
                   "field " + quote(type.fields[i].name.text) +
                       " is declared twice")
            .note(type.fields[j].name.range, "first here");
  }
  for (size_t i = 0; i < type.axes.size(); ++i) {
    const AxisType &axis = type.axes[i];
    check(axis.extent);
    for (size_t j = 0; j < i; ++j)
      if (axis.name.text == type.axes[j].name.text)
        diagnostics
            .error(axis.name.range,
                   "axis " + quote(axis.name.text) + " is named twice")
            .note(type.axes[j].name.range, "first here");
  }
  if (type.kind == TypeExpr::Kind::Record)
    return;
  const std::string &name = type.name.text;
  bool tensor = type.kind == TypeExpr::Kind::Tensor;
  if (tensor ? isElementType(name) : isKnownType(name))
    return;
  static constexpr std::string_view elements[] = {"u8",   "i8",  "u16", "i16",
                                                  "i32",  "i64", "f16", "f32",
                                                  "bf16", "f64", "bool"};
  std::vector<std::string_view> known(std::begin(elements), std::end(elements));
  if (!tensor)
    known.insert(known.end(), builtins.types.begin(), builtins.types.end());
  std::string near = nearest(name, known);
  std::string_view other = name == "float"                     ? "f32"
                           : name == "double"                  ? "f64"
                           : name == "uint8"                   ? "u8"
                           : name == "str" || name == "string" ? "text"
                                                               : "";
  diagnostics
      .error(type.name.range, tensor ? quote(name) + " is not an element type"
                                     : "unknown type " + quote(name))
      .hint(!other.empty()  ? quote(other)
            : !near.empty() ? quote(near)
            : tensor        ? "u8 i8 u16 i16 i32 i64 f16 bf16 f32 f64 bool"
                            : "");
}

void Checker::checkLet(const LetDecl &let) {
  if (let.type)
    checkType(*let.type);
  check(let.value);
  declare(let.name, "value");
}

void Checker::checkBlock(const Block &block) {
  ScopeGuard scope(*this);
  noteLater(block.lets);
  for (const LetDecl &let : block.lets)
    checkLet(let);
  check(block.result);
}

} // namespace penstock::dsl
