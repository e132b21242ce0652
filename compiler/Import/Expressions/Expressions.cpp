// SPDX-License-Identifier: Apache-2.0
//
// Leaves, names and blocks.
#include "compiler/Import/Expressions/Expressions.h"
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Sema/OtherLibraries.h"
#include <limits>
#include <numbers>

using namespace penstock::importer;
using penstock::dsl::ExprKind;

static bool looksLikeWord(llvm::StringRef text) {
  return !text.empty() && !llvm::isDigit(text[0]) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

Val Expressions::eval(const dsl::Expr &expr) {
  PlaceGuard guard(*this, expr.range);
  switch (expr.kind) {
  case ExprKind::Int:
    return number(intConstant(expr.cast<dsl::IntLit>().value), true);
  case ExprKind::Float:
    return number(constant(base.getF64Type(), expr.cast<dsl::FloatLit>().value), true);
  case ExprKind::Bool:
    return number(constant(base.getI1Type(), expr.cast<dsl::BoolLit>().value));
  case ExprKind::Quantity:
    return evalQuantity(expr.cast<dsl::QuantityLit>());
  case ExprKind::String:
    fail(expr.range, "a text in quotes has no use here: a file opens only what it is given",
         "a parameter `root: path`, and `--set root=...` when it runs");
  case ExprKind::Name:
    return evalName(expr.cast<dsl::NameExpr>());
  case ExprKind::List: {
    Val list;
    list.kind = Kind::List;
    for (const auto &item : expr.cast<dsl::ListExpr>().items)
      list.parts.push_back(evalArg(*item).value);
    demandFewParts(list, expr.range);
    return list;
  }
  case ExprKind::Record: {
    Val record;
    record.kind = Kind::Record;
    for (const dsl::FieldSetting &field : expr.cast<dsl::RecordExpr>().fields) {
      record.names.push_back(field.name.text);
      record.parts.push_back(eval(*field.value));
    }
    demandFewParts(record, expr.range);
    return record;
  }
  case ExprKind::Range: {
    const auto &range = expr.cast<dsl::RangeExpr>();
    Val result;
    result.kind = Kind::Range;
    result.closed = range.closed;
    Val low = eval(*range.low), high = eval(*range.high);
    const auto unit = low.unit;
    if (low.is(Kind::Number) && high.is(Kind::Number) && low.unit != high.unit)
      fail(range.range, "the two ends of this range have different units");
    unifyEnds(low, high, range.range);
    low.unit = high.unit = unit;
    result.parts = {low, high};
    return result;
  }
  case ExprKind::Field:
    return evalField(expr.cast<dsl::FieldExpr>());
  case ExprKind::Call:
    return evalCall(expr.cast<dsl::CallExpr>());
  case ExprKind::Index:
    return evalIndex(expr.cast<dsl::IndexExpr>());
  case ExprKind::Unary:
    return evalUnary(expr.cast<dsl::UnaryExpr>());
  case ExprKind::Binary:
    return evalBinary(expr.cast<dsl::BinaryExpr>());
  case ExprKind::If:
    return evalIf(expr.cast<dsl::IfExpr>());
  case ExprKind::Pipe:
    return evalPipe(expr.cast<dsl::PipeExpr>());
  case ExprKind::Each:
    return evalEach(expr.cast<dsl::EachExpr>());
  case ExprKind::Map:
    return evalMap(expr.cast<dsl::MapExpr>());
  case ExprKind::Window:
    return evalWindow(expr.cast<dsl::WindowExpr>());
  case ExprKind::Search:
    return evalSearch(expr.cast<dsl::SearchExpr>());
  case ExprKind::Draw:
    return evalDraw(expr.cast<dsl::DrawExpr>());
  }
  throw Abort{};
}

/// Values in a record or a list, and in those inside of it.
static size_t partsOf(const Val &value) {
  size_t count = 1;
  for (const Val &part : value.parts)
    count += partsOf(part);
  return count;
}

/// Records of records double where one is named twice, and are copied with all that is in them.
void Expressions::demandFewParts(const Val &value, dsl::SourceRange range) {
  constexpr size_t most = 10'000;
  if (const size_t parts = partsOf(value); parts > most)
    fail(range,
         "a record or list of " + std::to_string(parts) +
             " values, those inside of it among them, and at most " + std::to_string(most) +
             " are possible",
         "many numbers are a column of a table");
}

void Expressions::bind(const dsl::Name &name, Val value) {
  frame().definitions[name.text] = name.range;
  frame().values[name.text] = std::move(value);
}

void Expressions::evalLet(const dsl::LetDecl &let) {
  Val value = eval(*let.value);
  if (let.type)
    value = conform(value, *let.type, let.value->range, quote(let.name.text));
  else if (value.is(Kind::List))
    fail(let.value->range, "a list gets its axes from a declared type only",
         "`let " + let.name.text + ": f32[c] = [...]`");
  bind(let.name, value);
}

Val Expressions::evalBlock(const dsl::Block &block) {
  BinderScope names(frames);
  for (const dsl::LetDecl &let : block.lets) {
    names.hide(let.name.text);
    evalLet(let);
  }
  return eval(*block.result);
}

Val Expressions::evalQuantity(const dsl::QuantityLit &quantity) {
  const dsl::Unit *unit = dsl::findUnit(quantity.unit.text);
  if (!unit)
    fail(quantity.unit.range, "there is no unit " + quote(quantity.unit.text));
  const double value = quantity.value * unit->numerator / unit->denominator;
  if (!std::isfinite(value))
    fail(quantity.range, "this number does not fit " + dsl::describeEnd("f64"));
  Val result = number(constant(base.getF64Type(), value), true);
  if (unit->kind != dsl::UnitKind::Ratio && unit->kind != dsl::UnitKind::Pixels)
    result.unit = unit->kind;
  return result;
}

Val Expressions::builtinValue(const std::string &name) {
  if (name == "inf")
    return number(constant(base.getF64Type(), std::numeric_limits<double>::infinity()), true);
  if (name == "nan")
    return number(constant(base.getF64Type(), std::numeric_limits<double>::quiet_NaN()), true);
  if (name == "pi")
    return number(constant(base.getF64Type(), std::numbers::pi), true);
  return {};
}

Val Expressions::evalConst(const dsl::ConstDecl &declared, const dsl::File &file) {
  Frame scope;
  scope.file = &file;
  frames.push_back(std::move(scope));
  struct Pop {
    std::vector<Frame> &frames;
    ~Pop() { frames.pop_back(); }
  } pop{frames};
  evaluated.insert(&declared);
  Val value = eval(*declared.value);
  return declared.type
             ? conform(value, *declared.type, declared.value->range, quote(declared.name.text))
             : value;
}

void Expressions::evalIfUnused(const dsl::ConstDecl &declared) {
  if (evaluated.contains(&declared))
    return;
  trials.push_back(OwnedBlock(new mlir::Block()));
  BaseGuard inside(base, trials.back().get());
  evalConst(declared, *program.main);
}

Argument Expressions::evalArg(const dsl::Expr &expr) {
  Argument arg{{}, "", &expr, expr.range};
  const auto *name = expr.as<dsl::NameExpr>();
  const auto *text = expr.as<dsl::StringLit>();
  if (text && looksLikeWord(text->value)) { // `flip("w")`
    error(expr.range, "words such as axes and filters stand without quotes")
        .hint(quote(text->value));
    arg.value = wordOf(axisNamed(text->value));
    return arg;
  }
  if (!name) {
    arg.value = eval(expr);
    return arg;
  }
  if (auto found = frame().values.find(name->name); found != frame().values.end()) {
    arg.value = found->second;
    if (arg.value.is(Kind::Poison))
      throw Abort{};
    return arg;
  }
  PlaceGuard guard(*this, expr.range);
  if (const dsl::ConstDecl *constant = program.findConst(*frame().file, name->name)) {
    arg.value = evalConst(*constant, *program.fileOf(constant->range));
    return arg;
  }
  arg.value = builtinValue(name->name);
  if (arg.value.is(Kind::Poison))
    arg.value = wordOf(axisNamed(name->name));
  return arg;
}

Val Expressions::evalName(const dsl::NameExpr &name) {
  Val value = evalArg(name).value;
  if (!value.is(Kind::Word) || frame().values.contains(name.name))
    return value;
  std::vector<std::string> known;
  for (const auto &[text, unused] : frame().values)
    known.push_back(text);
  std::string hint = dsl::nearest(name.name, known);
  if (!hint.empty())
    hint = quote(hint);
  else if (const std::optional<int64_t> elements = extentOfFormat(name.name))
    hint = "what elements are stands behind a colon, as in `c: " + name.name +
           "`, and how many there are behind `=`: " + std::to_string(*elements);
  fail(name.range, quote(name.name) + " is no value here", hint);
}

Val Expressions::evalField(const dsl::FieldExpr &field) {
  if (const auto *type = field.base->as<dsl::NameExpr>())
    if (mlir::Type element = elementNamed(type->name);
        element && !frame().values.contains(type->name)) {
      const bool max = field.field.text == "max";
      if (!max && field.field.text != "min")
        fail(field.field.range,
             "an element type has `min` and `max`, not " + quote(field.field.text));
      if (auto real = llvm::dyn_cast<mlir::FloatType>(element))
        return number(base.create<pipe::ConstantOp>(
            here, element,
            mlir::FloatAttr::get(element,
                                 llvm::APFloat::getLargest(real.getFloatSemantics(), !max))));
      auto integer = llvm::cast<mlir::IntegerType>(element);
      const unsigned width = integer.getWidth();
      llvm::APInt value =
          integer.isUnsigned() || width == 1
              ? (max ? llvm::APInt::getMaxValue(width) : llvm::APInt::getMinValue(width))
              : (max ? llvm::APInt::getSignedMaxValue(width)
                     : llvm::APInt::getSignedMinValue(width));
      return number(
          base.create<pipe::ConstantOp>(here, element, mlir::IntegerAttr::get(element, value)));
    }
  Val value = eval(*field.base);
  if (value.is(Kind::Poison))
    throw Abort{};
  if (value.is(Kind::Record)) {
    if (const Val *found = value.field(field.field.text))
      return *found;
    auto report = error(field.field.range, "there is no field " + quote(field.field.text));
    noteValue(report, field.base.get(), value);
    if (std::string near = dsl::nearest(field.field.text, value.names); !near.empty())
      report.hint(quote(near));
    throw Abort{};
  }
  if (value.is(Kind::Range)) {
    if (field.field.text == "low")
      return value.parts[0];
    if (field.field.text == "high")
      return value.parts[1];
    fail(field.field.range, "a range has `low` and `high`, not " + quote(field.field.text));
  }
  if (value.is(Kind::Table)) {
    if (field.field.text == "length")
      return number(base.create<pipe::LengthOp>(here, base.getI64Type(), value.ir));
    fail(field.field.range, "a table has `length`; its fields are those of its rows",
         "`for row in ...`, then `row." + field.field.text + "`");
  }
  if (value.is(Kind::Row))
    return rowField(value, field.field.text, field.field.range);
  const dsl::OtherName *other = dsl::findOtherName(field.field.text);
  if (value.is(Kind::Tensor) && find(dims(value.ir), field.field.text))
    fail(field.base->range,
         quote(field.field.text) + " is an axis of this " + show(value) +
             ", and only records and rows have fields",
         "`extent(x, " + field.field.text + ")` is how many elements lie along it");
  fail(field.base->range, "only records and rows have fields, and this is " + show(value),
       !other                ? ""
       : other->ours.empty() ? std::string(other->says)
                             : "here it is " + quote(other->ours));
}
