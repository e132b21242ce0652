// SPDX-License-Identifier: Apache-2.0
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Sema/Checker.h"
#include "dsl/Sema/OtherLibraries.h"

#include <algorithm>

namespace penstock::dsl {
namespace {

/// The reason that a function cannot take some arguments, by their names and number alone.
struct Misfit {
  enum class Kind { None, TooMany, NoSuchName, Twice, Missing } kind = Kind::None;
  const Arg *arg = nullptr;     ///< the first argument that does not fit
  const Param *param = nullptr; ///< the parameter that gets two values or none
};

/// Returns the parameter of type `axes`, which `over [h, w]` in a call sets; null if there is none.
const Param *axesParam(const FnDecl &fn) {
  for (const Param &param : fn.params)
    if (param.type.kind == TypeExpr::Kind::Scalar && param.type.name.text == "axes")
      return &param;
  return nullptr;
}

Misfit misfit(const FnDecl &fn, const ArgList *args, size_t piped) {
  std::vector<bool> given(fn.params.size());
  size_t position = 0, axes = SIZE_MAX; // `over` is for that one, and arguments pass it by
  if (args && args->over) {
    const Param *param = axesParam(fn);
    if (!param)
      return {Misfit::Kind::TooMany};
    axes = static_cast<size_t>(param - fn.params.data());
    given[axes] = true;
  }
  for (; position < piped; ++position) {
    if (position == fn.params.size())
      return {Misfit::Kind::TooMany};
    given[position] = true;
  }
  for (size_t i = 0; args && i < args->args.size(); ++i) {
    const Arg &arg = args->args[i];
    position += position == axes;
    size_t at = position;
    if (arg.name) {
      auto byName = [&](const Param &param) { return param.name.text == arg.name->text; };
      at = static_cast<size_t>(std::find_if(fn.params.begin(), fn.params.end(), byName) -
                               fn.params.begin());
      if (at == fn.params.size())
        return {Misfit::Kind::NoSuchName, &arg};
    } else if (position++ >= fn.params.size()) {
      return {Misfit::Kind::TooMany, &arg};
    }
    if (given[at])
      return {Misfit::Kind::Twice, &arg, &fn.params[at]};
    given[at] = true;
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (!given[i] && !fn.params[i].defaultValue)
      return {Misfit::Kind::Missing, nullptr, &fn.params[i]};
  return {};
}

std::string count(size_t number, const char *what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

/// Returns whether a bare name given for a parameter of this type is certainly a value.
/// Other types (`axis`, choices such as `filter`) take words.
bool takesValues(const TypeExpr &type, const FnDecl &fn) {
  if (type.kind != TypeExpr::Kind::Scalar)
    return true;
  static constexpr std::string_view values[] = {
      "u8",  "i8",  "u16",  "i16",   "i32",      "i64",       "f16",   "bf16",  "f32",
      "f64", "int", "bool", "range", "duration", "frequency", "angle", "ratio", "length"};
  for (const GenericParam &generic : fn.generics)
    if (generic.name.text == type.name.text)
      return true;
  return std::find(std::begin(values), std::end(values), type.name.text) != std::end(values);
}

} // namespace

void Checker::checkCall(const CallExpr &call) {
  if (const auto *name = call.callee->as<NameExpr>())
    return checkCallOf({name->name, name->range}, &call.args, 0);
  if (const auto *field = call.callee->as<FieldExpr>()) {
    if (!checkMethod(*field->base, field->field))
      return;
  } else if (call.callee->as<CallExpr>()) {
    return checkCallOfCall(call.callee->cast<CallExpr>());
  } else {
    diagnostics.error(call.callee->range, "only a function can be called, by its name");
  }
  checkArgs(call.args, {}, 0);
}

// `Resize(224)(x)`, as classes of transforms are used.
void Checker::checkCallOfCall(const CallExpr &call) {
  const auto *name = call.callee->as<NameExpr>();
  const auto *field = call.callee->as<FieldExpr>();
  if (field && !libraryPath(*field->base).empty())
    return void(checkMethod(*field->base, field->field));
  if (name && !isFunction(name->name))
    return unknownFunction({name->name, name->range});
  diagnostics.error(call.range, "a function takes all its arguments at once")
      .hint(name ? quote("x |> " + name->name + "(...)") : "");
}

void Checker::checkCallStage(const CallStage &stage) {
  const ArgList *args = stage.args ? &*stage.args : nullptr;
  if (args && args->over)
    diagnostics.error(args->over->range, "`over` has no place in a stage")
        .hint("a reduction is an expression: `sum(x over [h, w])`");
  if (stage.path.size() == 1)
    return checkCallOf(stage.path.front(), args, 1);
  std::string path = stage.path.front().text;
  if (isOtherLibrary(path)) {
    for (size_t i = 1; i + 1 < stage.path.size(); ++i)
      path += "." + stage.path[i].text;
    return refuseLibrary(path, stage.path.back(),
                         join(stage.path.front().range, stage.path.back().range));
  }
  if (!isElementType(path))
    diagnostics
        .error(stage.path.front().range, quote(stage.path.front().text) + " is not an element type")
        .hint("a stage is the name of a function, or one such as `u8.clamp`");
  if (args)
    checkArgs(*args, {}, 1);
}

/// False where nothing more is to be said of the call.
bool Checker::checkMethod(const Expr &base, const Name &method) {
  const auto *type = base.as<NameExpr>();
  if (type && isElementType(type->name))
    return true;
  if (std::string path = libraryPath(base); !path.empty()) {
    refuseLibrary(path, method, join(base.range, method.range));
    return false;
  }
  check(base);
  diagnostics.error(method.range, "values have no functions of their own")
      .hint(ourMethodFor(base, method.text));
  return true;
}

void Checker::checkCallOf(const Name &function, const ArgList *args, size_t piped) {
  std::vector<const FnDecl *> fns = program.findFns(file, function.text);
  if (!fns.empty() && isCounted())
    sizes.addUse(owner(), function, {fns.begin(), fns.end()});
  bool builtin = builtins.functions.contains(function.text) || isElementType(function.text);
  if (fns.empty() && !builtin)
    unknownFunction(function);
  // A built-in one may take what the declared ones do not.
  if (builtin)
    fns.clear();
  if (args)
    checkArgs(*args, fns, piped, builtins.takeWords.contains(function.text));
  if (fns.empty() || isUnread(function.text))
    return;
  if (args && args->over && !piped &&
      std::none_of(fns.begin(), fns.end(), [](const FnDecl *fn) { return axesParam(*fn); })) {
    diagnostics
        .error(args->over->range, "`over` follows the argument of a reduction, and " +
                                      quote(function.text) + " is a function")
        .note(fns.front()->name.range, "it is declared here")
        .hint("a parameter of type `axes` takes them: `fn " + function.text +
              "(x: f32[], a: axes) -> f32[]`");
    return;
  }
  // Which of several overloads is meant, only types can tell.
  if (currentFn && fns.size() == 1)
    fnCalls[currentFn].push_back({fns.front(), function.range});
  checkArity(function, fns, args, piped);
}

void Checker::checkArgs(const ArgList &args, const std::vector<const FnDecl *> &fns, size_t piped,
                        bool takesWords) {
  const Arg *named = nullptr;
  for (size_t i = 0; i < args.args.size(); ++i) {
    const Arg &arg = args.args[i];
    if (!arg.name && named)
      diagnostics.error(arg.range, "an argument without a name stands before those with one")
          .note(named->range, "this one has a name");
    for (size_t j = 0; arg.name && j < i; ++j)
      if (args.args[j].name && args.args[j].name->text == arg.name->text)
        diagnostics.error(arg.name->range, quote(arg.name->text) + " is given twice")
            .note(args.args[j].name->range, "first here");
    if (arg.name)
      named = &arg;
    // A bare name that is no value may be an axis or a choice: types tell
    // later.
    auto isWord = [&](const Expr &expr) {
      const auto *name = expr.as<NameExpr>();
      if (!name || isValue(name->name) || !mayBeWord(arg, i + piped, fns))
        return false;
      // `let xyz = rename(p, f, xyz)`: the axis, not the value that is made.
      const bool certain = !fns.empty() || (takesWords && (arg.name || i + piped > 0));
      return certain || !later.contains(name->name);
    };
    if (isWord(*arg.value))
      continue;
    if (const auto *list = arg.value->as<ListExpr>()) {
      for (const ExprPtr &item : list->items)
        if (!isWord(*item))
          check(*item);
      continue;
    }
    if (const auto *record = arg.value->as<RecordExpr>(); record && arg.name) {
      checkFields(*record, isWord); // `filter = { mask = nearest }`
      continue;
    }
    check(*arg.value);
  }
  if (args.over)
    checkAxes(*args.over);
}

bool Checker::mayBeWord(const Arg &arg, size_t position,
                        const std::vector<const FnDecl *> &fns) const {
  if (fns.empty())
    return true;
  for (const FnDecl *fn : fns) {
    for (size_t i = 0; i < fn->params.size(); ++i) {
      bool meant = arg.name ? fn->params[i].name.text == arg.name->text : i == position;
      if (meant && !takesValues(fn->params[i].type, *fn))
        return true;
    }
  }
  return false;
}

/// Returns the fault of some arguments if all overloads agree on it.
static std::optional<Misfit> commonMisfit(const std::vector<const FnDecl *> &fns,
                                          const ArgList *args, size_t piped) {
  std::optional<Misfit> common;
  for (const FnDecl *fn : fns) {
    const Misfit why = misfit(*fn, args, piped);
    if (!common) {
      common = why;
      continue;
    }
    const bool sameParam =
        !why.param || !common->param || why.param->name.text == common->param->name.text;
    const bool sameCount =
        why.kind != Misfit::Kind::TooMany || fn->params.size() == fns.front()->params.size();
    if (why.kind != common->kind || why.arg != common->arg || !sameParam || !sameCount)
      return std::nullopt;
  }
  return common;
}

/// Returns a hint for a parameter that none of the functions has.
static std::string parameterHint(const Arg &arg, const std::vector<const FnDecl *> &fns,
                                 size_t piped) {
  const std::string &name = arg.name->text;
  std::vector<std::string_view> names;
  for (const FnDecl *fn : fns)
    for (const Param &param : fn->params)
      names.push_back(param.name.text);
  if ((name == "p" || name == "prob" || name == "probability") && piped && arg.value)
    return quote("if chance(" + printSource(*arg.value) + ")") + " after the stage";
  for (std::string_view ours : ourParameters(name))
    if (std::find(names.begin(), names.end(), ours) != names.end())
      return ours == "stats" ? "`{ mean = [...], std = [...] }` as one argument" : quote(ours);
  if (std::string_view says = parameterAdvice(name); !says.empty())
    return std::string(says);
  const std::string near = nearest(name, names);
  return near.empty() ? "" : quote(near);
}

void Checker::checkArity(const Name &function, const std::vector<const FnDecl *> &fns,
                         const ArgList *args, size_t piped) {
  for (const FnDecl *fn : fns)
    if (misfit(*fn, args, piped).kind == Misfit::Kind::None)
      return;
  const std::string name = quote(function.text);
  auto signatures = [&](Diagnostics::Report report) {
    for (const FnDecl *fn : fns)
      report.note(fn->name.range, quote(printHead(*fn)));
    return report;
  };
  const std::optional<Misfit> common = commonMisfit(fns, args, piped);
  if (!common) {
    const size_t given = args ? args->args.size() : 0;
    signatures(diagnostics.error(function.range,
                                 "no " + name + " takes " + count(given, "argument") +
                                     (piped ? " after the value before `|>`" : " such as these")));
    return;
  }
  const Misfit &why = *common;
  const FnDecl &fn = *fns.front();
  switch (why.kind) {
  case Misfit::Kind::None:
    return;
  case Misfit::Kind::TooMany:
    signatures(diagnostics.error(why.arg ? why.arg->range : function.range,
                                 name + " takes " + count(fn.params.size(), "argument") +
                                     " and gets " +
                                     std::to_string(piped + (args ? args->args.size() : 0)) +
                                     (piped ? ", the value before `|>` included" : "")));
    return;
  case Misfit::Kind::NoSuchName:
    signatures(diagnostics.error(why.arg->name->range,
                                 name + " has no parameter " + quote(why.arg->name->text)))
        .hint(parameterHint(*why.arg, fns, piped));
    return;
  case Misfit::Kind::Twice: {
    bool byPipe = piped && why.param == &fn.params.front();
    if (!byPipe && why.arg->name && args &&
        std::count_if(args->args.begin(), args->args.end(), [&](const Arg &arg) {
          return arg.name && arg.name->text == why.arg->name->text;
        }) > 1)
      return; // said already
    diagnostics
        .error(why.arg->range,
               "parameter " + quote(why.param->name.text) + " of " + name + " gets two values")
        .note(why.param->name.range,
              byPipe ? "the value before `|>` is the first" : "an argument before is for it too");
    return;
  }
  case Misfit::Kind::Missing:
    if (why.param == axesParam(fn) && !piped) {
      diagnostics.error(function.range, name + " needs the axes to reduce")
          .hint(quote(function.text + "(x over [h, w])"));
      return;
    }
    signatures(diagnostics.error(function.range,
                                 name + " lacks its argument " + quote(why.param->name.text)));
    return;
  }
}

} // namespace penstock::dsl
