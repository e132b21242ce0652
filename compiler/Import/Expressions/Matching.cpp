// SPDX-License-Identifier: Apache-2.0
//
// Matching of a function's parameters and arguments.
#include "compiler/Import/Expressions/Expressions.h"
#include "dsl/AST/Numbers.h"
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"

using namespace penstock::importer;
using penstock::dsl::TypeExpr;

static const penstock::dsl::GenericParam *genericOf(const penstock::dsl::FnDecl &fn,
                                                    const std::string &name) {
  for (const auto &generic : fn.generics)
    if (generic.name.text == name)
      return &generic;
  return nullptr;
}

/// A number, or a draw or a choice of numbers, with a unit at each; empty for other
/// expressions.
static std::string withUnit(const penstock::dsl::Expr &expr, const std::string &unit) {
  using namespace penstock::dsl;
  switch (expr.kind) {
  case ExprKind::Int:
  case ExprKind::Float: {
    std::string text = printSource(expr);
    if (text.ends_with(".0"))
      text.resize(text.size() - 2);
    return text + unit;
  }
  case ExprKind::Unary: {
    const std::string inner = withUnit(*expr.cast<UnaryExpr>().operand, unit);
    return inner.empty() ? "" : "-" + inner;
  }
  case ExprKind::Range: {
    const auto &range = expr.cast<RangeExpr>();
    const std::string low = withUnit(*range.low, unit), high = withUnit(*range.high, unit);
    return low.empty() || high.empty() ? "" : low + (range.closed ? " ..= " : " .. ") + high;
  }
  case ExprKind::Draw: {
    const auto &draw = expr.cast<DrawExpr>();
    if (!draw.args || draw.args->args.size() != 1 || draw.per)
      return "";
    const std::string inner = withUnit(*draw.args->args[0].value, unit);
    return inner.empty() ? "" : "draw " + draw.distribution.text + "(" + inner + ")";
  }
  default:
    return "";
  }
}

bool Expressions::bindElement(const dsl::FnDecl &fn, const std::string &name, mlir::Type type,
                              Frame &callee) {
  const dsl::GenericParam *generic = genericOf(fn, name);
  if (!generic) {
    mlir::Type wanted = name == "int" ? base.getI64Type() : pipe::scalarType(&context, name);
    return wanted == type;
  }
  if (auto bound = callee.generics.find(name); bound != callee.generics.end())
    return bound->second == type;
  for (const dsl::Name &element : generic->elements)
    if (element.text == "int" ? type.isSignlessInteger(64)
                              : pipe::scalarType(&context, element.text) == type) {
      callee.generics[name] = type;
      return true;
    }
  return false;
}

std::optional<Frame> Expressions::match(const dsl::FnDecl &fn, const std::vector<Argument> &args,
                                        Misfit &why) {
  std::vector<const Argument *> given(fn.params.size());
  // `over [h, w]` in the call, whose name no parameter can have, is for the one of type
  // `axes`; arguments without a name pass that one by.
  auto takesAxes = [](const dsl::Param &param) { return param.type.name.text == "axes"; };
  const bool over = llvm::any_of(args, [](const Argument &arg) { return arg.name == "over"; });
  size_t position = 0;
  for (const Argument &arg : args) {
    if (over && position < fn.params.size() && takesAxes(fn.params[position]))
      ++position;
    size_t at = position;
    if (!arg.name.empty()) {
      at = 0;
      auto meant = [&](const dsl::Param &param) {
        return arg.name == "over" ? takesAxes(param) : param.name.text == arg.name;
      };
      while (at < fn.params.size() && !meant(fn.params[at]))
        ++at;
    } else {
      ++position;
    }
    if (at >= fn.params.size() || given[at]) {
      why.range = arg.range;
      why.message = quote(fn.name.text) + " takes " + std::to_string(fn.params.size()) +
                    (fn.params.size() == 1 ? " argument and gets " : " arguments and gets ") +
                    std::to_string(args.size());
      why.notes.push_back({fn.name.range, "it is declared here"});
      return std::nullopt;
    }
    given[at] = &arg;
  }
  Frame callee;
  callee.file = program.fileOf(fn.range);
  callee.function = fn.name.text;
  auto rank = [&](size_t i) { // axes first, then what binds element types, then the rest
    const dsl::Param &param = fn.params[i];
    if (param.type.kind == TypeExpr::Kind::Scalar && param.type.name.text == "axis")
      return 0;
    if (!given[i])
      return 3;
    const bool untyped = given[i]->value.is(Kind::Number) && given[i]->value.untyped;
    return untyped && genericOf(fn, param.type.name.text) ? 2 : 1;
  };
  axisArgRange.reset();
  for (size_t i = 0; i < fn.params.size(); ++i)
    if (given[i] && fn.params[i].type.name.text == "axis")
      axisArgRange = given[i]->range;
  for (int round = 0; round < 4; ++round)
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const dsl::Param &param = fn.params[i];
      const bool isAxis = rank(i) == 0;
      if (rank(i) != round && !(isAxis && !given[i] && round == 0))
        continue;
      Argument fallback;
      const Argument *arg = given[i];
      if (!arg) {
        if (!param.defaultValue) {
          why.message = quote(fn.name.text) + " lacks its argument " + quote(param.name.text);
          why.notes.push_back({param.range, "it has no default"});
          return std::nullopt;
        }
        fallback = inFrame(callee, [&] { return evalArg(*param.defaultValue); });
        arg = &fallback;
      }
      Val bound;
      if (!matchParam(fn, param.type, *arg, arg->value, callee, bound, why, param.name.text))
        return std::nullopt;
      if (!isAxis) {
        callee.values[param.name.text] = bound;
        callee.definitions[param.name.text] = param.name.range;
        if (given[i])
          callee.given[param.name.text] = {given[i]->expr, given[i]->range};
      } else {
        callee.axes[param.name.text] = bound.word;
      }
      why.score += 1;
    }
  return hasStatedExtents(fn, callee, why) ? std::optional<Frame>(std::move(callee)) : std::nullopt;
}

bool Expressions::hasStatedExtents(const dsl::FnDecl &fn, Frame &callee, Misfit &why) {
  std::vector<StatedExtent> all = std::move(callee.stated);
  callee.stated.clear();
  for (StatedExtent &stated : all) {
    const dsl::AxisType &axis = *stated.axis;
    mlir::Value wanted = inFrame(callee, [&] { return statedExtent(axis); });
    const auto most = constantInt(wanted), has = constantInt(room(stated.given));
    const bool isExact = axis.extentKind == dsl::ExtentKind::Exact;
    if (most && has && (isExact ? *most != *has : *has > *most)) {
      why.range = stated.range;
      why.message = quote(fn.name.text) + " takes " + std::to_string(*most) +
                    (isExact ? "" : " or fewer") + " elements along axis " +
                    quote(stated.given.axis.name) + ", and there are " + std::to_string(*has);
      why.notes.push_back({axis.range, "it is declared here"});
      return false;
    }
    if (!most || !has)
      callee.stated.push_back(stated);
  }
  return true;
}

mlir::Value Expressions::statedExtent(const dsl::AxisType &axis) {
  return demandIndex(eval(*axis.extent), axis.extent->range, "an extent");
}

bool Expressions::demandStatedExtent(const dsl::AxisType &axis, const Dim &has,
                                     dsl::SourceRange range) {
  mlir::Value wanted = statedExtent(axis);
  PlaceGuard guard(*this, range);
  const bool isExact = axis.extentKind == dsl::ExtentKind::Exact;
  if (isExact && countedBy(has))
    return sameExtent(has, dim(has.axis.name, wanted, has.axis.metadata, axis.range));
  const auto stated = constantInt(wanted);
  const mlir::Value count = room(has);
  if (isSame(count, wanted) ||
      (!isExact && stated && has.axis.bound >= 0 && has.axis.bound <= *stated))
    return true;
  if (const auto known = constantInt(count); known && stated)
    return isExact ? *known == *stated : *known <= *stated;
  check(compare(isExact ? pipe::Predicate::eq : pipe::Predicate::le, count, wanted),
        "axis `" + has.axis.name + "` has {0} elements, and its type says {1}" +
            (isExact ? "" : " or fewer"),
        count, wanted);
  return true;
}

/// How a quantity becomes a number.
std::string Expressions::asNumber(dsl::UnitKind unit) {
  switch (unit) {
  case dsl::UnitKind::Angle:
    return "`by / 1deg` are an angle's degrees, and `by / 1rad` its radians";
  case dsl::UnitKind::Duration:
    return "`x / 1s` are a duration's seconds";
  case dsl::UnitKind::Frequency:
    return "`x / 1Hz` is a frequency as a number";
  case dsl::UnitKind::Length:
    return "`x / 1mm` are a length's millimetres";
  default:
    return "";
  }
}

bool Expressions::matchParam(const dsl::FnDecl &fn, const TypeExpr &type, const Argument &arg,
                             Val value, Frame &callee, Val &bound, Misfit &why,
                             const std::string &name) {
  const auto given = callee.generics.find(type.name.text);
  auto refuse = [&](std::string hint = {}) {
    const bool isInteger = value.untyped && llvm::isa_and_present<mlir::IntegerType>(
                                                pipe::scalarType(&context, type.name.text));
    const bool isBound = type.kind == TypeExpr::Kind::Scalar && given != callee.generics.end();
    why.range = arg.range;
    why.message = quote(fn.name.text) + " takes " + quote(name) + " as " +
                  (isBound ? show(given->second) : dsl::printType(type)) + ", and this is " +
                  (isBound || isInteger ? showNumber(value) : show(value));
    why.notes.push_back({type.range, "it is declared here"});
    why.hint = std::move(hint);
    return false;
  };
  if (type.kind == TypeExpr::Kind::Record) {
    if (!value.is(Kind::Record))
      return refuse();
    bound = value;
    for (const dsl::FieldType &field : type.fields) {
      size_t at = 0;
      while (at < value.names.size() && value.names[at] != field.name.text)
        ++at;
      if (at == value.names.size())
        return refuse();
      if (!matchParam(fn, field.type, arg, value.parts[at], callee, bound.parts[at], why,
                      name + "." + field.name.text))
        return false;
    }
    return true;
  }
  if (type.kind == TypeExpr::Kind::Tensor) {
    if (!matchTensor(fn, type, arg, value, callee, why, name))
      return false;
    bound = value;
    return true;
  }
  const std::string &wanted = type.name.text;
  bound = value;
  const bool generic = genericOf(fn, wanted) != nullptr;
  mlir::Type element = generic           ? mlir::Type()
                       : wanted == "int" ? base.getI64Type()
                                         : pipe::scalarType(&context, wanted);
  if (generic || element) {
    if (value.is(Kind::Tensor) && !regions.empty() &&
        llvm::all_of(dims(value.ir), [&](const Dim &d) {
          return find(regions.back()->domain, d.axis.name) != nullptr;
        }))
      bound = value = number(elementHere(value.ir, arg.range));
    convertLiterals(value, wanted);
    bound = value;
    if (value.is(Kind::Tensor) && value.tensorType().getRank() == 0)
      return bindElement(fn, wanted, elementType(value), callee) || refuse();
    if (!value.is(Kind::Number))
      return refuse();
    if (value.unit)
      return refuse(asNumber(*value.unit));
    if (generic) {
      auto known = callee.generics.find(wanted);
      if (known != callee.generics.end())
        element = known->second;
      else
        return bindElement(fn, wanted, value.ir.getType(), callee) || refuse();
    }
    if (isInfiniteAs(value, show(element))) {
      why.range = arg.range;
      why.message = quote(fn.name.text) + " takes " + quote(name) + " as " + show(element) +
                    ", and this number does not fit " + dsl::describeEnd(show(element));
      why.notes.push_back({type.range, "it is declared here"});
      return false;
    }
    std::optional<Val> converted = convert(value, element);
    if (!converted)
      return refuse(constantInt(value.ir)
                        ? ""
                        : quote((wanted == "int" ? wanted : show(element)) + "(...)") +
                              " converts");
    bound = *converted;
    return true;
  }
  if (wanted == "axis") {
    if (const auto *spelled = arg.expr ? arg.expr->as<dsl::NameExpr>() : nullptr) {
      bound = Val();
      bound.kind = Kind::Word;
      bound.word = axisNamed(spelled->name);
      return true;
    }
    return value.is(Kind::Word) || refuse("the name of an axis");
  }
  if (wanted == "axes" && arg.expr)
    if (const auto *list = arg.expr->as<dsl::ListExpr>()) { // names, also those of values
      bound = Val();
      bound.kind = Kind::List;
      std::vector<dsl::Name> named;
      for (const dsl::ExprPtr &item : list->items) {
        const auto *axis = item->as<dsl::NameExpr>();
        if (!axis)
          return refuse("`[h, w]`");
        named.push_back({axisNamed(axis->name), item->range});
        bound.parts.push_back(wordOf(named.back().text));
      }
      demandDistinct(named);
      return true;
    }
  struct Quantity {
    const char *type;
    std::optional<dsl::UnitKind> unit;
    const char *hint;
    const char *own; ///< given to a number without one
  };
  static constexpr Quantity quantities[] = {
      {"duration", dsl::UnitKind::Duration, "`25ms`", "ms"},
      {"frequency", dsl::UnitKind::Frequency, "`16kHz`", "Hz"},
      {"angle", dsl::UnitKind::Angle, "`3deg`", "deg"},
      {"length", dsl::UnitKind::Length, "`1.5m`", "m"},
      {"ratio", std::nullopt, "`1%`", nullptr}};
  for (const Quantity &quantity : quantities)
    if (wanted == quantity.type) {
      std::optional<Val> converted =
          value.is(Kind::Number) ? convert(value, base.getF64Type()) : std::nullopt;
      if (!converted && value.is(Kind::Number) && value.unit && value.unit == quantity.unit) {
        why.range = arg.range;
        why.message =
            "quantities such as an angle are f64, and this is " + show(value.ir.getType());
        why.notes.push_back({type.range, quote(fn.name.text) + " takes " + quote(name) + " as " +
                                             dsl::printType(type)});
        why.hint = "`f64(...)` converts";
        return false;
      }
      if (!converted || value.unit != quantity.unit) {
        std::string own =
            arg.expr && quantity.own && !value.unit ? withUnit(*arg.expr, quantity.own) : "";
        if (!own.empty())
          own = quote(own) + (quantity.unit == dsl::UnitKind::Length
                                  ? ", or " + quote(withUnit(*arg.expr, "mm"))
                                  : "");
        return refuse(own.empty() ? quantity.hint : own);
      }
      bound = *converted;
      bound.unit = value.unit;
      bound.untyped = true;
      return true;
    }
  const std::map<std::string, Kind> kinds = {
      {"range", Kind::Range}, {"rect", Kind::Record}, {"point", Kind::Record},
      {"text", Kind::Text},   {"path", Kind::Text},   {"bytes", Kind::Bytes},
      {"table", Kind::Table}, {"row", Kind::Row},     {"axes", Kind::List}};
  auto kind = kinds.find(wanted);
  return value.is(kind == kinds.end() ? Kind::Word : kind->second) || refuse();
}

bool Expressions::matchTensor(const dsl::FnDecl &fn, const TypeExpr &type, const Argument &arg,
                              Val &value, Frame &callee, Misfit &why, const std::string &name) {
  auto refuse = [&]() {
    why.range = arg.range;
    why.message = quote(fn.name.text) + " takes " + quote(name) + " as " + dsl::printType(type) +
                  ", and this is " + show(value);
    if (arg.made.valid())
      why.notes.push_back({arg.made, "it is made here"});
    why.notes.push_back({type.range, "it is declared here"});
    if (value.is(Kind::Bytes))
      why.hint = "`decode(rgb)` makes pixels of an encoded image";
    if (value.unit)
      why.hint = asNumber(*value.unit);
    return false;
  };
  if (value.unit)
    return refuse();
  if (value.is(Kind::List) && !genericOf(fn, type.name.text)) {
    value = listOf(value, type, arg.range);
  } else if (value.is(Kind::Number) && type.axes.empty()) {
    if (value.untyped && !genericOf(fn, type.name.text)) {
      std::optional<Val> converted = convert(value, pipe::scalarType(&context, type.name.text));
      if (!converted)
        return refuse();
      value = *converted;
      return true;
    }
    return bindElement(fn, type.name.text, value.ir.getType(), callee) || refuse();
  }
  convertLiterals(value, type.name.text);
  if (!(value.is(Kind::Tensor) || value.is(Kind::Neighbours)))
    return refuse();
  std::vector<Dim> axes = axesOf(value);
  if (!bindElement(fn, type.name.text, elementType(value), callee)) {
    auto isThere = [&](const dsl::AxisType &axis) {
      auto renamed = callee.axes.find(axis.name.text);
      return find(axes, renamed != callee.axes.end() ? renamed->second : axis.name.text) != nullptr;
    };
    if (!type.axes.empty() && llvm::all_of(type.axes, isThere))
      why.byElement = &arg;
    return refuse();
  }
  for (const dsl::AxisType &axis : type.axes) {
    auto renamed = callee.axes.find(axis.name.text);
    const bool byParam = renamed != callee.axes.end();
    const std::string wanted = byParam ? renamed->second : axis.name.text;
    const Dim *found = find(axes, wanted);
    if (!found && byParam) { // the caller named the axis
      why.score = 100;
      why.message =
          quote(fn.name.text) + " over axis " + quote(wanted) + ", which its input does not have";
      why.range = axisArgRange ? *axisArgRange : arg.range;
      why.notes.push_back({arg.origin(), "the input is " + show(value)});
      std::vector<std::string> names;
      for (const Dim &dim : axes)
        names.push_back(dim.axis.name);
      if (std::string near = dsl::nearest(wanted, names); !near.empty())
        why.hint = quote(near);
      return false;
    }
    if (!found)
      return refuse();
    if (axis.metadata && axis.metadata->text != found->axis.metadata)
      return refuse();
    if (axis.extentKind != dsl::ExtentKind::Free)
      callee.stated.push_back({&axis, *found, arg.range});
    if (byParam)
      continue;
    auto bound = callee.extents.find(wanted);
    if (bound == callee.extents.end()) {
      callee.extents[wanted] = *found;
      const Counted *counted = countedBy(*found);
      callee.values[wanted] = counted ? tensor(counted->count) : number(extent(*found));
    } else if (!sameExtent(bound->second, *found)) {
      why.range = arg.range;
      why.score = 100;
      why.message = "axis " + quote(wanted) + " has " + std::to_string(found->axis.extent) +
                    " elements here, and " + std::to_string(bound->second.axis.extent) +
                    " in an argument before";
      why.notes.push_back(
          {type.range, quote(fn.name.text) + " takes both over one axis " + quote(wanted)});
      return false;
    }
  }
  return true;
}
