// SPDX-License-Identifier: Apache-2.0
#include "dsl/AST/Spelling.h"
#include "dsl/AST/Units.h"
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Sema/Checker.h"

#include <algorithm>

namespace penstock::dsl {

void Checker::check(const ExprPtr &expr) {
  if (expr) // null after a syntax error
    check(*expr);
}

void Checker::check(const Expr &expr) {
  if (isCounted())
    sizes.add(owner());
  switch (expr.kind) {
  case ExprKind::Int:
  case ExprKind::Float:
  case ExprKind::String:
  case ExprKind::Bool:
    return;
  case ExprKind::Quantity:
    return checkQuantity(expr.cast<QuantityLit>());
  case ExprKind::Name:
    return checkName(expr.cast<NameExpr>());
  case ExprKind::List:
    for (const ExprPtr &item : expr.cast<ListExpr>().items)
      check(item);
    return;
  case ExprKind::Record:
    checkFields(expr.cast<RecordExpr>(), [](const Expr &) { return false; });
    return;
  case ExprKind::Field: {
    const auto &field = expr.cast<FieldExpr>();
    const auto *base = field.base->as<NameExpr>();
    if (base && isElementType(base->name)) // `u8.max` is the type's own
      return;
    if (std::string path = libraryPath(*field.base); !path.empty())
      return refuseLibrary(path, field.field, expr.range);
    return check(*field.base);
  }
  case ExprKind::Call:
    return checkCall(expr.cast<CallExpr>());
  case ExprKind::Index: {
    const auto &index = expr.cast<IndexExpr>();
    const auto *base = index.base->as<NameExpr>();
    if (!base || !isElementType(base->name)) {
      check(*index.base);
      for (const AxisSetting &setting : index.settings)
        if (!setting.value) {
          diagnostics.error(setting.range, "an index names its axis")
              .hint(quote(printSource(*index.base) + "[h = " + setting.axis.text + "]") +
                    ", with the axis in place of `h`");
          return;
        }
      return checkAxisSettings(index.settings);
    }
    // The type of a source's column, or of bytes that are decoded: `u8[h = 32, w = 32, c = rgb]`.
    checkAxisNames(index.settings);
    for (const AxisSetting &setting : index.settings)
      if (setting.value && !setting.value->as<NameExpr>())
        check(setting.value);
    return;
  }
  case ExprKind::Unary:
    return check(*expr.cast<UnaryExpr>().operand);
  case ExprKind::Binary:
    check(*expr.cast<BinaryExpr>().lhs);
    return check(*expr.cast<BinaryExpr>().rhs);
  case ExprKind::Range:
    check(*expr.cast<RangeExpr>().low);
    return check(*expr.cast<RangeExpr>().high);
  case ExprKind::If:
    check(*expr.cast<IfExpr>().condition);
    check(*expr.cast<IfExpr>().thenValue);
    return check(*expr.cast<IfExpr>().elseValue);
  case ExprKind::Pipe:
    check(*expr.cast<PipeExpr>().input);
    for (const auto &stage : expr.cast<PipeExpr>().chain)
      checkStage(*stage);
    return;
  case ExprKind::Each: {
    const auto &each = expr.cast<EachExpr>();
    check(each.bind.domain);
    ScopeGuard scope(*this);
    declare(each.bind.name, "view");
    return checkBlock(each.body);
  }
  case ExprKind::Map:
    return checkMap(expr.cast<MapExpr>());
  case ExprKind::Window:
    return checkWindow(expr.cast<WindowExpr>());
  case ExprKind::Search:
    return checkSearch(expr.cast<SearchExpr>());
  case ExprKind::Draw:
    return checkDraw(expr.cast<DrawExpr>());
  }
}

void Checker::checkName(const NameExpr &name) {
  if (currentConst)
    constUses[currentConst->name.text].push_back(&name);
  if (isValue(name.name)) {
    const ConstDecl *constant = findLocal(name.name) ? nullptr : program.findConst(file, name.name);
    if (constant && isCounted())
      sizes.addUse(owner(), {name.name, name.range}, {constant});
    return;
  }
  if (isElementType(name.name)) {
    diagnostics.error(name.range, quote(name.name) + " is a type, and a value is expected here")
        .hint(quote(name.name + "(x)") + " converts a value");
    return;
  }
  unknownValue(name);
}

void Checker::checkQuantity(const QuantityLit &quantity) {
  if (findUnit(quantity.unit.text))
    return;
  std::vector<std::string_view> known;
  std::string all;
  for (const Unit &unit : allUnits()) {
    known.push_back(unit.name);
    all += (all.empty() ? "" : " ") + std::string(unit.name);
  }
  auto report =
      diagnostics.error(quantity.unit.range, "there is no unit " + quote(quantity.unit.text));
  auto sameButCase = [&](std::string_view name) {
    return std::equal(name.begin(), name.end(), quantity.unit.text.begin(),
                      quantity.unit.text.end(),
                      [](char a, char b) { return (a | 0x20) == (b | 0x20); });
  };
  auto begins = [&](std::string_view name) { // `degrees`
    return name.size() > 1 && quantity.unit.text.starts_with(name);
  };
  auto found = std::find_if(known.begin(), known.end(), sameButCase);
  if (found == known.end())
    found = std::find_if(known.begin(), known.end(), begins);
  std::string near =
      found != known.end() ? std::string(*found) : nearest(quantity.unit.text, known);
  report.hint(near.empty() ? "the units are " + all : quote(near));
}

void Checker::checkFields(const RecordExpr &record,
                          const std::function<bool(const Expr &)> &isWord) {
  for (size_t i = 0; i < record.fields.size(); ++i) {
    const FieldSetting &field = record.fields[i];
    for (size_t j = 0; j < i; ++j)
      if (record.fields[j].name.text == field.name.text)
        diagnostics.error(field.name.range, "field " + quote(field.name.text) + " is given twice")
            .note(record.fields[j].name.range, "first here");
    const auto *inner = field.value ? field.value->as<RecordExpr>() : nullptr;
    if (inner)
      checkFields(*inner, isWord);
    else if (field.value && !isWord(*field.value))
      check(*field.value);
  }
}

void Checker::checkMap(const MapExpr &map) {
  for (const Bind &bind : map.binds)
    check(bind.domain);
  ScopeGuard scope(*this);
  for (const Bind &bind : map.binds)
    declare(bind.name, "element");
  checkBlock(map.body);
}

void Checker::checkWindow(const WindowExpr &window) {
  check(window.bind.domain);
  checkAxisSettings(window.extents);
  ScopeGuard scope(*this);
  declare(window.bind.name, "window");
  checkBlock(window.body);
}

void Checker::checkSearch(const SearchExpr &search) {
  check(search.tries);
  check(search.otherwise);
  ScopeGuard scope(*this);
  for (const LetDecl &let : search.lets)
    checkLet(let);
  check(search.accepted);
  check(search.condition);
}

void Checker::checkDraw(const DrawExpr &draw) {
  if (!builtins.distributions.empty() && !builtins.distributions.contains(draw.distribution.text)) {
    auto report = diagnostics.error(draw.distribution.range,
                                    "there is no distribution " + quote(draw.distribution.text));
    std::string near = nearest(draw.distribution.text, builtins.distributions);
    std::string all;
    for (const std::string &name : builtins.distributions)
      all += (all.empty() ? "" : " ") + name;
    report.hint(near.empty() ? "the distributions are " + all : quote(near));
  }
  if (draw.args) {
    if (draw.args->over)
      diagnostics.error(draw.args->over->range, "`over` has no place in a `draw`")
          .hint("`per` after the parentheses adds axes to a draw");
    checkArgs(*draw.args, {}, 0);
  }
  if (!draw.per)
    return;
  checkAxes(*draw.per);
  if (inPipeline && !inBatch)
    for (const Name &axis : draw.per->axes)
      if (axis.text == "n")
        diagnostics.error(axis.range, "the batch axis `n` exists in the `batch` block only")
            .hint("without `per [n]`, each sample draws its own value");
}

void Checker::checkStage(const Stage &stage) {
  switch (stage.kind) {
  case StageKind::Call:
    checkCallStage(stage.cast<CallStage>());
    break;
  case StageKind::Group:
    for (const auto &item : stage.cast<GroupStage>().chain)
      checkStage(*item);
    break;
  case StageKind::Choose:
    for (const ChooseStage::Arm &arm : stage.cast<ChooseStage>().arms) {
      check(arm.weight);
      for (const auto &item : arm.chain)
        checkStage(*item);
    }
    break;
  case StageKind::Repeat:
    check(stage.cast<RepeatStage>().count);
    for (const auto &item : stage.cast<RepeatStage>().chain)
      checkStage(*item);
    break;
  }
  check(stage.condition);
}

void Checker::checkAxes(const AxisList &axes) {
  for (size_t i = 0; i < axes.axes.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (axes.axes[i].text == axes.axes[j].text)
        diagnostics.error(axes.axes[i].range,
                          "axis " + quote(axes.axes[i].text) + " is named twice");
}

void Checker::checkAxisNames(const std::vector<AxisSetting> &settings) {
  for (size_t i = 0; i < settings.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (settings[i].axis.text == settings[j].axis.text)
        diagnostics
            .error(settings[i].axis.range,
                   "axis " + quote(settings[i].axis.text) + " is named twice")
            .note(settings[j].axis.range, "first here");
}

void Checker::checkAxisSettings(const std::vector<AxisSetting> &settings) {
  checkAxisNames(settings);
  for (const AxisSetting &setting : settings)
    check(setting.value);
}

} // namespace penstock::dsl
