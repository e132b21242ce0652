//===- Arithmetic.cpp - operators on numbers, tensors and neighbours ------===//

#include "compiler/Import/Places.h"

using namespace penstock::importer;
using penstock::dsl::BinaryOp;
using penstock::pipe::BinaryKind;
using penstock::pipe::Predicate;
using penstock::pipe::UnaryKind;

/// The elements of `value` spread over `grid`, one per neighbour.
static std::vector<mlir::Value> spread(const Val &value, const std::vector<Val::GridAxis> &grid) {
  std::vector<mlir::Value> result{{}};
  std::vector<int64_t> index(grid.size(), 0);
  result.clear();
  int64_t count = 1;
  for (const Val::GridAxis &axis : grid)
    count *= axis.extent;
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (const Val::GridAxis &mine : value.grid)
      for (size_t k = 0; k < grid.size(); ++k)
        if (grid[k].name == mine.name)
          at = at * mine.extent + index[k];
    result.push_back(value.parts[static_cast<size_t>(at)].ir);
    for (size_t k = grid.size(); k-- > 0;) {
      if (++index[k] < grid[k].extent)
        break;
      index[k] = 0;
    }
  }
  return result;
}

Val Importer::lift(llvm::ArrayRef<Val> operands, mlir::Type result, const ScalarFn &fn,
                   dsl::SourceRange range) {
  const Val *widest = nullptr;
  bool neighbours = false, local = false;
  for (const Val &operand : operands) {
    neighbours |= operand.is(Kind::Neighbours);
    local |= operand.is(Kind::Number) && isElementLocal(operand.ir);
    if (operand.is(Kind::Tensor) &&
        (!widest || operand.tensorType().getRank() > widest->tensorType().getRank()))
      widest = &operand;
  }
  if (neighbours) {
    std::vector<Val::GridAxis> grid;
    for (const Val &operand : operands)
      if (operand.grid.size() > grid.size())
        grid = operand.grid;
    std::vector<std::vector<mlir::Value>> columns;
    size_t count = 1;
    for (const Val &operand : operands) {
      Val aligned = operand;
      if (operand.is(Kind::Tensor))
        aligned = onGrid(operand, grid, range);
      for (const Val::GridAxis &axis : aligned.grid) {
        auto same = [&](const Val::GridAxis &other) {
          return other.name == axis.name && other.extent == axis.extent;
        };
        if (llvm::none_of(grid, same))
          fail(range, "these neighbourhoods differ along axis " + quote(axis.name));
      }
      columns.push_back(aligned.is(Kind::Neighbours) ? spread(aligned, grid)
                                                     : std::vector<mlir::Value>{aligned.ir});
      count = std::max(count, columns.back().size());
    }
    Val out;
    out.kind = Kind::Neighbours;
    out.grid = grid;
    for (size_t i = 0; i < count; ++i) {
      std::vector<mlir::Value> scalars;
      for (auto &column : columns)
        scalars.push_back(column.size() == 1 ? column[0] : column[i]);
      out.parts.push_back(number(fn(scalars)));
    }
    return out;
  }
  auto scalarsHere = [&]() {
    std::vector<mlir::Value> scalars;
    for (const Val &operand : operands)
      scalars.push_back(operand.is(Kind::Tensor) ? elementHere(operand.ir, range) : operand.ir);
    return scalars;
  };
  if (!widest || local)
    return number(fn(scalarsHere()));
  std::vector<Dim> domain = dims(widest->ir);
  for (const Val &operand : operands) {
    if (!operand.is(Kind::Tensor))
      continue;
    for (const Dim &axis : dims(operand.ir)) {
      Dim *mine = const_cast<Dim *>(find(domain, axis.axis.name));
      if (!mine)
        fail(range,
             "the axes of " + show(*widest) + " and " + show(operand) +
                 " do not fit: one side must have all axes of the other",
             "an outer product is written with both in the binders of a `map`");
      if (!sameExtent(*mine, axis))
        fail(range, "axis " + quote(axis.axis.name) + " has " + std::to_string(mine->axis.extent) +
                        " elements on one side and " + std::to_string(axis.axis.extent) +
                        " on the other");
      if (mine->axis.metadata.empty())
        mine->axis.metadata = axis.axis.metadata;
    }
  }
  return tensor(buildMap(domain, result, [&](ElementRegion &) { return fn(scalarsHere()); }));
}

Val Importer::arithmetic(const std::string &spelling, Val a, Val b, dsl::SourceRange range) {
  static const std::map<std::string, BinaryKind> kinds = {
      {"+", BinaryKind::add},         {"-", BinaryKind::sub},
      {"*", BinaryKind::mul},         {"/", BinaryKind::div},
      {"%", BinaryKind::rem},         {"min", BinaryKind::min},
      {"max", BinaryKind::max},       {"bit_and", BinaryKind::bit_and},
      {"bit_or", BinaryKind::bit_or}, {"bit_xor", BinaryKind::bit_xor},
      {"shl", BinaryKind::shl},       {"shr", BinaryKind::shr}};
  const BinaryKind kind = kinds.at(spelling);
  std::optional<dsl::UnitKind> unit;
  const bool sums = kind == BinaryKind::add || kind == BinaryKind::sub || kind == BinaryKind::min ||
                    kind == BinaryKind::max;
  if (sums && a.is(Kind::Number) && b.is(Kind::Number) && a.unit != b.unit)
    fail(range, quote(spelling) + " of two quantities with different units");
  if (sums || !b.unit)
    unit = a.unit;
  else if (kind == BinaryKind::mul && !a.unit)
    unit = b.unit;
  mlir::Type type = unify(spelling, a, b, range);
  if (type.isSignlessInteger(1))
    fail(range, quote(spelling) + " of bool", "`and`, `or`, `not` combine truth values");
  const bool bits = kind == BinaryKind::bit_and || kind == BinaryKind::bit_or ||
                    kind == BinaryKind::bit_xor || kind == BinaryKind::shl ||
                    kind == BinaryKind::shr;
  if (bits && llvm::isa<mlir::FloatType>(type))
    fail(range, quote(spelling) + " takes whole numbers, not " + show(type),
         quote("i64.bits(x)") + " gives the bits of an f64");
  const bool loose = a.loose;
  Val result = lift({a, b}, type, [&](auto v) { return binary(kind, v[0], v[1]); }, range);
  result.loose = loose;
  result.unit = unit;
  return result;
}

/// `interpolation == nearest`: a parameter that takes a word, and a word.
std::optional<bool> Importer::sameWord(const dsl::BinaryExpr &expr) {
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

Val Importer::evalBinary(const dsl::BinaryExpr &expr) {
  if (std::optional<bool> same = sameWord(expr))
    return number(constant(base.getI1Type(), *same));
  Val a = eval(*expr.lhs);
  Val b = eval(*expr.rhs);
  PlaceGuard guard(*this, expr.opRange);
  const std::string spelling = dsl::spelling(expr.op);
  mlir::Type boolean = base.getI1Type();
  auto compared = [&](Predicate predicate, Val x, Val y) {
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
      fail(expr.rhs->range, "`in` asks for a range such as `0 .. 10`, and this is " + show(b));
    return logical(BinaryKind::bit_and, compared(Predicate::ge, a, b.parts[0]),
                   compared(b.closed ? Predicate::le : Predicate::lt, a, b.parts[1]));
  default:
    return arithmetic(spelling, a, b, expr.opRange);
  }
}

Val Importer::evalUnary(const dsl::UnaryExpr &expr) {
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
  result.loose = value.loose;
  result.unit = value.unit;
  return result;
}
