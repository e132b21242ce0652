// SPDX-License-Identifier: Apache-2.0
//
// Source places of ops and messages.
#include "compiler/Import/Values/Places.h"
#include "compiler/Dialect/UserPlaces.h"
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Nearest.h"
#include "mlir/IR/Location.h"

using namespace penstock::importer;

Places::Places(mlir::MLIRContext &context, const dsl::Program &program,
               const dsl::SourceManager &sources, dsl::Diagnostics &diagnostics)
    : context(context), program(program), diagnostics(diagnostics),
      here(mlir::UnknownLoc::get(&context)), sources(sources) {}

mlir::Location Places::placeInFile(dsl::SourceRange range) {
  if (!range.valid())
    return mlir::UnknownLoc::get(&context);
  auto [known, isNew] = knownPlaces.try_emplace({range.file.index, range.begin});
  if (isNew) {
    dsl::LineColumn position = sources.position(range.file, range.begin);
    std::string_view file = sources.name(range.file);
    known->second = mlir::FileLineColLoc::get(&context, llvm::StringRef(file.data(), file.size()),
                                              position.line, position.column);
  }
  return known->second;
}

mlir::Location Places::place(dsl::SourceRange range) {
  mlir::Location location = placeInFile(range);
  return calls.empty()
             ? location
             : mlir::Location(mlir::CallSiteLoc::get(location, mlir::Location(calls.back().place)));
}

void Places::enterCall(dsl::SourceRange range, const dsl::FnDecl &fn) {
  mlir::Location at = place(range);
  calls.push_back({range, fn.name.text, &fn, at});
}

penstock::dsl::SourceRange Places::userRange(dsl::SourceRange range) const {
  if (!range.valid() || range.file == program.main->id)
    return range;
  for (size_t i = calls.size(); i-- > 0;)
    if (calls[i].range.file == program.main->id)
      return calls[i].range;
  return range;
}

std::string Places::calledByUser(dsl::SourceRange range) const {
  if (!range.valid() || range.file == program.main->id)
    return "";
  for (const CallSite &call : llvm::reverse(calls))
    if (call.range.file == program.main->id)
      return call.function;
  return "";
}

std::vector<penstock::dsl::SourceRange> Places::userPlaces(const dsl::Expr &expr) const {
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
  return places;
}

penstock::dsl::Diagnostics::Report Places::error(dsl::SourceRange range, std::string message) {
  dsl::SourceRange user = userRange(range);
  auto report = diagnostics.error(user, std::move(message));
  if (user != range)
    report.note(range, "in the library, where this is found");
  return report;
}

void Places::fail(dsl::SourceRange range, std::string message, std::string hint) {
  auto report = error(range, std::move(message));
  if (!hint.empty())
    report.hint(std::move(hint));
  throw Abort{};
}

/// The axes of arguments that ride along in a call, and what says so.
static std::map<std::string, std::string> ridingAxes(const CallSite &call, const Frame &callee) {
  std::map<std::string, std::string> result;
  for (const penstock::dsl::Param &param : call.fn->params) {
    const auto bound = callee.values.find(param.name.text);
    if (bound == callee.values.end() || !bound->second.is(Kind::Tensor) || param.type.axes.empty())
      continue;
    for (const penstock::pipe::Axis &axis : bound->second.tensorType().getAxes()) {
      const bool isDeclared =
          llvm::any_of(param.type.axes, [&](const penstock::dsl::AxisType &declared) {
            const auto passed = callee.axes.find(declared.name.text);
            return (passed == callee.axes.end() ? declared.name.text : passed->second) == axis.name;
          });
      if (!isDeclared)
        result.try_emplace(axis.name,
                           quote(call.function) + " takes " + quote(param.name.text) + " as " +
                               penstock::dsl::printType(param.type) + ", and here axis " +
                               quote(llvm::StringRef(axis.name).rtrim(insideMark).str()) +
                               " rides along");
    }
  }
  return result;
}

bool Places::ridesAlong(const std::string &axis) const {
  return llvm::any_of(calls, [&](const CallSite &call) {
    return call.frame < frames.size() && ridingAxes(call, frames[call.frame]).contains(axis);
  });
}

void Places::noteRiding(dsl::Diagnostics::Report &report) const {
  for (size_t i = calls.size(); i-- > 0;) {
    if (calls[i].frame >= frames.size())
      continue;
    const auto riding = ridingAxes(calls[i], frames[calls[i].frame]);
    if (!riding.empty())
      return void(report.note(userRange(calls[i].range), riding.begin()->second));
  }
}

void Places::failRiding(dsl::SourceRange range, std::string message, std::string hint) {
  auto report = error(range, std::move(message));
  noteRiding(report);
  if (!hint.empty())
    report.hint(std::move(hint));
  throw Abort{};
}

void Places::notYet(dsl::SourceRange range, std::string what) {
  fail(range, what + " has no meaning yet in this version of Penstock");
}

void Places::noteValue(dsl::Diagnostics::Report &report, const dsl::Expr *expr, const Val &value) {
  if (!expr)
    return;
  const auto *name = expr->as<dsl::NameExpr>();
  if (name) {
    auto found = frame().definitions.find(name->name);
    if (found != frame().definitions.end()) {
      report.note(found->second, quote(name->name) + " is " + show(value));
      return;
    }
  }
  report.note(expr->range, "this is " + show(value));
}

void Places::failAxis(dsl::SourceRange range, const std::string &what, const std::string &axis,
                      const Val &value, dsl::SourceRange origin) {
  if (axis == "n" && !inBatch)
    fail(range, "the batch axis `n` exists in the `batch` block only",
         "`pick(table, i)` reads another row");
  if (axis == "n")
    fail(range, what + " runs over axes of a value, and `n` is that of the batch",
         "`rename(x, n, m)` is the value of all samples along an axis `m`");
  if (axis.empty()) {
    auto report = error(range, what + " does not know along which axis these places are");
    if (value.is(Kind::Tensor) && value.tensorType().getRank() > 0)
      report.hint(quote(value.tensorType().getAxes()[0].name + " = ..."));
    throw Abort{};
  }
  auto report =
      error(range, what + " over axis " + quote(axis) + ", which its input does not have");
  std::vector<std::string> names;
  if (value.is(Kind::Tensor))
    for (const pipe::Axis &known : value.tensorType().getAxes())
      names.push_back(known.name);
  if (origin.valid())
    report.note(origin, "the input is " + show(value));
  if (llvm::is_contained(names, axis + "'")) // Expressions::renameRiding()
    report.hint("the argument's " + quote(axis) +
                " rides along, and this one is another; name it in "
                "the parameter's type, or take it as a parameter of type `axis`");
  else if (std::string near = dsl::nearest(axis, names); !near.empty())
    report.hint(quote(near));
  throw Abort{};
}

std::string Places::userPlace() const {
  const mlir::FileLineColLoc at = pipe::userPlaceOf(here);
  return at ? " (" + at.getFilename().str() + ":" + std::to_string(at.getLine()) + ":" +
                  std::to_string(at.getColumn()) + ")"
            : "";
}
