//===- Check.cpp - `check`: what must hold of a value ----------------------===//
//
// What is known when compiling is refused then, where the user wrote the value:
// a library function checks its parameter, and the message stands at the
// argument. What is known per sample makes a bad sample.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Expressions/Expressions.h"

#include <charconv>

using namespace penstock::importer;

std::vector<penstock::dsl::SourceRange> Expressions::givenAt(const dsl::Expr &expr) const {
  std::vector<dsl::SourceRange> places;
  const dsl::Expr *at = &expr;
  dsl::SourceRange range = expr.range;
  for (size_t i = frames.size(); i-- > 0;) {
    if (range.file == program.main->id)
      places.push_back(range);
    const auto *name = at ? at->as<dsl::NameExpr>() : nullptr;
    auto given = name ? frames[i].given.find(name->name) : frames[i].given.end();
    if (given == frames[i].given.end())
      break;
    std::tie(at, range) = given->second;
  }
  return places.empty() ? std::vector{userRange(range)} : places;
}

/// The shortest text that is read as this number.
static std::string shortest(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

Val Expressions::evalCheck(const dsl::CallExpr &call) {
  const std::vector<dsl::Arg> &args = call.args.args;
  if (args.size() < 3 || args.size() > 4 || call.args.over)
    fail(call.callee->range, "`check` takes a value, a condition, a message and, if you like, a hint",
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
  const bool plain = value.is(Kind::Number) && !value.unit;
  if (constantInt(holds) == 0) {
    std::string found;
    if (std::optional<int64_t> whole = plain ? constantInt(value.ir) : std::nullopt)
      found = ", and this is " + std::to_string(*whole);
    if (std::optional<double> real = plain ? constantF64(value.ir) : std::nullopt)
      found = ", and this is " + shortest(*real);
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
  const bool whole = plain && value.ir.getType().isSignlessInteger(64) && !isElementLocal(value.ir);
  mlir::Value shown = whole ? value.ir : intConstant(0);
  check(holds, message + (whole ? ", and this is {0}" : ""), shown, shown);
  return value;
}
