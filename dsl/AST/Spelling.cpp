// SPDX-License-Identifier: Apache-2.0
#include "dsl/AST/Spelling.h"

#include "dsl/AST/Printer.h"

#include <charconv>

namespace penstock::dsl {

// clang-format off: tables
const char *spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::Or: return "or";
  case BinaryOp::And: return "and";
  case BinaryOp::Eq: return "==";
  case BinaryOp::Ne: return "!=";
  case BinaryOp::Lt: return "<";
  case BinaryOp::Le: return "<=";
  case BinaryOp::Gt: return ">";
  case BinaryOp::Ge: return ">=";
  case BinaryOp::In: return "in";
  case BinaryOp::Add: return "+";
  case BinaryOp::Sub: return "-";
  case BinaryOp::Mul: return "*";
  case BinaryOp::Div: return "/";
  case BinaryOp::Rem: return "%";
  }
  return "";
}

const char *spelling(UnaryOp op) { return op == UnaryOp::Negate ? "-" : "not"; }

const char *spelling(Target target) {
  switch (target) {
  case Target::Cpu: return "cpu";
  case Target::Gpu: return "gpu";
  case Target::Auto: return "auto";
  }
  return "";
}

const char *spelling(ExprKind kind) {
  switch (kind) {
  case ExprKind::Int: return "int";
  case ExprKind::Float: return "float";
  case ExprKind::Quantity: return "quantity";
  case ExprKind::String: return "string";
  case ExprKind::Bool: return "bool";
  case ExprKind::Name: return "name";
  case ExprKind::List: return "list";
  case ExprKind::Record: return "record";
  case ExprKind::Field: return "field";
  case ExprKind::Call: return "call";
  case ExprKind::Index: return "index";
  case ExprKind::Unary: return "unary";
  case ExprKind::Binary: return "binary";
  case ExprKind::Range: return "range";
  case ExprKind::If: return "if";
  case ExprKind::Pipe: return "pipe";
  case ExprKind::Each: return "each";
  case ExprKind::Map: return "map";
  case ExprKind::Window: return "window";
  case ExprKind::Search: return "search";
  case ExprKind::Draw: return "draw";
  }
  return "";
}
// clang-format on

std::string printAxes(const AxisList &axes) {
  std::string out = "[";
  for (size_t i = 0; i < axes.axes.size(); ++i)
    out += (i ? ", " : "") + axes.axes[i].text;
  return out + "]";
}

std::string printPath(const std::vector<Name> &names) {
  std::string out;
  for (const Name &name : names)
    out += (out.empty() ? "" : ".") + name.text;
  return out;
}

namespace {

std::string number(double value) {
  char buffer[40];
  auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, result.ptr);
}

std::string stringLiteral(const std::string &value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out + "\"";
}

std::string argList(const ArgList &args) {
  std::string out = "(";
  for (size_t i = 0; i < args.args.size(); ++i) {
    const Arg &arg = args.args[i];
    out += i ? ", " : "";
    out += arg.name ? arg.name->text + " = " : "";
    out += printSource(*arg.value);
    if (args.over && i == 0)
      out += " over " + printAxes(*args.over);
  }
  return out + ")";
}

template <typename Settings, typename GetName>
std::string settings(const Settings &items, GetName name) {
  std::string out;
  for (const auto &item : items)
    out += (out.empty() ? "" : ", ") + name(item) +
           (item.value ? " = " + printSource(*item.value) : "");
  return out;
}

/// An operand: with parentheses unless it binds tighter than any operator.
std::string operand(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Unary:
  case ExprKind::Binary:
  case ExprKind::Range:
  case ExprKind::If:
  case ExprKind::Pipe:
    return "(" + printSource(expr) + ")";
  default:
    return printSource(expr);
  }
}

} // namespace

std::string printType(const TypeExpr &type) {
  if (type.kind == TypeExpr::Kind::Record) {
    std::string out;
    for (const FieldType &field : type.fields)
      out += (out.empty() ? "{ " : ", ") + field.name.text + ": " + printType(field.type);
    return out + " }";
  }
  if (type.kind == TypeExpr::Kind::Scalar)
    return type.name.text;
  std::string out = type.name.text + "[";
  for (size_t i = 0; i < type.axes.size(); ++i) {
    const AxisType &axis = type.axes[i];
    out += (i ? ", " : "") + axis.name.text;
    if (axis.extentKind != ExtentKind::Free)
      out += (axis.extentKind == ExtentKind::Exact ? " = " : " <= ") + printSource(*axis.extent);
    if (axis.metadata)
      out += ": " + axis.metadata->text;
  }
  return out + "]";
}

std::string printHead(const FnDecl &fn) {
  std::string out = fn.name.text + "(";
  for (const Param &param : fn.params) {
    out +=
        (&param == fn.params.data() ? "" : ", ") + param.name.text + ": " + printType(param.type);
    if (param.defaultValue)
      out += " = " + printSource(*param.defaultValue);
  }
  return out + ")";
}

std::string printSignature(const FnDecl &fn) {
  std::string out = printHead(fn) + " -> " + printType(fn.result);
  for (const GenericParam &generic : fn.generics) {
    out += ", " + generic.name.text + ":";
    for (const Name &element : generic.elements)
      out += " " + element.text;
  }
  return out;
}

std::string printSource(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::Int:
    return std::to_string(expr.cast<IntLit>().value);
  case ExprKind::Float: {
    std::string text = number(expr.cast<FloatLit>().value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  case ExprKind::Quantity: {
    const auto &quantity = expr.cast<QuantityLit>();
    return number(quantity.value) + quantity.unit.text;
  }
  case ExprKind::String:
    return stringLiteral(expr.cast<StringLit>().value);
  case ExprKind::Bool:
    return expr.cast<BoolLit>().value ? "true" : "false";
  case ExprKind::Name:
    return expr.cast<NameExpr>().name;
  case ExprKind::List: {
    std::string out;
    for (const ExprPtr &item : expr.cast<ListExpr>().items)
      out += (out.empty() ? "" : ", ") + printSource(*item);
    return "[" + out + "]";
  }
  case ExprKind::Record:
    return "{ " + settings(expr.cast<RecordExpr>().fields, [](auto &f) { return f.name.text; }) +
           " }";
  case ExprKind::Field:
    return operand(*expr.cast<FieldExpr>().base) + "." + expr.cast<FieldExpr>().field.text;
  case ExprKind::Call:
    return operand(*expr.cast<CallExpr>().callee) + argList(expr.cast<CallExpr>().args);
  case ExprKind::Index:
    return operand(*expr.cast<IndexExpr>().base) + "[" +
           settings(expr.cast<IndexExpr>().settings, [](auto &s) { return s.axis.text; }) + "]";
  case ExprKind::Unary: {
    const auto &unary = expr.cast<UnaryExpr>();
    return std::string(spelling(unary.op)) + (unary.op == UnaryOp::Not ? " " : "") +
           operand(*unary.operand);
  }
  case ExprKind::Binary: {
    const auto &binary = expr.cast<BinaryExpr>();
    return operand(*binary.lhs) + " " + spelling(binary.op) + " " + operand(*binary.rhs);
  }
  case ExprKind::Range: {
    const auto &range = expr.cast<RangeExpr>();
    return operand(*range.low) + (range.closed ? " ..= " : " .. ") + operand(*range.high);
  }
  case ExprKind::If: {
    const auto &choice = expr.cast<IfExpr>();
    return "if " + printSource(*choice.condition) + " then " + printSource(*choice.thenValue) +
           " else " + printSource(*choice.elseValue);
  }
  case ExprKind::Pipe:
    return printSource(*expr.cast<PipeExpr>().input) + " |> ...";
  case ExprKind::Draw: {
    const auto &draw = expr.cast<DrawExpr>();
    return "draw " + draw.distribution.text + (draw.args ? argList(*draw.args) : "") +
           (draw.per ? " per " + printAxes(*draw.per) : "");
  }
  case ExprKind::Each:
  case ExprKind::Map:
  case ExprKind::Window:
  case ExprKind::Search:
    return std::string(spelling(expr.kind)) + " (...) { ... }";
  }
  return "";
}

} // namespace penstock::dsl
