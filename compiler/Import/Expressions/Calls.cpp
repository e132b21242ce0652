// SPDX-License-Identifier: Apache-2.0
//
// Functions and their instantiation.
#include "compiler/Import/Expressions/Sources.h"
#include "dsl/AST/Printer.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace penstock::importer;

std::optional<Val> Expressions::evalType(const dsl::Expr &expr) {
  const auto *index = expr.as<dsl::IndexExpr>();
  const auto *name = index ? index->base->as<dsl::NameExpr>() : nullptr;
  if (!name || frame().values.contains(name->name))
    return std::nullopt;
  Val type;
  type.kind = Kind::Type;
  type.element = elementNamed(name->name);
  if (!type.element)
    return std::nullopt;
  for (const dsl::AxisSetting &setting : index->settings) {
    type.names.push_back(axisNamed(setting.axis.text));
    type.parts.push_back(setting.value ? evalArg(*setting.value).value : Val());
  }
  return type;
}

/// The words of a list as they are spelled, whatever values have these names; quotes are for those
/// that are no words of the language.
std::optional<Val> Expressions::namesIn(const dsl::Expr &expr) {
  const auto *spelled = expr.as<dsl::ListExpr>();
  if (!spelled)
    return std::nullopt;
  Val list;
  list.kind = Kind::List;
  for (const auto &item : spelled->items) {
    const auto *name = item->as<dsl::NameExpr>();
    const auto *text = item->as<dsl::StringLit>();
    list.parts.push_back(name   ? wordOf(name->name)
                         : text ? wordOf(text->value)
                                : evalArg(*item).value);
  }
  return list;
}

std::vector<Argument> Expressions::evalArgs(const dsl::ArgList *args, const std::string &function,
                                            const Val *input) {
  std::vector<Argument> result;
  for (size_t i = 0; args && i < args->args.size(); ++i) {
    const dsl::Arg &arg = args->args[i];
    const Val *first = input ? input : result.empty() ? nullptr : &result[0].value;
    const bool isNames = function == "decode" && arg.name && arg.name->text == "fields";
    std::optional<Val> special = isNames                ? namesIn(*arg.value)
                                 : function == "decode" ? evalType(*arg.value)
                                 : arg.name && first
                                     ? evalByField(*arg.value, *first, function, arg.name->text)
                                     : std::nullopt;
    Argument value =
        special ? Argument{*special, "", arg.value.get(), arg.value->range} : evalArg(*arg.value);
    if (arg.name)
      value.name = arg.name->text;
    value.range = arg.value->range;
    if (value.value.is(Kind::Poison))
      throw Abort{};
    result.push_back(std::move(value));
  }
  return result;
}

Val Expressions::evalCall(const dsl::CallExpr &call) {
  if (const auto *field = call.callee->as<dsl::FieldExpr>()) { // `u8.clamp(x)`
    const auto *type = field->base->as<dsl::NameExpr>();
    mlir::Type element = type ? elementNamed(type->name) : mlir::Type();
    if (!element)
      fail(call.callee->range, "only a function can be called, by its name");
    return callType(element, field->field.text, evalArgs(&call.args), field->field.range);
  }
  const auto &callee = call.callee->cast<dsl::NameExpr>();
  dsl::Name name{callee.name, callee.range};
  const bool joinsTables = name.text == "concat" && call.args.args.size() == 1;
  if (isSource(name.text) || (joinsTables && !call.args.over))
    return importTable(*this, name, call.args);
  if (name.text == "check")
    return evalCheck(call);
  if (name.text == "concat" && call.args.args.size() == 2)
    if (const auto *each = call.args.args[0].value->as<dsl::EachExpr>())
      if (const auto *axis = call.args.args[1].value->as<dsl::NameExpr>())
        return joinEach(*each, {axisNamed(axis->name), axis->range});
  std::vector<Argument> args = evalArgs(&call.args, name.text);
  if (call.args.over)
    return evalOver(name, std::move(args), *call.args.over, call.range);
  return callNamed(name, std::move(args), call.range);
}

Val Expressions::evalOver(const dsl::Name &name, std::vector<Argument> args,
                          const dsl::AxisList &over, dsl::SourceRange range) {
  const std::vector<dsl::Name> axes = axesNamed(over);
  if (isReduction(name.text) || program.findFns(*frame().file, name.text).empty())
    return reduce(name, args, axes, range);
  Argument list{{}, "over", nullptr, over.range};
  list.value.kind = Kind::List;
  for (const dsl::Name &axis : axes) {
    Val &first = args[0].value;
    if (isBatchAxis(axis.text, first))
      first = boxed(first);
    else if ((first.is(Kind::Tensor) || first.is(Kind::Neighbours)) &&
             !find(axesOf(first), axis.text))
      failAxis(axis.range, quote(name.text), axis.text, args[0].value, args[0].origin());
    list.value.parts.push_back(wordOf(axis.text));
  }
  args.push_back(std::move(list));
  return callNamed(name, std::move(args), range);
}

/// `(u8[h, w], int, a range)`
std::string Expressions::showArgs(const std::vector<Argument> &args) const {
  std::string text;
  for (const Argument &arg : args)
    text +=
        (text.empty() ? "" : ", ") + (arg.name.empty() ? "" : arg.name + " = ") + show(arg.value);
  return "(" + text + ")";
}

std::string Expressions::signature(const dsl::FnDecl &fn) {
  std::string text, elements;
  for (const dsl::Param &param : fn.params)
    text += (text.empty() ? "" : ", ") + param.name.text + ": " + dsl::printType(param.type);
  for (const dsl::GenericParam &generic : fn.generics) {
    std::string list;
    for (const dsl::Name &element : generic.elements)
      list += (list.empty() ? "" : ", ") + element.text;
    elements += (elements.empty() ? "" : ", ") + generic.name.text + ": (" + list + ")";
  }
  return (elements.empty() ? "" : "[" + elements + "]") + "(" + text + ")";
}

/// Returns a hint for a range given to a function that takes none, as in `rotate(-5deg .. 5deg)`;
/// empty if no argument is one.
std::string Expressions::rangeHint(const dsl::Name &name,
                                   const std::vector<const dsl::FnDecl *> &fns,
                                   const std::vector<Argument> &args) {
  auto takesRange = [](const dsl::FnDecl *fn) {
    return llvm::any_of(fn->params, [](const dsl::Param &param) {
      return param.type.kind == dsl::TypeExpr::Kind::Scalar && param.type.name.text == "range";
    });
  };
  const auto arg = llvm::find_if(args, [](const Argument &arg) {
    return arg.expr && arg.expr->as<dsl::RangeExpr>() && arg.value.is(Kind::Range);
  });
  if (arg == args.end() || llvm::any_of(fns, takesRange))
    return "";
  const std::string drawing = "random_" + name.text;
  if (llvm::any_of(program.findFns(*frame().file, drawing), takesRange))
    return quote(drawing) + " draws from a range";
  const dsl::RangeExpr &range = arg->expr->cast<dsl::RangeExpr>();
  const bool isOfInts =
      arg->value.parts[0].is(Kind::Number) && arg->value.parts[0].ir.getType().isIntOrIndex();
  return quote((isOfInts ? "draw int(" : "draw uniform(") + dsl::printSource(*range.low) +
               (range.closed ? " ..= " : " .. ") + dsl::printSource(*range.high) + ")") +
         " is a number of that range";
}

Val Expressions::callNamed(const dsl::Name &name, std::vector<Argument> args,
                           dsl::SourceRange range) {
  if (mlir::Type type = elementNamed(name.text))
    return callType(type, "", args, range);
  std::vector<const dsl::FnDecl *> fns = program.findFns(*frame().file, name.text);
  auto matching = [&](const dsl::FnDecl &fn, Misfit &why, bool literals) {
    llvm::SaveAndRestore converting(literalsConvert, literals);
    return match(fn, args, why);
  };
  Misfit best;
  best.score = -1;
  for (const dsl::FnDecl *fn : fns) {
    Misfit why;
    if (std::optional<Frame> callee = matching(*fn, why, false))
      return callMatched(name, fns, *fn, std::move(*callee), args);
    if (why.score > best.score)
      best = std::move(why);
  }
  if (name.text == "pick" && draws.searching)
    fail(name.range, "`pick` inside a `search`: all rows of a sample are fetched before it begins",
         "pick rows before the search, as many as it may need: `let a = pick(table, i)`");
  if (isIntrinsic(name.text))
    return callIntrinsic(name, args, range);
  // Overloads that take numbers as they are written came first.
  if (llvm::any_of(args, [](const Argument &arg) {
        return arg.value.is(Kind::Tensor) && arg.value.untyped;
      }))
    for (const dsl::FnDecl *fn : fns) {
      Misfit why;
      if (std::optional<Frame> callee = matching(*fn, why, true))
        return callMatched(name, fns, *fn, std::move(*callee), args);
    }
  if (!args.empty() && args[0].value.is(Kind::Record)) {
    FieldDraws drawn;
    if (std::optional<Val> result = callByField(name, fns, args, drawn))
      return *result;
  }
  if (fns.empty())
    fail(name.range, "unknown function " + quote(name.text));
  if (fns.size() == 1 || best.score >= 100) {
    auto report = error(best.range.valid() ? best.range : name.range, best.message);
    for (auto &[where, text] : best.notes)
      report.note(where, text);
    const std::string ofRange = rangeHint(name, fns, args);
    report.hint(ofRange.empty() ? best.hint : ofRange);
    throw Abort{};
  }
  auto report = error(name.range, "no " + quote(name.text) + " takes " + showArgs(args));
  for (const dsl::FnDecl *fn : fns)
    report.note(fn->name.range, "this one takes " + signature(*fn));
  const auto quantity = llvm::find_if(args, [](const Argument &arg) { return arg.value.unit; });
  report.hint(quantity != args.end() ? asNumber(*quantity->value.unit)
              : !args.empty() && args[0].value.is(Kind::Bytes)
                  ? "`decode(rgb)` makes pixels of an encoded image"
                  : rangeHint(name, fns, args));
  throw Abort{};
}

Val Expressions::callFn(const dsl::FnDecl &fn, Frame callee, dsl::SourceRange range) {
  constexpr size_t deepest = 200; // calls within calls
  if (calls.size() >= deepest) {
    for (const CallSite &call : calls)
      if (call.fn == &fn)
        fail(range, quote(fn.name.text) + " calls itself without end");
    fail(calls.front().range,
         "this calls functions within functions, more than " + std::to_string(deepest) + " deep");
  }
  const bool isPrelude = callee.file && callee.file->moduleName == dsl::preludeName;
  const int64_t drawsBefore = draws.count;
  const std::vector<std::string> renamed = renameRiding(fn, callee);
  Val result = renamedBack(callBody(fn, std::move(callee), range), renamed, fn, range);
  if (isPrelude && draws.count != drawsBefore)
    draws.show(result, fn.name.text);
  return result;
}

Val Expressions::callBody(const dsl::FnDecl &fn, Frame callee, dsl::SourceRange range) {
  enterCall(range, fn);
  frames.push_back(std::move(callee));
  calls.back().frame = frames.size() - 1;
  struct Pop {
    Expressions &importer;
    mlir::Location saved;
    ~Pop() {
      importer.frames.pop_back();
      importer.calls.pop_back();
      importer.here = saved;
    }
  } pop{*this, here};
  for (const StatedExtent &stated : std::vector(frames.back().stated))
    demandStatedExtent(*stated.axis, stated.given, stated.range);
  Val result = evalBlock(fn.body);
  if (result.is(Kind::Poison))
    throw Abort{};
  return conform(result, fn.result, fn.body.result->range, "the result of " + quote(fn.name.text));
}
