// SPDX-License-Identifier: Apache-2.0
//
// Functions over records that no overload takes whole: they go to each field.
#include "compiler/Import/Expressions/Expressions.h"
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"

using namespace penstock::importer;

/// Returns whether a record's fields are fields of another one.
static bool sharesFields(const std::vector<std::string> &names, const Val &record) {
  return llvm::any_of(names, [&](const std::string &name) { return record.field(name); });
}

/// Returns whether an argument has a value for each of some fields, as `fill = { mask = 255 }`.
/// A `rect` has none: no field is called as its parts are.
static bool isOfFields(const Argument &arg, const Val &record) {
  return !arg.name.empty() && arg.value.is(Kind::Record) && sharesFields(arg.value.names, record);
}

const Val &Expressions::demandField(const Val &record, const std::string &field,
                                    dsl::SourceRange range) {
  if (const Val *found = record.field(field))
    return *found;
  const std::string near = dsl::nearest(field, record.names);
  fail(range,
       "the record that this is for has no field " + quote(field) + ": it is " + show(record),
       near.empty() ? "" : quote(near));
}

std::optional<Val> Expressions::evalByField(const dsl::Expr &expr, const Val &record) {
  const auto *fields = expr.as<dsl::RecordExpr>();
  if (!fields || !record.is(Kind::Record))
    return std::nullopt;
  Val result;
  result.kind = Kind::Record;
  for (const auto &field : fields->fields)
    result.names.push_back(field.name.text);
  if (!sharesFields(result.names, record))
    return std::nullopt;
  for (const auto &field : fields->fields) {
    const Val &meant = demandField(record, field.name.text, field.name.range);
    std::optional<Val> deeper = evalByField(*field.value, meant);
    result.parts.push_back(deeper ? *deeper : evalArg(*field.value).value);
    if (result.parts.back().is(Kind::Poison))
      throw Abort{};
  }
  return result;
}

/// The arguments of one field's call: its own where one is given, or else none, for the default.
/// \param own  set to an argument that is the field's own.
static std::vector<Argument> argumentsOf(const std::string &field,
                                         const std::vector<Argument> &args, const Argument *&own) {
  std::vector<Argument> given = {args[0]};
  given[0].value = *args[0].value.field(field);
  for (const Argument &arg : llvm::drop_begin(args)) {
    if (!isOfFields(arg, args[0].value)) {
      given.push_back(arg);
    } else if (const Val *value = arg.value.field(field)) {
      own = &arg;
      given.push_back(arg);
      given.back().value = *value;
      given.back().expr = nullptr;
      if (const auto *record = arg.expr ? arg.expr->as<penstock::dsl::RecordExpr>() : nullptr)
        for (const auto &part : record->fields)
          if (part.name.text == field) {
            given.back().expr = part.value.get();
            given.back().range = part.value->range;
          }
    }
  }
  return given;
}

/// Returns whether a value holds positions, which an op that moves pixels must move.
static bool holdsPositions(const Val &value) {
  static constexpr llvm::StringRef formats[] = {"xyxy", "xywh", "cxcywh", "yxyx", "xyzlwhr"};
  if (!value.is(Kind::Tensor))
    return false;
  return llvm::any_of(value.tensorType().getAxes(), [](const penstock::pipe::Axis &axis) {
    return llvm::is_contained(formats, axis.metadata) || axis.name == "xy" || axis.name == "xyz";
  });
}

std::optional<Val> Expressions::callByField(const dsl::Name &name,
                                            const std::vector<const dsl::FnDecl *> &fns,
                                            const std::vector<Argument> &args) {
  Val result = args[0].value;
  for (const Argument &arg : llvm::drop_begin(args))
    if (isOfFields(arg, result))
      for (const std::string &field : arg.value.names)
        demandField(result, field, arg.range);
  auto refuse = [&](size_t field, const std::string &why, const std::string &hint) {
    auto report = error(name.range, quote(name.text) + " cannot " + why + " the field " +
                                        quote(result.names[field]) + hint);
    report.note(args[0].origin(), "it is " + show(result.parts[field]));
    for (const dsl::FnDecl *fn : fns)
      report.note(fn->name.range, "this one takes " + signature(*fn));
    return report;
  };
  bool any = false;
  std::optional<size_t> ofOtherType; // the first field that only its element type keeps out
  // All fields see the same draws, and what comes behind sees others than any of them.
  const std::map<std::string, int> before = draws.ordinals;
  std::map<std::string, int> after = before;
  auto noteDraws = [&]() {
    for (const auto &[path, count] : draws.ordinals)
      after[path] = std::max(after[path], count);
  };
  for (size_t i = 0; i < result.parts.size(); ++i) {
    const Argument *own = nullptr;
    const std::vector<Argument> given = argumentsOf(result.names[i], args, own);
    bool taken = false;
    Misfit best;
    best.score = -1;
    for (const dsl::FnDecl *fn : fns) {
      Misfit why;
      std::optional<Frame> callee = match(*fn, given, why);
      if (!callee) {
        if (why.score > best.score)
          best = std::move(why);
        continue;
      }
      draws.ordinals = before;
      result.parts[i] = callFn(*fn, std::move(*callee), given[0].value, name.range);
      taken = any = true;
      noteDraws();
      break;
    }
    if (!taken && given[0].value.is(Kind::Record)) { // goes to its fields in turn
      draws.ordinals = before;
      if (auto moved = callByField(name, fns, given)) {
        result.parts[i] = *moved;
        taken = any = true;
        noteDraws();
      }
    }
    if (taken)
      continue;
    if (holdsPositions(result.parts[i])) {
      refuse(i, "move", ", which holds positions");
      throw Abort{};
    }
    if (own) { // it is meant, whatever there is against it
      auto report = error(best.range.valid() ? best.range : name.range, best.message);
      for (auto &[where, text] : best.notes)
        report.note(where, text);
      report.hint(best.hint);
      throw Abort{};
    }
    if (best.byElement == given.data() && !ofOtherType)
      ofOtherType = i;
  }
  if (any && ofOtherType) {
    refuse(*ofOtherType, "take", ", for its elements alone, and would leave it as it is")
        .hint("convert its elements before, or leave the field out of the record");
    throw Abort{};
  }
  draws.ordinals = std::move(after);
  return any ? std::optional<Val>(result) : std::nullopt;
}
