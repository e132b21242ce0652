// SPDX-License-Identifier: Apache-2.0
//
// Operators on numbers, tensors and neighbours.
#include "compiler/Import/Values/Arithmetic.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

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

Val Arithmetic::lift(llvm::ArrayRef<Val> operands, mlir::Type result, const ScalarFn &fn,
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

/// Pixels divided by the largest one there is: `x / 255` of u8 leaves 0 and 1.
void Arithmetic::warnOfScaling(const Val &a, const Val &b, mlir::Type type,
                               dsl::SourceRange range) {
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type);
  const std::optional<int64_t> divisor = b.is(Kind::Number) ? constantInt(b.ir) : std::nullopt;
  if (!integer || integer.getWidth() > 16 || !divisor || range.file != program.main->id ||
      (a.is(Kind::Number) && !isElementLocal(a.ir)))
    return;
  const unsigned bits = integer.getWidth() - (integer.isUnsigned() ? 0 : 1);
  if (*divisor == (int64_t(1) << bits) - 1)
    diagnostics
        .warning(range, "`/` of " + show(type) + " drops the fraction, and leaves " +
                            (integer.isUnsigned() ? "0 or 1" : "-1, 0 or 1"))
        .hint("`f32(x) / " + std::to_string(*divisor) + ".0`");
}

/// Numbers that were written down: `1 / 2` is 0.
void Arithmetic::warnOfQuotient(const Val &a, const Val &b, dsl::SourceRange range) {
  const auto own = a.is(Kind::Number) && a.untyped ? constantInt(a.ir) : std::nullopt,
             other = b.is(Kind::Number) && b.untyped ? constantInt(b.ir) : std::nullopt;
  if (own && other && *own > 0 && *own < *other && range.file == program.main->id)
    diagnostics.warning(range, "`/` of whole numbers drops the fraction, and this is 0")
        .hint(quote(std::to_string(*own) + ".0 / " + std::to_string(*other) + ".0"));
}

void Arithmetic::demandSameUnit(const std::string &spelling, const Val &a, const Val &b,
                                dsl::SourceRange range) {
  if (a.unit != b.unit)
    fail(range, quote(spelling) + " of two quantities with different units: " + show(a) + " and " +
                    show(b));
}

/// Reports products and quotients of two quantities that are no numbers.
void Arithmetic::demandUnitsCancel(BinaryKind kind, const std::string &spelling, const Val &a,
                                   const Val &b, dsl::SourceRange range) {
  const bool isRate = (a.unit == dsl::UnitKind::Duration && b.unit == dsl::UnitKind::Frequency) ||
                      (a.unit == dsl::UnitKind::Frequency && b.unit == dsl::UnitKind::Duration);
  if (kind == BinaryKind::mul ? !isRate : a.unit != b.unit)
    fail(range, quote(spelling) + " of " + show(a) + " and " + show(b) + " is no number",
         kind == BinaryKind::mul ? "a duration times a frequency is one"
                                 : "quantities are divided by others of their kind");
}

Val Arithmetic::arithmetic(const std::string &spelling, Val a, Val b, dsl::SourceRange range) {
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
                    kind == BinaryKind::max || kind == BinaryKind::rem;
  if (sums)
    demandSameUnit(spelling, a, b, range);
  else if (a.unit && b.unit)
    demandUnitsCancel(kind, spelling, a, b, range);
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
  if (kind == BinaryKind::div) {
    warnOfScaling(a, b, type, range);
    warnOfQuotient(a, b, range);
  }
  const bool untyped = a.untyped;
  Val result = lift({a, b}, type, [&](auto v) { return binary(kind, v[0], v[1]); }, range);
  result.untyped = untyped;
  result.unit = unit;
  return result;
}
