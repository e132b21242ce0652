//===- Params.cpp - parameters of the pipeline ----------------------------===//

#include "compiler/Import/Places.h"
#include "dsl/AST/Printer.h"
#include "dsl/AST/Units.h"
#include <charconv>

using namespace penstock::importer;

static std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  return text;
}

/// `1_000`, `0.5`, `25ms`, `-3deg`.
static bool parseNumber(std::string_view text, bool whole, double &value, int64_t &integer) {
  std::string digits;
  text = trimmed(text);
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '_')
      continue;
    const bool exponent = (c == 'e' || c == 'E') && at + 1 < text.size() &&
                          (std::isdigit(static_cast<unsigned char>(text[at + 1])) ||
                           text[at + 1] == '-' || text[at + 1] == '+');
    const bool sign = (c == '-' || c == '+') && (at == 0 || digits.back() == 'e');
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && !exponent && !sign)
      break;
    digits += c == 'E' ? 'e' : c;
  }
  std::string_view unit = text.substr(at);
  const char *end = digits.data() + digits.size();
  if (digits.empty())
    return false;
  if (whole) {
    auto [stop, error] = std::from_chars(digits.data(), end, integer);
    return error == std::errc() && stop == end && unit.empty();
  }
  auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end)
    return false;
  if (unit.empty())
    return true;
  const penstock::dsl::Unit *known = penstock::dsl::findUnit(unit);
  if (!known)
    return false;
  value = value * known->numerator / known->denominator;
  return true;
}

static std::optional<penstock::dsl::UnitKind> unitOf(const std::string &type) {
  using penstock::dsl::UnitKind;
  if (type == "duration")
    return UnitKind::Duration;
  if (type == "frequency")
    return UnitKind::Frequency;
  if (type == "angle")
    return UnitKind::Angle;
  if (type == "length")
    return UnitKind::Length;
  return std::nullopt;
}

static bool isText(const std::string &type) { return type == "path" || type == "text"; }

bool Importer::isAlwaysStatic(const dsl::Param &param) {
  const std::string &type = param.type.name.text;
  static constexpr llvm::StringRef numbers[] = {"int", "ratio", "u8",   "i8",  "u16", "i16", "i32",
                                                "i64", "f16",   "bf16", "f32", "f64", "bool"};
  return !isText(type) && !unitOf(type) && !llvm::is_contained(numbers, llvm::StringRef(type));
}

Val Importer::parseParameter(const dsl::Param &param, const std::string &text) {
  const std::string &type = param.type.name.text;
  auto bad = [&]() {
    fail(param.range,
         "the value `" + text + "` given for " + quote(param.name.text) + " is no " + type);
  };
  mlir::Type element = elementNamed(type);
  if (element && element.isSignlessInteger(1)) {
    if (text != "true" && text != "false")
      bad();
    return number(constant(element, text == "true"));
  }
  double value = 0;
  int64_t integer = 0;
  if (element && llvm::isa<mlir::IntegerType>(element)) {
    if (!parseNumber(text, true, value, integer))
      bad();
    Val result = number(intConstant(integer), true);
    std::optional<Val> converted = convert(result, element);
    if (!converted)
      bad();
    return *converted;
  }
  if (element || unitOf(type) || type == "ratio") {
    if (!parseNumber(text, false, value, integer))
      bad();
    Val result = number(constant(element ? element : base.getF64Type(), value), !element);
    result.unit = unitOf(type);
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
    for (std::string_view end : {std::string_view(text).substr(0, dots),
                                 std::string_view(text).substr(dots + (closed ? 3 : 2))}) {
      if (parseNumber(end, true, value, integer))
        range.parts.push_back(number(intConstant(integer), true));
      else if (parseNumber(end, false, value, integer))
        range.parts.push_back(number(constant(base.getF64Type(), value), true));
      else
        bad();
    }
    unify("..", range.parts[0], range.parts[1], param.range);
    return range;
  }
  Val word;
  word.kind = Kind::Word;
  word.word = text;
  return word;
}

void Importer::bindParameters(const dsl::PipelineDecl &pipeline) {
  for (const auto &[name, text] : options.parameters) {
    auto named = [&, &name = name](const dsl::Param &param) { return param.name.text == name; };
    if (llvm::none_of(pipeline.params, named))
      error(pipeline.name.range, "pipeline " + quote(pipeline.name.text) + " has no parameter " +
                                     quote(name) + ", for which a value was given");
  }
  for (const dsl::Param &param : pipeline.params) {
    try {
      bind(param.name, bindParameter(param));
    } catch (const Abort &) {
      bind(param.name, Val());
    }
  }
}

Val Importer::bindParameter(const dsl::Param &param) {
  PlaceGuard guard(*this, param.range);
  const std::string &type = param.type.name.text;
  if (param.type.kind != dsl::TypeExpr::Kind::Scalar)
    fail(param.type.range, "a parameter of a pipeline is a number, a text or a choice, not " +
                               dsl::printType(param.type));
  auto given = options.parameters.find(param.name.text);
  mlir::Type element = elementNamed(type);
  const bool isNumber = element || unitOf(type) || type == "ratio";
  Val fallback;
  if (param.defaultValue) {
    fallback = evalArg(*param.defaultValue).value;
    if (isNumber) {
      fallback = conform(fallback, param.type, param.defaultValue->range, quote(param.name.text));
      if (fallback.unit != unitOf(type))
        fail(param.defaultValue->range,
             "the default of " + quote(param.name.text) + " has no unit of " + type);
    }
  }
  // Only numbers and texts can wait for the session; anything else decides types.
  if (!staticNames.contains(param.name.text) && (isNumber || isText(type))) {
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
    result.unit = unitOf(type);
    result.loose = !element && !isText(type);
    return result;
  }
  if (given != options.parameters.end())
    return parseParameter(param, given->second);
  if (fallback.is(Kind::Poison))
    fail(param.range,
         "parameter " + quote(param.name.text) +
             " decides an extent or a type, so it needs a value to compile",
         "`--set " + param.name.text + "=...`, or a default");
  return fallback;
}
