// SPDX-License-Identifier: Apache-2.0
//
// `map`.
#include "compiler/Import/Expressions/Expressions.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MathExtras.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

mlir::Value Expressions::bodyScalar(const Val &value, dsl::SourceRange range, const char *what) {
  if (value.is(Kind::Poison))
    throw Abort{};
  if (value.is(Kind::Tensor))
    return elementHere(value.ir, range);
  std::string axes;
  for (const Val::GridAxis &axis : value.grid)
    axes += (axes.empty() ? "" : ", ") + axis.name;
  if (!value.is(Kind::Number))
    fail(range,
         std::string("the body of ") + what + " must give one number, and this is " + show(value),
         value.is(Kind::Neighbours) ? "reduce it: `sum(v over [" + axes + "])`"
         : value.is(Kind::List)     ? "`stack([...], k)` gives them an axis"
         : value.is(Kind::Row)      ? "read a field of the row"
                                    : "");
  return value.ir;
}

/// Returns whether a value is a tensor made of one element; neighbours are none.
static bool isSmallTensor(const Val &form) {
  return form.is(Kind::Neighbours) && !form.parts.empty() &&
         llvm::none_of(form.grid, [](const Val::GridAxis &axis) { return axis.ofWindow; });
}

/// Most elements of a tensor that is made inside of a `map` from the `map`'s element.
static constexpr int64_t mostSmall = 64;

/// `isInner`: the tensors among the values are gone through, as neighbours are.
Val Expressions::mapSmall(const dsl::MapExpr &map, std::vector<Val> values, bool isInner) {
  Val out;
  out.kind = Kind::Neighbours;
  auto addAxis = [&](const Val::GridAxis &axis, dsl::SourceRange range) {
    for (const Val::GridAxis &mine : out.grid)
      if (mine.name == axis.name) {
        if (mine.extent != axis.extent)
          fail(range, "axis " + quote(axis.name) + " has " + std::to_string(axis.extent) +
                          " elements here, and " + std::to_string(mine.extent) +
                          " in a binder before");
        return;
      }
    out.grid.push_back(axis);
  };
  std::vector<int64_t> lows(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const dsl::Bind &binder = map.binds[i];
    if (values[i].is(Kind::Neighbours))
      for (const Val::GridAxis &axis : values[i].grid)
        addAxis(axis, binder.range);
    if (isInner && values[i].is(Kind::Tensor))
      for (const Dim &dim : dims(values[i].ir))
        addAxis({dim.axis.name, 0, dim.axis.extent}, binder.range);
    if (!values[i].is(Kind::Range))
      continue;
    int64_t end = 0;
    std::tie(lows[i], end) = demandIntEnds(values[i], binder.range, "the start", "the end");
    addAxis({binder.name.text, 0, end - lows[i] + (values[i].closed ? 1 : 0)}, binder.range);
  }
  int64_t count = 1;
  for (const Val::GridAxis &axis : out.grid)
    count = axis.extent < 1 || count > 4096 ? 4097 : count * axis.extent;
  if (count > 4096)
    notYet(map.range, "a `map` over none, or more than 4096, of the elements of a window");
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].is(Kind::Tensor)) // by its place in the window, as in arithmetic
      values[i] = onGrid(values[i], out.grid, map.binds[i].range);
  BinderScope names(frames);
  for (const dsl::Bind &binder : map.binds)
    names.hide(binder.name.text);
  std::vector<Val> forms;
  smallTensors.push_back({out.grid, regions.size()});
  if (draws.small.depth++ == 0)
    draws.small.paths.clear();
  const auto drawnBefore = draws.small.done;
  auto leave = llvm::make_scope_exit([&]() {
    smallTensors.pop_back();
    if (--draws.small.depth == 0)
      draws.small.done.clear();
  });
  forEachPlace(out.grid, [&](llvm::ArrayRef<int64_t> at) {
    draws.small.done = drawnBefore;
    for (size_t i = 0; i < values.size(); ++i) {
      const Val &value = values[i];
      const dsl::Name &name = map.binds[i].name;
      auto along = [&](const std::string &axis) {
        size_t k = 0;
        while (out.grid[k].name != axis)
          ++k;
        return at[k];
      };
      if (value.is(Kind::Neighbours)) {
        std::vector<int64_t> own;
        for (const Val::GridAxis &axis : value.grid)
          own.push_back(along(axis.name));
        bind(name, value.parts[placeIn(value.grid, own)]);
      } else if (value.is(Kind::Range)) {
        bind(name, number(intConstant(lows[i] + along(name.text))));
      } else {
        bind(name, value);
      }
    }
    forms.push_back(evalBlock(map.body));
  });
  return together(forms, out.grid, map.body.result->range);
}

/// Small tensors, in the form of what each place became: a record of tensors for records, further
/// axes for tensors.
Val Expressions::together(const std::vector<Val> &forms, const std::vector<Val::GridAxis> &grid,
                          dsl::SourceRange range) {
  Val out = forms.front();
  for (const Val &form : forms)
    if (form.kind != out.kind || form.names != out.names || form.grid != out.grid)
      fail(range,
           "this is " + show(out) + " at one place of the `map`, and " + show(form) + " at another",
           "make tensors of one size at all places, with 0 for what some of them lack");
  if (out.is(Kind::Record)) {
    for (size_t field = 0; field < out.parts.size(); ++field) {
      std::vector<Val> column;
      for (const Val &form : forms)
        column.push_back(form.parts[field]);
      out.parts[field] = together(column, grid, range);
    }
    return out;
  }
  const bool isTensor = isSmallTensor(out);
  std::vector<Val> parts;
  for (const Val &form : forms) {
    if (isTensor)
      parts.insert(parts.end(), form.parts.begin(), form.parts.end());
    else
      parts.push_back(number(bodyScalar(form, range, "`map`"), form.untyped));
  }
  Val result;
  result.kind = Kind::Neighbours;
  result.grid = grid;
  if (isTensor)
    result.grid.insert(result.grid.end(), out.grid.begin(), out.grid.end());
  for (size_t axis = grid.size(); axis < result.grid.size(); ++axis)
    for (const Val::GridAxis &outer : grid)
      if (outer.name == result.grid[axis].name)
        fail(range,
             "what each element becomes has axis " + quote(outer.name) + ", which is there already",
             "another name for this axis");
  if (parts.size() > 4096)
    notYet(range, "a tensor of more than 4096 elements made from one");
  result.parts = std::move(parts);
  takeOneType(result.parts, range);
  result.untyped = result.parts.front().untyped;
  return result;
}

/// Elements of a small tensor have one type: numbers that are written down take that of the others.
void Expressions::takeOneType(std::vector<Val> &parts, dsl::SourceRange range) {
  auto isLikeFirst = [&](const Val &part) { return part.ir.getType() == parts[0].ir.getType(); };
  if (llvm::all_of(parts, isLikeFirst))
    return;
  const auto met = llvm::find_if(parts, [&](const Val &candidate) {
    return llvm::all_of(
        parts, [&](const Val &part) { return convert(part, candidate.ir.getType()).has_value(); });
  });
  if (met == parts.end()) {
    const auto other = llvm::find_if(
        parts, [&](const Val &part) { return part.ir.getType() != parts[0].ir.getType(); });
    fail(range, "elements of this `map` are " + show(parts[0]) + ", and others " + show(*other));
  }
  const mlir::Type type = met->ir.getType();
  const bool untyped = llvm::all_of(parts, [](const Val &part) { return part.untyped; });
  for (Val &part : parts) {
    part = *convert(part, type);
    part.untyped = untyped;
  }
}

/// How many numbers an element becomes: those of a small tensor and of a record's fields.
static size_t countNumbers(const Val &form) {
  if (!form.is(Kind::Record))
    return isSmallTensor(form) ? form.parts.size() : 1;
  size_t count = 0;
  for (const Val &field : form.parts)
    count += countNumbers(field);
  return count;
}

const Val &Expressions::numberAt(const Val &form, size_t number) {
  if (!form.is(Kind::Record))
    return isSmallTensor(form) ? form.parts[number] : form;
  for (const Val &field : form.parts) {
    const size_t count = countNumbers(field);
    if (number < count)
      return numberAt(field, number);
    number -= count;
  }
  return form; // of no field
}

Val Expressions::forEachNumber(dsl::SourceRange range,
                               llvm::function_ref<Val(size_t, Val &)> once) {
  const std::map<std::string, int> before = draws.ordinals; // all see the same draws
  Val form;
  std::vector<Val> results{once(0, form)};
  for (size_t number = 1, count = countNumbers(form); number < count; ++number) {
    draws.ordinals = before;
    results.push_back(once(number, form));
  }
  const Val *next = results.data();
  return inForm(form, next, range);
}

Val Expressions::inForm(const Val &form, const Val *&next, dsl::SourceRange range) {
  if (form.is(Kind::Record)) {
    Val result = form;
    for (Val &field : result.parts)
      field = inForm(field, next, range);
    return result;
  }
  if (!isSmallTensor(form))
    return *next++;
  std::vector<Val> parts(next, next + form.parts.size());
  next += form.parts.size();
  for (size_t axis = form.grid.size(); axis-- > 0;) { // the innermost first
    const auto extent = static_cast<size_t>(form.grid[axis].extent);
    std::vector<Val> outer;
    for (size_t i = 0; i < parts.size(); i += extent)
      outer.push_back(stackAlong({parts.begin() + static_cast<int64_t>(i),
                                  parts.begin() + static_cast<int64_t>(i + extent)},
                                 form.grid[axis].name, range));
    parts = std::move(outer);
  }
  return parts.front();
}

Val Expressions::stackAlong(const std::vector<Val> &parts, const std::string &axis,
                            dsl::SourceRange range) {
  std::vector<Dim> all = dims(parts[0].ir);
  if (find(all, axis))
    fail(range,
         "what each element becomes has axis " + quote(axis) +
             ", which is there already: " + show(parts[0]),
         "another name for this axis");
  all.insert(all.begin(), Dim{{axis, static_cast<int64_t>(parts.size()), -1, ""}, {}});
  llvm::SmallVector<mlir::Value> inputs;
  for (const Val &part : parts)
    inputs.push_back(part.ir);
  Val result = tensor(base.create<pipe::StackOp>(here, tensorOf(elementType(parts[0]), all), axis,
                                                 inputs, sizesOf(all)));
  result.untyped = parts[0].untyped;
  return result;
}

Val Expressions::mapOnce(const dsl::MapExpr &map, const std::vector<Dim> &domain,
                         const std::vector<Val> &values, size_t which, Val &form) {
  bool untyped = false;
  BinderScope names(frames);
  Val result = tensor(buildMap(domain, {}, [&](ElementRegion &region) {
    for (size_t i = 0; i < values.size(); ++i) {
      const dsl::Bind &binder = map.binds[i];
      names.hide(binder.name.text);
      if (values[i].is(Kind::Tensor)) {
        bind(binder.name, number(elementHere(values[i].ir, binder.range)));
      } else if (values[i].is(Kind::Number)) {
        bind(binder.name, values[i]);
      } else {
        size_t k = 0;
        while (domain[k].axis.name != binder.name.text)
          ++k;
        bind(binder.name,
             number(binary(BinaryKind::add, region.coordinates[k],
                           demandIndex(values[i].parts[0], binder.range, "the start"))));
      }
    }
    form = evalBlock(map.body);
    const Val &chosen = numberAt(form, which);
    untyped = chosen.untyped;
    return bodyScalar(chosen, map.body.result->range, "`map`");
  }));
  result.untyped = untyped;
  return result;
}

Val Expressions::evalMap(const dsl::MapExpr &map) {
  std::vector<Dim> domain;
  std::vector<Val> values;
  bool isSmall = false;
  for (const dsl::Bind &bind : map.binds) {
    Val value = eval(*bind.domain);
    if (value.is(Kind::Poison))
      throw Abort{};
    if (value.is(Kind::Neighbours)) {
      isSmall = true;
    } else if (value.is(Kind::Tensor)) {
      addDims(domain, dims(value.ir), bind.range);
    } else if (value.is(Kind::Range)) {
      auto [low, high] = demandEnds(value, bind.domain->range, "the start", "the end");
      addDims(domain,
              {dim(bind.name.text, difference(high, low, value.closed ? 1 : 0), "",
                   bind.domain->range)},
              bind.range);
    } else if (!value.is(Kind::Number)) {
      fail(bind.domain->range, "`map` runs over tensors and ranges, and this is " + show(value));
    }
    values.push_back(value);
  }
  PlaceGuard guard(*this, map.range);
  if (isSmall)
    return mapSmall(map, values, false);
  try {
    return forEachNumber(map.body.result->range, [&](size_t which, Val &form) {
      return mapOnce(map, domain, values, which, form);
    });
  } catch (const OuterElement &) {
    std::optional<uint64_t> count = 1;
    for (const Dim &dim : domain)
      count = count && dim.axis.isStatic()
                  ? std::optional(llvm::SaturatingMultiply<uint64_t>(*count, dim.axis.extent))
                  : std::nullopt;
    const bool isInner = !regions.empty();
    if (count && *count <= mostSmall &&
        (isInner || llvm::none_of(values, [](const Val &v) { return v.is(Kind::Tensor); })))
      return mapSmall(map, values, isInner);
    if (count && *count <= mostSmall)
      notYet(map.range, "a tensor made inside a `map` from the `map`'s element");
    fail(map.range,
         "a tensor made inside a `map` from the `map`'s element has at most " +
             std::to_string(mostSmall) + " elements, and " +
             (count ? "this one has " + std::to_string(*count)
                    : "how many this one has is not known when compiling"),
         "make it outside, with axes of its own: `map (p in x, i in 0 .. 100) { ... }`, and reduce "
         "that over `i`");
  }
}
