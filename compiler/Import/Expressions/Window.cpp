// SPDX-License-Identifier: Apache-2.0
//
// Neighbourhoods.
#include "compiler/Import/Expressions/Expressions.h"

using namespace penstock::importer;

Val Expressions::evalWindow(const dsl::WindowExpr &window) {
  Val input = eval(*window.bind.domain);
  if (!input.is(Kind::Tensor)) {
    if (input.is(Kind::Poison))
      throw Abort{};
    fail(window.bind.domain->range, "`window` runs over a tensor, and this is " + show(input));
  }
  PlaceGuard guard(*this, window.range);
  std::vector<Dim> domain = dims(input.ir);
  mlir::Type element = elementType(input);

  pipe::Border border = pipe::Border::edge;
  mlir::Value fill;
  std::vector<Val::GridAxis> grid;
  llvm::SmallVector<mlir::Attribute> over;
  llvm::SmallVector<int64_t> low, high;
  size_t count = 1;
  for (const dsl::AxisSetting &setting : window.extents) {
    if (setting.axis.text == "border") {
      Argument arg = evalArg(*setting.value);
      border = borderNamed(arg);
      continue;
    }
    Val value = eval(*setting.value);
    if (setting.axis.text == "fill") {
      std::optional<Val> converted = convert(value, element);
      if (!converted)
        fail(setting.value->range, "the fill of " + show(input) + " must be " + show(element) +
                                       ", and this is " + show(value));
      fill = converted->ir;
      border = pipe::Border::constant;
      continue;
    }
    std::string axis = axisNamed(setting.axis.text);
    if (!find(domain, axis))
      failAxis(setting.axis.range, "`window`", axis, input, window.bind.domain->range);
    demandKnown(domain, axis, setting.axis.range);
    if (!value.is(Kind::Range))
      fail(setting.value->range,
           "a window spans a range such as `-1 ..= 1`, and this is " + show(value));
    auto [from, to] =
        demandIntEnds(value, setting.value->range, "the start of a window", "the end of a window");
    to -= value.closed ? 0 : 1;
    if (from > to)
      fail(setting.value->range, "this window is empty along axis " + quote(axis));
    grid.push_back({axis, from, to - from + 1, true});
    low.push_back(from);
    high.push_back(to);
    over.push_back(base.getStringAttr(axis));
    count *= static_cast<size_t>(to - from + 1);
    if (count > 4096)
      notYet(setting.value->range, "a window of more than 4096 elements");
  }
  if (border == pipe::Border::constant && !fill)
    fill = constant(element, 0);

  auto once = [&](size_t which, Val &form) {
    ElementRegion region;
    region.domain = domain;
    region.takesInputs = false;
    Val result;
    bool untyped = false;
    BinderScope names(frames);
    names.hide(window.bind.name.text);
    auto body = [&]() {
      Val neighbours;
      neighbours.kind = Kind::Neighbours;
      neighbours.grid = grid;
      for (size_t i = 0; i < count; ++i)
        neighbours.parts.push_back(number(region.block->getArgument(static_cast<unsigned>(i))));
      bind(window.bind.name, neighbours);
      form = evalBlock(window.body);
      const Val &chosen = numberAt(form, which);
      untyped = chosen.untyped;
      return std::vector<mlir::Value>{bodyScalar(chosen, window.body.result->range, "`window`")};
    };
    inRegion(region, llvm::SmallVector<mlir::Type>(count, element), body, [&](mlir::Block *block) {
      mlir::Type type = block->getTerminator()->getOperand(0).getType();
      auto op =
          base.create<pipe::WindowOp>(here, tensorOf(type, domain), border, input.ir,
                                      base.getArrayAttr(over), low, high, fill, sizesOf(domain));
      op.getBody().push_back(block);
      result = tensor(op);
      result.untyped = untyped;
    });
    return result;
  };
  try {
    return forEachNumber(window.body.result->range, once);
  } catch (const OuterElement &) {
    notYet(window.range, "a `window` inside a `map` that uses the outer one's element");
  }
}

/// The elements from `low` to `high` along an axis, whose places keep their numbers.
static Val sliced(const Val &value, size_t axis, int64_t low, int64_t high) {
  Val out = value;
  out.grid[axis] = {value.grid[axis].name, low, high - low};
  out.parts.clear();
  forEachPlace(out.grid, [&](llvm::ArrayRef<int64_t> at) {
    std::vector<int64_t> from(at.begin(), at.end());
    from[axis] += low - value.grid[axis].low;
    out.parts.push_back(value.parts[placeIn(value.grid, from)]);
  });
  return out;
}

/// The element at `place` along an axis, where `sort` of the very elements gave the place; else
/// null.
mlir::Value Expressions::sortedElement(const Val &value, size_t axis, std::vector<int64_t> at,
                                       mlir::Value place) {
  const auto sorted = regions.empty() ? SortedPlace() : regions.back()->sorted.lookup(place);
  if (sorted.low != value.grid[axis].low ||
      static_cast<int64_t>(sorted.elements.size()) != value.grid[axis].extent)
    return {};
  for (const mlir::Value element : sorted.elements) {
    if (value.parts[placeIn(value.grid, at)].ir != element)
      return {};
    ++at[axis];
  }
  return sorted.element;
}

Val Expressions::chosen(const Val &value, size_t axis, const Val &where, dsl::SourceRange range) {
  const Val::GridAxis mine = value.grid[axis];
  if (mine.extent > 64)
    notYet(range, "a computed place among more than 64 elements of a window");
  // The axes of the places stand for the one that is read.
  Val out;
  out.kind = Kind::Neighbours;
  for (const Val::GridAxis &other : where.grid)
    out.grid.push_back(other);
  const size_t own = out.grid.size();
  for (size_t k = 0; k < value.grid.size(); ++k)
    if (k != axis && llvm::none_of(where.grid, [&](const Val::GridAxis &a) {
          return a.name == value.grid[k].name;
        }))
      out.grid.push_back(value.grid[k]);
  forEachPlace(out.grid, [&](llvm::ArrayRef<int64_t> at) {
    mlir::Value place =
        where.is(Kind::Number) ? where.ir : where.parts[placeIn(where.grid, at.take_front(own))].ir;
    std::vector<int64_t> from(value.grid.size());
    for (size_t k = 0; k < value.grid.size(); ++k)
      for (size_t j = 0; j < out.grid.size(); ++j)
        if (k != axis && out.grid[j].name == value.grid[k].name)
          from[k] = at[j];
    if (mlir::Value element = sortedElement(value, axis, from, place)) {
      out.parts.push_back(number(element));
      return;
    }
    place = demandIndex(number(place), range, "a place in a window");
    mlir::Value result;
    for (int64_t i = mine.extent; i-- > 0;) { // beyond the ends, the nearest
      from[axis] = i;
      mlir::Value element = value.parts[placeIn(value.grid, from)].ir;
      result = result ? select(compare(pipe::Predicate::le, place, intConstant(mine.low + i)),
                               element, result)
                      : element;
    }
    out.parts.push_back(number(result));
  });
  return out;
}

/// Places count from 0, and neighbours do not.
void Expressions::warnOfPlace(const dsl::Expr &index, const Val::GridAxis &axis) {
  const auto *call = index.as<dsl::CallExpr>();
  const auto *name = call ? call->callee->as<dsl::NameExpr>() : nullptr;
  if (axis.low == 0 || !name || (name->name != "argmin" && name->name != "argmax"))
    return;
  diagnostics
      .warning(index.range, quote(name->name) +
                                " counts neighbours from 0, and this window goes from " +
                                std::to_string(axis.low) + " along " + quote(axis.name))
      .hint(quote(name->name + "(...) " + (axis.low < 0 ? "- " : "+ ") +
                  std::to_string(std::abs(axis.low))));
}

Val Expressions::indexNeighbours(const Val &value, const dsl::IndexExpr &index) {
  Val current = value;
  for (const dsl::AxisSetting &setting : index.settings) {
    std::string axis = axisNamed(setting.axis.text);
    size_t k = 0;
    while (k < current.grid.size() && current.grid[k].name != axis)
      ++k;
    if (k == current.grid.size())
      fail(setting.axis.range, "these elements do not span axis " + quote(axis));
    const Val::GridAxis mine = current.grid[k];
    const dsl::SourceRange place = setting.value->range;
    Val where = eval(*setting.value);
    warnOfPlace(*setting.value, mine);
    auto demandInside = [&](int64_t low, int64_t high) {
      if (low < mine.low || high > mine.low + mine.extent)
        fail(place, std::string(mine.ofWindow ? "this window" : "this tensor") + " spans " +
                        std::to_string(mine.low) +
                        " ..= " + std::to_string(mine.low + mine.extent - 1) + " along axis " +
                        quote(axis) + ", not " + std::to_string(low < mine.low ? low : high - 1));
    };
    if (where.is(Kind::Range)) {
      auto [low, high] = demandIntEnds(where, place, "the start of a slice", "the end of a slice");
      high += where.closed ? 1 : 0;
      demandInside(low, high);
      if (low >= high)
        fail(place,
             std::string("this slice of a ") + (mine.ofWindow ? "window" : "tensor") + " is empty");
      current = sliced(current, k, low, high);
      if (!mine.ofWindow)
        current.grid[k].low = 0;
      continue;
    }
    if (where.is(Kind::Neighbours) || (where.is(Kind::Number) && isElementLocal(where.ir))) {
      current = chosen(current, k, where, place);
      continue;
    }
    const int64_t at = demandInt(where, place, "a place in a window");
    demandInside(at, at + 1);
    int64_t inner = 1;
    for (size_t j = k + 1; j < current.grid.size(); ++j)
      inner *= current.grid[j].extent;
    Val next = current;
    next.parts.clear();
    next.grid.erase(next.grid.begin() + static_cast<std::ptrdiff_t>(k));
    for (size_t i = 0; i < current.parts.size(); ++i)
      if ((static_cast<int64_t>(i) / inner) % mine.extent == at - mine.low)
        next.parts.push_back(current.parts[i]);
    current = next;
  }
  return current.grid.empty() ? current.parts.front() : current;
}
