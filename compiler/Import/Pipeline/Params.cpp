// SPDX-License-Identifier: Apache-2.0
//
// Parameters of the pipeline.
#include "compiler/Import/Pipeline/Pipeline.h"
#include "dsl/AST/Numbers.h"
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace penstock::importer;

static bool isText(const std::string &type) { return type == "path" || type == "text"; }

bool PipelineImport::isAlwaysStatic(const dsl::Param &param) {
  const std::string &type = param.type.name.text;
  static constexpr llvm::StringRef numbers[] = {"int", "ratio", "u8",   "i8",  "u16", "i16", "i32",
                                                "i64", "f16",   "bf16", "f32", "f64", "bool"};
  return !isText(type) && !dsl::unitKindOf(type) &&
         !llvm::is_contained(numbers, llvm::StringRef(type));
}

Val PipelineImport::parseParameter(const dsl::Param &param, const std::string &text) {
  const std::string &type = param.type.name.text;
  auto bad = [&]() {
    const std::string exceeded = dsl::exceeded(type, text);
    fail(param.range,
         "the value `" + text + "` given for " + quote(param.name.text) +
             (exceeded.empty() ? " is no " + type : " does not fit " + exceeded),
         dsl::describeValues(type));
  };
  mlir::Type element = elementNamed(type);
  if (element && element.isSignlessInteger(1)) {
    if (text != "true" && text != "false")
      bad();
    return number(constant(element, text == "true"));
  }
  if (element || dsl::unitKindOf(type) || type == "ratio") {
    std::optional<dsl::Number> given = dsl::parseNumber(type, text);
    if (!given)
      bad();
    if (given->whole)
      return *convert(number(intConstant(*given->whole), true), element);
    Val result = number(constant(element ? element : base.getF64Type(), given->value), !element);
    result.unit = dsl::unitKindOf(type);
    return result;
  }
  if (type == "range") {
    const size_t dots = text.find("..");
    if (dots == std::string::npos)
      bad();
    const bool closed = text.compare(dots, 3, "..=") == 0;
    Val range;
    range.kind = Kind::Range;
    range.closed = closed;
    for (const std::string &end : {text.substr(0, dots), text.substr(dots + (closed ? 3 : 2))}) {
      if (std::optional<dsl::Number> whole = dsl::parseNumber("int", end))
        range.parts.push_back(number(intConstant(*whole->whole), true));
      else if (std::optional<dsl::Number> real = dsl::parseNumber("f64", end))
        range.parts.push_back(number(constant(base.getF64Type(), real->value), true));
      else
        bad();
    }
    unifyEnds(range.parts[0], range.parts[1], param.range);
    return range;
  }
  const llvm::ArrayRef<llvm::StringRef> words = wordsOf(type);
  if (!words.empty() && !llvm::is_contained(words, text)) {
    std::vector<std::string> known;
    for (llvm::StringRef one : words)
      known.push_back(one.str());
    const std::string near = dsl::nearest(text, known);
    fail(param.range,
         "the value `" + text + "` given for " + quote(param.name.text) + " is no " + type,
         near.empty() ? llvm::join(words, " ") : quote(near));
  }
  Val word;
  word.kind = Kind::Word;
  word.word = text;
  return word;
}

/// The literal of a constant; nothing where it is none, or no number.
static std::optional<std::string> literalOf(const Val &value) {
  if (value.is(Kind::Word))
    return value.word;
  if (value.is(Kind::Range)) {
    const auto begin = literalOf(value.parts[0]), end = literalOf(value.parts[1]);
    return begin && end ? std::optional(*begin + (value.closed ? " ..= " : " .. ") + *end)
                        : std::nullopt;
  }
  auto op = value.is(Kind::Number) ? value.ir.getDefiningOp<penstock::pipe::ConstantOp>() : nullptr;
  if (!op)
    return std::nullopt;
  if (auto real = llvm::dyn_cast<mlir::FloatAttr>(op.getValue())) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", real.getValueAsDouble());
    std::string text = digits;
    for (const penstock::dsl::Unit &unit : penstock::dsl::allUnits())
      if (value.unit == unit.kind && unit.numerator == 1 && unit.denominator == 1)
        text += unit.name;
    return std::isfinite(real.getValueAsDouble()) ? std::optional(text) : std::nullopt;
  }
  auto integer = llvm::dyn_cast<mlir::IntegerAttr>(op.getValue());
  if (!integer)
    return std::nullopt;
  if (integer.getType().isInteger(1))
    return integer.getValue().isZero() ? "false" : "true";
  llvm::SmallString<24> digits;
  integer.getValue().toString(digits, 10, !integer.getType().isUnsignedInteger());
  return digits.str().str();
}

void PipelineImport::bindParameters(const dsl::PipelineDecl &pipeline) {
  for (const auto &[name, text] : options.parameters) {
    auto named = [&, &name = name](const dsl::Param &param) { return param.name.text == name; };
    if (llvm::any_of(pipeline.params, named))
      continue;
    std::string known;
    for (const dsl::Param &param : pipeline.params)
      known += (known.empty() ? "" : " ") + quote(param.name.text);
    auto report =
        error(pipeline.name.range, "pipeline " + quote(pipeline.name.text) + " has no parameter " +
                                       quote(name) + ", for which a value was given");
    report.hint(known.empty() ? "it has none" : "its parameters are " + known);
  }
  for (const dsl::Param &param : pipeline.params) {
    try {
      bind(param.name, bindParameter(param));
    } catch (const Abort &) {
      bind(param.name, Val());
    }
  }
}

Val PipelineImport::bindParameter(const dsl::Param &param) {
  PlaceGuard guard(*this, param.range);
  const std::string &type = param.type.name.text;
  if (param.type.kind != dsl::TypeExpr::Kind::Scalar)
    fail(param.type.range, "a parameter of a pipeline is a number, a text or a choice, not " +
                               dsl::printType(param.type));
  auto given = options.parameters.find(param.name.text);
  mlir::Type element = elementNamed(type);
  const bool isNumber = element || dsl::unitKindOf(type) || type == "ratio";
  Val fallback;
  if (param.defaultValue && isText(type))
    fail(param.defaultValue->range,
         "a parameter of type " + type + " has no default: a file opens only what it is given",
         "`--set " + param.name.text + "=...` when it runs");
  if (param.defaultValue) {
    fallback = evalArg(*param.defaultValue).value;
    if (isNumber) {
      fallback = conform(fallback, param.type, param.defaultValue->range, quote(param.name.text));
      if (fallback.unit != dsl::unitKindOf(type))
        fail(param.defaultValue->range,
             "the default of " + quote(param.name.text) + " has no unit of " + type);
    }
  }
  // Only numbers and texts can wait for the session; anything else decides types.
  if (!staticParameters.contains(param.name.text) && (isNumber || isText(type))) {
    mlir::Attribute value;
    if (fallback.is(Kind::Number)) {
      auto op = fallback.ir.getDefiningOp<pipe::ConstantOp>();
      if (!op)
        fail(param.defaultValue->range, "the default of a parameter must be a constant");
      value = op.getValue();
    }
    if (given != options.parameters.end() && isNumber)
      parseParameter(param, given->second); // only checked
    Val result;
    mlir::Type irType = isText(type) ? mlir::Type(pipe::TextType::get(&context))
                        : element    ? element
                                     : mlir::Type(base.getF64Type());
    result = number(base.create<pipe::ParamOp>(
        here, irType, base.getStringAttr(param.name.text), value,
        param.doc.empty() ? mlir::StringAttr() : base.getStringAttr(param.doc)));
    result.kind = isText(type) ? Kind::Text : Kind::Number;
    result.unit = dsl::unitKindOf(type);
    result.untyped = !element && !isText(type);
    return result;
  }
  if (given != options.parameters.end())
    return parseParameter(param, given->second);
  if (fallback.is(Kind::Poison)) {
    const auto decides = staticParameters.find(param.name.text);
    fail(param.range,
         "parameter " + quote(param.name.text) +
             (decides == staticParameters.end() ? ", of type " + type + ", is compiled in"
                                                : " decides " + decides->second) +
             ", so it needs a value to compile",
         "`--set " + param.name.text + "=...`, or a default");
  }
  if (std::optional<std::string> text = literalOf(fallback))
    defaults[param.name.text] = *text;
  return fallback;
}

void PipelineImport::explainParameters(const dsl::PipelineDecl &pipeline, mlir::Operation *op) {
  for (const dsl::Param &param : pipeline.params) {
    const std::string &name = param.name.text;
    std::string text = "parameter " + quote(name);
    if (auto found = staticParameters.find(name); found != staticParameters.end())
      text += " is static: it decides " + found->second + "; another value compiles again";
    else if (isAlwaysStatic(param))
      text +=
          " is static: a " + param.type.name.text + " is no number; another value compiles again";
    else
      text += " is run-time: a session reads it, and no extent, type or loop bound depends on it";
    pipe::addRemark(op, "import", text);
  }
}
