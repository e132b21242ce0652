// SPDX-License-Identifier: Apache-2.0
//
// Operators as they are written.
#include "compiler/Import/Expressions/Expressions.h"
#include "dsl/AST/Spelling.h"

using namespace penstock::importer;
using penstock::dsl::BinaryOp;
using penstock::pipe::BinaryKind;
using penstock::pipe::Predicate;
using penstock::pipe::UnaryKind;

/// `interpolation == nearest`: a parameter that takes a word, and a word.
std::optional<bool> Expressions::sameWord(const dsl::BinaryExpr &expr) {
  const auto *lhs = expr.lhs->as<dsl::NameExpr>(), *rhs = expr.rhs->as<dsl::NameExpr>();
  if (!lhs || !rhs || (expr.op != BinaryOp::Eq && expr.op != BinaryOp::Ne))
    return std::nullopt;
  auto parameter = frame().values.find(lhs->name);
  if (parameter == frame().values.end() || !parameter->second.is(Kind::Word))
    return std::nullopt;
  Val other = evalArg(*rhs).value;
  if (!other.is(Kind::Word))
    return std::nullopt;
  return (parameter->second.word == other.word) == (expr.op == BinaryOp::Eq);
}

/// The right side of `and` and `or`: where the left one has decided, nothing is wrong with it.
Val Expressions::evalBehind(const dsl::BinaryExpr &expr, const Val &before) {
  if (!regions.empty() || !before.is(Kind::Number) || !before.ir.getType().isSignlessInteger(1))
    return eval(*expr.rhs);
  OwnedBlock block(new mlir::Block());
  Val value;
  {
    BaseGuard inside(base, block.get());
    value = eval(*expr.rhs);
  }
  if (!block->getOps<pipe::CheckOp>().empty())
    hoistChecks(block.get(), expr.op == BinaryOp::Or ? before.ir
                                                     : base.createOrFold<pipe::UnaryOp>(
                                                           here, UnaryKind::bit_not, before.ir));
  base.getInsertionBlock()->getOperations().splice(base.getInsertionPoint(),
                                                   block->getOperations());
  return value;
}

Val Expressions::evalBinary(const dsl::BinaryExpr &expr) {
  if (std::optional<bool> same = sameWord(expr))
    return number(constant(base.getI1Type(), *same));
  if (expr.op == BinaryOp::Eq || expr.op == BinaryOp::Ne)
    for (const auto *side : {&expr.lhs, &expr.rhs})
      if ((*side)->kind == dsl::ExprKind::String)
        fail((*side)->range, "texts are not compared",
             "a column `kind = classes(\"cat\", \"dog\")` has numbers of names: `row.kind == 0`");
  Val a = eval(*expr.lhs);
  Val b =
      expr.op == BinaryOp::And || expr.op == BinaryOp::Or ? evalBehind(expr, a) : eval(*expr.rhs);
  PlaceGuard guard(*this, expr.opRange);
  const std::string spelling = dsl::spelling(expr.op);
  mlir::Type boolean = base.getI1Type();
  auto compared = [&](Predicate predicate, Val x, Val y) {
    demandSameUnit(spelling, x, y, expr.opRange);
    unify(spelling, x, y, expr.opRange);
    return lift(
        {x, y}, boolean, [&](auto v) { return compare(predicate, v[0], v[1]); }, expr.opRange);
  };
  auto logical = [&](BinaryKind kind, const Val &x, const Val &y) {
    for (const Val *side : {&x, &y})
      if (!elementType(*side) || !elementType(*side).isSignlessInteger(1))
        fail((side == &x ? expr.lhs : expr.rhs)->range,
             quote(spelling) + " combines truth values, and this is " + show(*side));
    return lift({x, y}, boolean, [&](auto v) { return binary(kind, v[0], v[1]); }, expr.opRange);
  };
  switch (expr.op) {
  case BinaryOp::Or:
    return logical(BinaryKind::bit_or, a, b);
  case BinaryOp::And:
    return logical(BinaryKind::bit_and, a, b);
  case BinaryOp::Eq:
    return compared(Predicate::eq, a, b);
  case BinaryOp::Ne:
    return compared(Predicate::ne, a, b);
  case BinaryOp::Lt:
    return compared(Predicate::lt, a, b);
  case BinaryOp::Le:
    return compared(Predicate::le, a, b);
  case BinaryOp::Gt:
    return compared(Predicate::gt, a, b);
  case BinaryOp::Ge:
    return compared(Predicate::ge, a, b);
  case BinaryOp::In:
    if (!b.is(Kind::Range))
      fail(expr.rhs->range, "`in` asks for a range such as `0 .. 10`, and this is " + show(b),
           b.is(Kind::List)
               ? "`x == 1 or x == 2`; of many, a `const` of truth values: `takes[k = x]`"
               : "");
    return logical(BinaryKind::bit_and, compared(Predicate::ge, a, b.parts[0]),
                   compared(b.closed ? Predicate::le : Predicate::lt, a, b.parts[1]));
  default:
    return arithmetic(spelling, a, b, expr.opRange);
  }
}

Val Expressions::evalUnary(const dsl::UnaryExpr &expr) {
  Val value = eval(*expr.operand);
  if (value.is(Kind::Poison))
    throw Abort{};
  PlaceGuard guard(*this, expr.opRange);
  mlir::Type type = elementType(value);
  const bool isNot = expr.op == dsl::UnaryOp::Not;
  if (!type || isNot != type.isSignlessInteger(1))
    fail(expr.operand->range, isNot ? "`not` takes true or false, and this is " + show(value)
                                    : "`-` takes a number, and this is " + show(value));
  if (type.isF16() || type.isBF16()) {
    type = base.getF32Type();
    value = castTo(pipe::CastMode::value, value, type, expr.range);
  }
  Val result = lift(
      {value}, type,
      [&](auto v) {
        return builderFor(v).template createOrFold<pipe::UnaryOp>(
            here, isNot ? UnaryKind::bit_not : UnaryKind::neg, v[0]);
      },
      expr.opRange);
  result.untyped = value.untyped;
  result.unit = value.unit;
  return result;
}
