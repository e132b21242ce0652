// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics on the small tensors of elements.
//
// A window's neighbours, and stacks of elements, are scalars on a small
// grid. Here are the intrinsics that move or order them; none of them is an op.
#include "compiler/Import/Intrinsics/Intrinsics.h"

#include <limits>

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::CastMode;
using penstock::pipe::Predicate;

/// Most elements that are put in order, or chosen from, one by one.
static constexpr int64_t mostOrdered = 64;
/// Up to so many, the middle one alone takes fewer operations than its part of a network for all.
static constexpr int64_t fewOrdered = 9;

bool Intrinsics::isSmall(const Val &value) const {
  if (value.is(Kind::List))
    return !regions.empty() && llvm::any_of(value.parts, [&](const Val &part) {
      return isSmall(part) || isElement(part);
    });
  return value.is(Kind::Neighbours);
}

bool Intrinsics::isElement(const Val &value) const {
  return value.is(Kind::Number) && isElementLocal(value.ir);
}

size_t Intrinsics::gridAxis(const Val &value, const std::string &axis, dsl::SourceRange range,
                            const std::string &function) {
  for (size_t k = 0; k < value.grid.size(); ++k)
    if (value.grid[k].name == axis)
      return k;
  failAxis(range, quote(function), axis, value, range);
}

std::string Intrinsics::smallAxis(const Argument &arg, const std::string &function) {
  return demandAxis(arg, nullptr, function);
}

/// The elements in another order: `from` gives the place of each in the old grid.
static Val rearranged(const Val &value, std::vector<Val::GridAxis> grid,
                      const std::function<std::vector<int64_t>(llvm::ArrayRef<int64_t>)> &from) {
  Val out;
  out.kind = Kind::Neighbours;
  out.grid = std::move(grid);
  out.untyped = value.untyped;
  forEachPlace(out.grid, [&](llvm::ArrayRef<int64_t> at) {
    out.parts.push_back(value.parts[placeIn(value.grid, from(at))]);
  });
  return out;
}

/// Pairs of places whose elements, the lower one first, are put in order one after the other
/// (Batcher, odd-even merge sort).
static void forEachPair(size_t count, const std::function<void(size_t, size_t)> &order) {
  for (size_t run = 1; run < count; run *= 2)
    for (size_t apart = run; apart >= 1; apart /= 2)
      for (size_t first = apart % run; first + apart < count; first += 2 * apart)
        for (size_t i = first; i < std::min(first + apart, count - apart); ++i)
          if (i / (2 * run) == (i + apart) / (2 * run))
            order(i, i + apart);
}

/// A network over entries of several numbers each; `order` puts two of them in order.
template <typename Entry>
static void sortEntries(std::vector<Entry> &entries,
                        const std::function<void(Entry &, Entry &)> &order) {
  forEachPair(entries.size(), [&](size_t i, size_t j) { order(entries[i], entries[j]); });
}

void Intrinsics::orderKeys(mlir::Value &a, mlir::Value &b) {
  const mlir::Value least = binary(BinaryKind::min, a, b);
  b = binary(BinaryKind::max, a, b);
  a = least;
}

std::vector<mlir::Value> Intrinsics::keysInOrder(std::vector<mlir::Value> keys) {
  sortEntries<mlir::Value>(keys, [&](mlir::Value &a, mlir::Value &b) { orderKeys(a, b); });
  return keys;
}

mlir::Value Intrinsics::middleKey(const std::vector<mlir::Value> &keys) {
  // Of more than half of all, neither the least nor the greatest is the middle one: another one
  // takes their place.
  size_t next = std::min(keys.size() / 2 + 2, keys.size());
  std::vector<mlir::Value> left(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(next));
  while (left.size() > 1) {
    const size_t last = left.size() - 1, half = left.size() / 2;
    for (size_t i = 0; i < half; ++i)
      orderKeys(left[i], left[last - i]);
    if (left.size() % 2)
      orderKeys(left[half - 1], left[half]);
    for (size_t i = half - 1; i > 0; --i)
      orderKeys(left[i - 1], left[i]);
    for (size_t i = half; i < last; ++i)
      orderKeys(left[i], left[i + 1]);
    left.pop_back();
    left.erase(left.begin());
    if (next < keys.size())
      left.push_back(keys[next++]);
  }
  return left.front();
}

std::vector<mlir::Value> Intrinsics::placesInOrder(const std::vector<mlir::Value> &keys) {
  const unsigned width = keys.front().getType().getIntOrFloatBitWidth();
  std::vector<mlir::Value> places;
  if (width <= 32) { // a key and its place are one number, and so no two are equal
    mlir::Type both = base.getIntegerType(2 * width);
    auto number = [&](int64_t value) {
      return base.create<pipe::ConstantOp>(here, both, mlir::IntegerAttr::get(both, value))
          .getResult();
    };
    for (size_t i = 0; i < keys.size(); ++i)
      places.push_back(
          binary(BinaryKind::add,
                 binary(BinaryKind::mul, cast(CastMode::value, keys[i], both), number(mostOrdered)),
                 number(static_cast<int64_t>(i))));
    for (mlir::Value &place : places = keysInOrder(places))
      place = cast(CastMode::value, binary(BinaryKind::bit_and, place, number(mostOrdered - 1)),
                   base.getI64Type());
    return places;
  }
  using Entry = std::pair<mlir::Value, mlir::Value>; // a key and its place
  std::vector<Entry> entries;
  for (const mlir::Value key : keys)
    entries.emplace_back(key, intConstant(static_cast<int64_t>(entries.size())));
  sortEntries<Entry>(entries, [&](Entry &a, Entry &b) {
    const mlir::Value swap =
        binary(BinaryKind::bit_or, compare(Predicate::lt, b.first, a.first),
               binary(BinaryKind::bit_and, compare(Predicate::eq, b.first, a.first),
                      compare(Predicate::lt, b.second, a.second)));
    const Entry least = {select(swap, b.first, a.first), select(swap, b.second, a.second)};
    b = {select(swap, a.first, b.first), select(swap, a.second, b.second)};
    a = least;
  });
  for (const Entry &entry : entries)
    places.push_back(entry.second);
  return places;
}

Val Intrinsics::sortSmall(const Val &value, size_t axis, dsl::SourceRange range) {
  const int64_t length = value.grid[axis].extent;
  if (length > mostOrdered)
    notYet(range, "`sort` of more than 64 elements of a window");
  Val out = value;
  std::vector<Val::GridAxis> others = value.grid;
  others[axis].extent = 1;
  forEachPlace(others, [&](llvm::ArrayRef<int64_t> place) {
    std::vector<int64_t> at(place.begin(), place.end());
    std::vector<size_t> places;
    std::vector<mlir::Value> elements, keys;
    for (int64_t i = 0; i < length; ++i) {
      at[axis] = i;
      places.push_back(placeIn(value.grid, at));
      elements.push_back(value.parts[places.back()].ir);
      keys.push_back(sortKey(elements.back(), true));
    }
    // Elements read at these places come from their keys, without the places: equal keys are equal
    // elements.
    std::vector<mlir::Value> inOrder = keysInOrder(keys);
    if (length % 2 == 1 && length <= fewOrdered)
      inOrder[static_cast<size_t>(length / 2)] = middleKey(keys);
    const std::vector<mlir::Value> from = placesInOrder(keys);
    for (size_t rank = 0; rank < keys.size(); ++rank) {
      const mlir::Value chosen =
          binary(BinaryKind::add, from[rank], intConstant(value.grid[axis].low));
      out.parts[places[rank]] = number(chosen);
      if (!regions.empty())
        regions.back()->sorted[chosen] = {elements, value.grid[axis].low,
                                          fromSortKey(inOrder[rank], elements.front().getType())};
    }
  });
  return out;
}

// Computes the bits of `pipe.scan`: in f32 where the elements are smaller floats, sums from 0, and
// each element rounded once.
Val Intrinsics::scanSmall(const std::string &name, const Val &value, size_t axis, Args args) {
  mlir::Type element = elementType(value), sums = element;
  if (element.isSignlessInteger(1))
    fail(args[0].range, quote(name) + " takes numbers, and this is " + show(value),
         "`i32(...)` makes 0 and 1 of truth values");
  const bool isFloat = llvm::isa<mlir::FloatType>(element), linear = name == "scan_linear";
  if (linear && (!isFloat || args.size() < 3))
    fail(args[0].range, isFloat ? "`scan_linear` lacks its argument `factor`"
                                : "`scan_linear` takes floats, and this is " + show(value));
  if (element.isF16() || element.isBF16())
    sums = base.getF32Type();
  mlir::Value factor;
  if (linear)
    factor = cast(CastMode::value,
                  demandF64(args[2].value, args[2].range, "the factor of a recurrence"), sums);
  Val out = value;
  std::vector<Val::GridAxis> others = value.grid;
  others[axis].extent = 1;
  forEachPlace(others, [&](llvm::ArrayRef<int64_t> place) {
    std::vector<int64_t> at(place.begin(), place.end());
    mlir::Value sum;
    for (at[axis] = 0; at[axis] < value.grid[axis].extent; ++at[axis]) {
      Val &part = out.parts[placeIn(value.grid, at)];
      mlir::Value next = cast(CastMode::value, part.ir, sums);
      if (!sum && isFloat && name != "scan_max")
        sum = constant(sums, 0.0);
      if (linear)
        sum = binary(BinaryKind::add, next, binary(BinaryKind::mul, factor, sum));
      else if (sum)
        sum = binary(name == "scan_sum" ? BinaryKind::add : BinaryKind::max, sum, next);
      else
        sum = next;
      part = number(cast(CastMode::value, sum, element));
    }
  });
  out.untyped = false;
  return out;
}

Val Intrinsics::joinSmall(bool stack, const Argument &list, const std::string &axis,
                          dsl::SourceRange range) {
  const std::string what = stack ? "stack" : "concat";
  std::vector<Val> parts = list.value.parts;
  for (Val &part : parts) // of the element at hand
    if (part.is(Kind::Tensor))
      part = number(elementHere(part.ir, list.range));
  demandSameType(what, parts, list.range);
  Val out;
  out.kind = Kind::Neighbours;
  const Val *first = &parts.front();
  for (const Val &part : parts)
    if (part.grid.size() > first->grid.size())
      first = &part;
  out.grid = first->grid;
  size_t along = 0;
  while (along < out.grid.size() && out.grid[along].name != axis)
    ++along;
  const bool has = along < out.grid.size();
  if (stack && has)
    fail(range, "the values already have axis " + quote(axis) + ": " + show(*first));
  if (!has) {
    out.grid.insert(out.grid.begin(), {axis, 0, 1});
    along = 0;
  }
  std::vector<int64_t> starts;
  int64_t total = 0;
  for (Val &part : parts) {
    if (part.grid.size() + 1 == out.grid.size()) { // one more element along the axis
      Val grown;
      grown.kind = Kind::Neighbours;
      grown.parts = part.is(Kind::Neighbours) ? part.parts : std::vector<Val>{part};
      grown.grid = part.grid;
      grown.grid.insert(grown.grid.begin() + static_cast<std::ptrdiff_t>(along), {axis, 0, 1});
      part = grown;
    }
    if (part.grid.size() != out.grid.size())
      fail(list.range,
           quote(what) + " joins tensors of one type: " + show(*first) + " and " + show(part));
    for (size_t k = 0; k < out.grid.size(); ++k)
      if (part.grid[k].name != out.grid[k].name ||
          (k != along && part.grid[k].extent != out.grid[k].extent))
        fail(list.range,
             quote(what) + " joins tensors of one type: " + show(*first) + " and " + show(part));
    starts.push_back(total);
    total += part.grid[along].extent;
  }
  out.grid[along] = {axis, 0, total};
  forEachPlace(out.grid, [&](llvm::ArrayRef<int64_t> at) {
    size_t i = parts.size() - 1;
    while (starts[i] > at[along])
      --i;
    std::vector<int64_t> inner(at.begin(), at.end());
    inner[along] -= starts[i];
    out.parts.push_back(parts[i].parts[placeIn(parts[i].grid, inner)]);
  });
  return out;
}

std::optional<Val> Intrinsics::callSmall(const std::string &name, Args args,
                                         dsl::SourceRange range) {
  if (args.empty() || !isSmall(args[0].value))
    return std::nullopt;
  const Val &x = args[0].value;
  auto axisOf = [&](size_t i) {
    if (args.size() <= i)
      fail(range, quote(name) + " lacks its argument");
    return gridAxis(x, smallAxis(args[i], name), args[i].range, name);
  };
  if (name == "stack" || name == "concat") {
    if (args.size() < 2)
      fail(range, quote(name) + " lacks its argument `a`");
    return joinSmall(name == "stack", args[0], smallAxis(args[1], name), args[1].range);
  }
  if (x.is(Kind::List))
    return std::nullopt;
  if (name == "extent") {
    int64_t count = 1;
    if (args.size() > 1 && args[1].value.is(Kind::List))
      for (const Val &part : args[1].value.parts)
        count *= x.grid[gridAxis(x, part.word, args[1].range, name)].extent;
    else
      count = x.grid[axisOf(1)].extent;
    return number(intConstant(count));
  }
  if (name == "index") {
    Val out;
    out.kind = Kind::Neighbours;
    out.grid = {x.grid[axisOf(1)]};
    for (int64_t i = 0; i < out.grid[0].extent; ++i)
      out.parts.push_back(number(intConstant(out.grid[0].low + i)));
    return out;
  }
  if (name == "sort")
    return sortSmall(x, axisOf(1), args[1].range);
  if (name == "scan_sum" || name == "scan_max" || name == "scan_linear")
    return scanSmall(name, x, axisOf(1), args);
  if (name == "compact")
    fail(range, "how many neighbours `compact` leaves would differ from element to element",
         "`map (p in v, q in keep) { if q then p else 0 }` puts something in the place of the "
         "others");
  if (name == "reverse") {
    const size_t axis = axisOf(1);
    return rearranged(x, x.grid, [&](llvm::ArrayRef<int64_t> at) {
      std::vector<int64_t> from(at.begin(), at.end());
      from[axis] = x.grid[axis].extent - 1 - from[axis];
      return from;
    });
  }
  if (name == "rename" && args.size() == 3) {
    Val out = x;
    Val::GridAxis &renamed = out.grid[axisOf(1)];
    renamed.name = smallAxis(args[2], name);
    renamed.ofWindow = false; // an axis like any other
    return out;
  }
  if (name == "merge") {
    const size_t outer = axisOf(1), inner = axisOf(2);
    if (outer == inner)
      fail(args[2].range, "`merge` takes two axes, and these are one");
    const int64_t length = x.grid[inner].extent;
    std::vector<Val::GridAxis> grid = x.grid;
    grid[outer] = {grid[outer].name, 0, grid[outer].extent * length};
    grid.erase(grid.begin() + static_cast<std::ptrdiff_t>(inner));
    const size_t merged = outer - (inner < outer);
    return rearranged(x, grid, [&](llvm::ArrayRef<int64_t> at) {
      std::vector<int64_t> from(at.begin(), at.end());
      const int64_t place = from[merged];
      from.insert(from.begin() + static_cast<std::ptrdiff_t>(inner), place % length);
      from[outer] = place / length;
      return from;
    });
  }
  return std::nullopt;
}
