// SPDX-License-Identifier: Apache-2.0
//
// `check`: conditions on values.
//
// A condition known to be false at compile time is an error, where the user wrote the value:
// a library function checks its parameter, and the message stands at the
// argument. One known per sample makes a bad sample.
#include "compiler/Import/Expressions/Expressions.h"
#include "runtime/abi/message.h"

#include <array>

using namespace penstock::importer;

std::vector<penstock::dsl::SourceRange> Expressions::givenAt(const dsl::Expr &expr) const {
  const std::vector<dsl::SourceRange> places = userPlaces(expr);
  return places.empty() ? std::vector{userRange(expr.range)} : places;
}

static const char *baseUnit(std::optional<penstock::dsl::UnitKind> unit) {
  if (!unit)
    return "";
  switch (*unit) {
  case penstock::dsl::UnitKind::Duration:
    return "s";
  case penstock::dsl::UnitKind::Frequency:
    return "Hz";
  case penstock::dsl::UnitKind::Angle:
    return "deg";
  case penstock::dsl::UnitKind::Length:
    return "m";
  default:
    return "";
  }
}

Expressions::ShownValue Expressions::shownValue(const Val &value) {
  ShownValue shown;
  const bool isRange = value.is(Kind::Range);
  std::vector<Val> ends = isRange ? value.parts : std::vector{value};
  for (size_t i = 0; i < ends.size(); ++i) {
    const Val &end = ends[i];
    if (!end.is(Kind::Number) || end.ir.getType().isSignlessInteger(1) || isElementLocal(end.ir))
      return {};
    const bool isReal = llvm::isa<mlir::FloatType>(end.ir.getType());
    shown.text += (i == 0         ? ""
                   : value.closed ? " ..= "
                                  : " .. ") +
                  ("{" + std::to_string(i)) +
                  (!isReal                    ? "}"
                   : end.ir.getType().isF64() ? ":f64}"
                                              : ":f32}") +
                  baseUnit(end.unit);
    shown.values[i] = end.ir;
  }
  shown.text = ", and this is " + shown.text;
  return shown;
}

/// Returns a constant as the bits that messages get; nothing if only the sample has the value.
static std::optional<int64_t> knownBits(mlir::Value value) {
  if (!value)
    return 0;
  auto op = value.getDefiningOp<penstock::pipe::ConstantOp>();
  auto real = op ? llvm::dyn_cast<mlir::FloatAttr>(op.getValue()) : mlir::FloatAttr();
  return real ? std::bit_cast<int64_t>(real.getValueAsDouble())
              : penstock::importer::Expressions::constantInt(value);
}

Val Expressions::evalCheck(const dsl::CallExpr &call) {
  const std::vector<dsl::Arg> &args = call.args.args;
  if (args.size() < 3 || args.size() > 4 || call.args.over)
    fail(call.callee->range,
         "`check` takes a value, a condition, a message and, if you like, a hint",
         "`check(x, x > 0, \"x is above 0\")`");
  for (const dsl::Arg &arg : args)
    if (arg.name && (arg.name->text != "hint" || &arg != &args[3]))
      fail(arg.name->range, "`check` has no parameter " + quote(arg.name->text));
  auto textOf = [&](const dsl::Arg &arg) {
    const auto *text = arg.value->as<dsl::StringLit>();
    if (!text)
      fail(arg.value->range, "the message of `check` is a text in quotes");
    return text->value;
  };
  const std::string message = textOf(args[2]), hint = args.size() > 3 ? textOf(args[3]) : "";
  Val value = eval(*args[0].value);
  mlir::Value holds =
      demandBool(eval(*args[1].value), args[1].value->range, "what `check` demands");
  const std::vector<dsl::SourceRange> places = givenAt(*args[0].value);
  const dsl::SourceRange range = places.back();
  ShownValue shown = shownValue(value);
  if (constantInt(holds) == 0) {
    std::string found;
    const auto first = knownBits(shown.values[0]), second = knownBits(shown.values[1]);
    if (first && second)
      found = fillMessage(shown.text, std::array{*first, *second}.data());
    auto report = error(range, message + found);
    if (places.size() > 1)
      report.note(places.front(), "it is checked here");
    if (!hint.empty())
      report.hint(hint);
    throw Abort{};
  }
  if (isElementLocal(holds)) {
    // Pixels cannot fail a sample. Draws have a meaning for every number.
    if (!draws.inPrelude())
      notYet(range, "a check of what differs from element to element");
    return value;
  }
  PlaceGuard guard(*this, range);
  for (mlir::Value &part : shown.values) {
    if (part && llvm::isa<mlir::FloatType>(part.getType()))
      part = cast(pipe::CastMode::bits, cast(pipe::CastMode::value, part, base.getF64Type()),
                  base.getI64Type());
    part = part ? cast(pipe::CastMode::value, part, base.getI64Type()) : intConstant(0);
  }
  check(holds, message + shown.text, shown.values[0], shown.values[1]);
  return value;
}
