// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics that move and resample elements.
#include "compiler/Import/Intrinsics/Intrinsics.h"
#include "llvm/Support/MathExtras.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

Val Intrinsics::reverse(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "reverse");
  std::string name = demandAxis(args[1], &x, "reverse");
  Dim axis = *find(dims(x.ir), name);
  mlir::Value last = binary(BinaryKind::sub, extent(axis), intConstant(1));
  return tensor(viewAxis(x.ir, name, last, -1, axis));
}

Val Intrinsics::rename(Args args, dsl::SourceRange range) {
  std::string to = demandAxis(args[2], nullptr, "rename");
  if (to == "n")
    fail(args[2].range, "`n` is the axis of the batch", "another name for this axis");
  if (isBatchAxis(demandAxis(args[1], nullptr, "rename"), args[0].value))
    return peersOf(args[0].value, to, range);
  const Val &x = demandTensor(args[0], "rename");
  std::string from = demandAxis(args[1], &x, "rename");
  std::vector<Dim> all = dims(x.ir);
  if (find(all, to))
    fail(args[2].range, "the value already has axis " + quote(to) + ": it is " + show(x));
  const_cast<Dim *>(find(all, from))->axis.name = to;
  return tensor(retype(x.ir, all));
}

mlir::Value Intrinsics::fillValue(const Argument &arg, mlir::Type element) {
  if (arg.value.is(Kind::Poison))
    return constant(element, 0);
  std::optional<Val> converted =
      arg.value.is(Kind::Number) ? convert(arg.value, element) : std::nullopt;
  if (!converted && arg.value.is(Kind::Tensor) && arg.value.tensorType().getRank() == 0)
    fail(arg.range, "the fill must be known before pixels, and this is made of them",
         "a `map` puts it in afterwards: extend a tensor of ones by zeros alike, and take the fill "
         "where that is 0");
  if (!converted)
    fail(arg.range, "the fill must be " + show(element) + ", and this is " + showNumber(arg.value));
  return converted->ir;
}

Val Intrinsics::extend(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "extend");
  std::string name = demandAxis(args[1], &x, "extend");
  mlir::Value low = demandIndex(args[2].value, args[2].range, "an amount of padding");
  mlir::Value high = demandIndex(args[3].value, args[3].range, "an amount of padding");
  pipe::Border border = pipe::Border::constant;
  if (!args[4].value.is(Kind::Poison))
    border = borderNamed(args[4]);
  mlir::Type element = elementType(x);
  mlir::Value fill;
  if (border == pipe::Border::constant)
    fill = fillValue(args[5], element);
  std::vector<Dim> all = dims(x.ir);
  Dim *axis = const_cast<Dim *>(find(all, name));
  for (const size_t which : {2, 3}) {
    mlir::Value amount = which == 2 ? low : high;
    if (which == 3 && high == low)
      break;
    std::optional<int64_t> number = constantInt(amount);
    if (number && *number < 0)
      fail(args[which].range, "an amount of padding is negative: " + std::to_string(*number),
           "a slice makes a tensor smaller: `x[h = 1 .. 9]`");
    if (!isNeverNegative(amount))
      check(compare(pipe::Predicate::ge, amount, intConstant(0)),
            "an amount of padding is negative: {0} (axis `" + name + "` has {1} elements)", amount,
            extent(*axis));
  }
  const auto before = constantInt(low), after = constantInt(high), now = constantInt(extent(*axis));
  int64_t sum = 0; // a text may spell numbers whose sum wraps around, to few elements
  if (before && after &&
      (llvm::AddOverflow(*before, *after, sum) || llvm::AddOverflow(sum, now.value_or(0), sum)))
    fail(range, "axis " + quote(name) + " would have more elements than there are numbers");
  const mlir::Value added = binary(BinaryKind::add, low, high);
  if (border != pipe::Border::constant && constantInt(added) != 0)
    demandElements(*axis, range,
                   quote("border = " + pipe::stringifyBorder(border).str()) + " repeats one");
  mlir::Value size = binary(BinaryKind::add, extent(*axis), added);
  *axis = dim(name, size, axis->axis.metadata, range);
  return tensor(base.create<pipe::PadOp>(here, tensorOf(element, all), border, x.ir,
                                         base.getStrArrayAttr({name}), mlir::ValueRange{low}, fill,
                                         sizesOf(all)));
}

Val Intrinsics::frames_(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "frames");
  std::string axis = demandAxis(args[1], &x, "frames");
  std::string into = demandAxis(args[2], nullptr, "frames");
  if (find(dims(x.ir), into))
    fail(args[2].range, "the value already has axis " + quote(into) + ": it is " + show(x));
  mlir::Value length = demandIndex(args[3].value, args[3].range, "the length of a frame");
  int64_t step = demandInt(args[4].value, args[4].range, "the step between frames");
  if (step < 1)
    fail(args[4].range, "the step between frames is " + std::to_string(step));
  std::vector<Dim> axes = dims(x.ir), result;
  llvm::SmallVector<mlir::AffineExpr> exprs;
  for (const Dim &old : axes) {
    auto place = [&]() {
      return mlir::getAffineDimExpr(static_cast<unsigned>(result.size()), &context);
    };
    mlir::AffineExpr expr = place();
    if (old.axis.name != axis) {
      result.push_back(old);
      exprs.push_back(expr);
      continue;
    }
    mlir::Value room = binary(BinaryKind::sub, extent(old), length);
    mlir::Value count =
        binary(BinaryKind::add, binary(BinaryKind::div, room, intConstant(step)), intConstant(1));
    std::optional<int64_t> known = constantInt(room);
    if (known && *known < 0)
      fail(range, "a frame is longer than axis " + quote(axis) + " of " + show(x));
    if (!known)
      check(compare(pipe::Predicate::ge, room, intConstant(0)),
            "axis `" + axis + "` has {0} elements, and a frame takes {1}", extent(old), length);
    result.push_back(dim(axis, count, old.axis.metadata, range));
    expr = expr * step + place();
    result.push_back(dim(into, length, "", args[3].range));
    exprs.push_back(expr);
  }
  return tensor(createView(x.ir, result, exprs, {}));
}

/// A number, or a tensor without axes.
static bool isScalar(const Val &value) {
  return value.is(Kind::Number) || (value.is(Kind::Tensor) && value.tensorType().getRank() == 0);
}

void Intrinsics::demandSameType(const std::string &what, std::vector<Val> &parts,
                                dsl::SourceRange range) {
  for (const Val &part : parts)
    if (part.unit)
      fail(range, quote(what) + " takes numbers, and one of these is " + show(part));
  Val common = parts.front();
  for (Val part : llvm::drop_begin(parts))
    unify(what, common, part, range);
  for (Val &part : parts) {
    const bool untyped = part.untyped && common.untyped;
    part = castTo(pipe::CastMode::value, part, elementType(common), range);
    part.untyped = untyped;
  }
}

Val Intrinsics::stackNumbers(std::vector<Val> parts, const std::string &axis,
                             dsl::SourceRange range) {
  demandSameType("stack", parts, range);
  if (parts.size() > 64)
    notYet(range, "a list of more than 64 computed numbers");
  const Dim along{{axis, static_cast<int64_t>(parts.size()), -1, ""}, {}};
  Val result = tensor(buildMap({along}, elementType(parts[0]), [&](ElementRegion &region) {
    mlir::Value chosen;
    for (size_t i = parts.size(); i-- > 0;) {
      mlir::Value part = parts[i].is(Kind::Tensor) ? elementHere(parts[i].ir, range) : parts[i].ir;
      mlir::Value here =
          compare(pipe::Predicate::eq, region.coordinates[0], intConstant(static_cast<int64_t>(i)));
      chosen = chosen ? select(here, part, chosen) : part;
    }
    return chosen;
  }));
  result.untyped = llvm::all_of(parts, [](const Val &part) { return part.untyped; });
  return result;
}

/// Tensors one after the other along an axis whose number of elements pixels decide in
/// some of them: what exists of one follows what exists of the one before.
mlir::Value Intrinsics::concatCounted(llvm::ArrayRef<mlir::Value> parts, const std::string &axis,
                                      dsl::SourceRange range) {
  llvm::SmallVector<mlir::Value> counts;
  mlir::Value most = intConstant(0);
  std::string once;
  for (mlir::Value part : parts) {
    const Dim mine = *find(dims(part), axis);
    const Counted *counted = countedBy(mine);
    counts.push_back(counted ? counted->count : tensorOfScalar(number(room(mine)), range));
    most = binary(BinaryKind::add, most, room(mine));
    if (counted)
      once = counted->once;
  }
  // Where each part ends.
  llvm::SmallVector<mlir::Value> ends;
  for (mlir::Value count : counts)
    ends.push_back(ends.empty() ? count : buildMap({}, base.getI64Type(), [&](ElementRegion &) {
      return binary(BinaryKind::add, elementHere(ends.back(), range), elementHere(count, range));
    }));
  std::vector<Dim> all = dims(parts[0]);
  Dim *joined = const_cast<Dim *>(find(all, axis));
  *joined = roomFor(axis, most, joined->axis.metadata);
  setCount(*joined, ends.back(), once);
  const auto along = static_cast<size_t>(joined - all.data());
  return buildMap(all, elementType(tensor(parts[0])), [&](ElementRegion &region) {
    mlir::Value at = region.coordinates[along], result;
    for (size_t i = parts.size(); i-- > 0;) {
      mlir::Value place = i ? binary(BinaryKind::sub, at, elementHere(ends[i - 1], range)) : at;
      mlir::Value element = loadHere(parts[i], {{axis, place}}, range);
      result = result ? select(compare(pipe::Predicate::lt, at, elementHere(ends[i], range)),
                               element, result)
                      : element;
    }
    return result;
  });
}

Val Intrinsics::split(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "split");
  const std::string axis = demandAxis(args[1], &x, "split");
  const std::string into = demandAxis(args[2], nullptr, "split");
  if (find(dims(x.ir), into))
    fail(args[2].range, "the value already has axis " + quote(into) + ": it is " + show(x));
  const int64_t size = demandInt(args[3].value, args[3].range, "the length of a piece");
  if (size < 1)
    fail(args[3].range, "the length of a piece is " + std::to_string(size));
  const Dim whole = *find(dims(x.ir), axis);
  mlir::Value rest = binary(BinaryKind::rem, extent(whole), intConstant(size));
  const std::optional<int64_t> known = constantInt(rest);
  if (known.value_or(0) != 0)
    fail(args[3].range,
         "axis " + quote(axis) + " of " + show(x) + " does not split into pieces of " +
             std::to_string(size),
         "`frames(x, " + axis + ", " + into + ", " + std::to_string(size) + ", " +
             std::to_string(size) + ")` leaves out the rest");
  if (!known)
    check(compare(pipe::Predicate::eq, rest, intConstant(0)),
          "axis `" + axis + "` has {0} elements, and a piece takes {1}", extent(whole),
          intConstant(size));
  std::vector<Dim> result;
  llvm::SmallVector<mlir::AffineExpr> exprs;
  for (const Dim &old : dims(x.ir)) {
    auto place = [&]() {
      return mlir::getAffineDimExpr(static_cast<unsigned>(result.size()), &context);
    };
    const mlir::AffineExpr at = place();
    if (old.axis.name != axis) {
      result.push_back(old);
      exprs.push_back(at);
      continue;
    }
    result.push_back(dim(axis, binary(BinaryKind::div, extent(whole), intConstant(size)),
                         old.axis.metadata, range));
    exprs.push_back(at * size + place());
    result.push_back(dim(into, intConstant(size), "", args[3].range));
  }
  return tensor(createView(x.ir, result, exprs, {}));
}

Val Intrinsics::merge(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "merge");
  const std::string outer = demandAxis(args[1], &x, "merge");
  const std::string inner = demandAxis(args[2], &x, "merge");
  if (outer == inner)
    fail(args[2].range, "`merge` takes two axes, and these are one");
  std::vector<Dim> all;
  mlir::Value pieces, length;
  for (const Dim &dim : dims(x.ir)) {
    if (dim.axis.name == outer)
      pieces = extent(dim);
    if (dim.axis.name == inner)
      length = extent(dim);
    else
      all.push_back(dim);
  }
  Dim *merged = const_cast<Dim *>(find(all, outer));
  *merged = dim(outer, binary(BinaryKind::mul, pieces, length), merged->axis.metadata, range);
  const auto along = static_cast<size_t>(merged - all.data());
  return tensor(buildMap(all, elementType(x), [&](ElementRegion &region) {
    mlir::Value at = region.coordinates[along];
    return loadHere(x.ir,
                    {{outer, binary(BinaryKind::div, at, length)},
                     {inner, binary(BinaryKind::rem, at, length)}},
                    range);
  }));
}

Val Intrinsics::join(bool stack, Args args, dsl::SourceRange range) {
  const std::string what = stack ? "stack" : "concat";
  if (!args[0].value.is(Kind::List) || args[0].value.parts.empty())
    fail(args[0].range,
         quote(what) + " takes a list of tensors or numbers, and this is " + show(args[0].value));
  std::vector<Val> parts = args[0].value.parts;
  if (llvm::all_of(parts, isScalar))
    return stackNumbers(std::move(parts), demandAxis(args[1], nullptr, what), args[0].range);
  if (!stack && llvm::any_of(parts, isScalar)) { // one more element each
    const std::string axis = demandAxis(args[1], nullptr, what);
    demandSameType(what, parts, args[0].range);
    for (Val &part : parts)
      if (isScalar(part))
        part = stackNumbers({part}, axis, args[0].range);
  }
  for (const Val &part : parts)
    if (!part.is(Kind::Tensor) || elementType(part) != elementType(parts[0]) ||
        part.tensorType().getRank() != parts[0].tensorType().getRank())
      fail(args[0].range,
           quote(what) + " joins tensors of one type: " + show(parts[0]) + " and " + show(part),
           part.is(Kind::Table) && !stack ? "tables are joined without an axis: `concat([a, b])`"
           : part.is(Kind::Tensor) && elementType(part) != elementType(parts[0])
               ? quote(show(elementType(part)) + "(...)") + " converts"
               : "");
  std::string axis = demandAxis(args[1], stack ? nullptr : &parts[0], what);
  std::vector<Dim> all = dims(parts[0].ir);
  std::vector<std::string> order;
  for (const Dim &dim : all)
    order.push_back(dim.axis.name);
  if (stack && find(all, axis))
    fail(args[1].range, "the values already have axis " + quote(axis) + ": " + show(parts[0]));
  mlir::Value total;
  llvm::SmallVector<mlir::Value> inputs;
  const bool isCounted =
      !stack && llvm::any_of(parts, [&](const Val &part) { return anyCounted(part.ir, {axis}); });
  for (const Val &part : parts) {
    for (const Dim &dim : dims(part.ir)) {
      const Dim *mine = find(all, dim.axis.name);
      if (!mine || (dim.axis.name != axis && !sameExtent(*mine, dim)))
        fail(args[0].range,
             quote(what) + " joins tensors of one type: " + show(parts[0]) + " and " + show(part));
    }
    inputs.push_back(permute(part.ir, order));
    if (isCounted)
      continue;
    if (stack) {
      inputs.back() = retype(inputs.back(), all);
    } else {
      mlir::Value mine = extent(*find(dims(part.ir), axis));
      total = total ? binary(BinaryKind::add, total, mine) : mine;
    }
  }
  if (isCounted)
    return tensor(concatCounted(inputs, axis, args[0].range));
  if (stack) {
    all.insert(all.begin(), Dim{{axis, static_cast<int64_t>(parts.size()), -1, ""}, {}});
    return tensor(base.create<pipe::StackOp>(here, tensorOf(elementType(parts[0]), all), axis,
                                             inputs, sizesOf(all)));
  }
  Dim *joined = const_cast<Dim *>(find(all, axis));
  *joined = dim(axis, total, joined->axis.metadata, range);
  return tensor(base.create<pipe::ConcatOp>(here, tensorOf(elementType(parts[0]), all), axis,
                                            inputs, sizesOf(all)));
}

Val Intrinsics::placeInto(const std::vector<Argument> &args, dsl::SourceRange range) {
  if (args.size() < 2)
    fail(range, "`place` takes a base, a patch and where to put it",
         "`place(base, patch, h = top, w = left)`");
  const Val &under = demandTensor(args[0], "place"), &patch = demandTensor(args[1], "place");
  std::vector<Dim> all = dims(under.ir);
  std::vector<std::string> order;
  for (const Dim &dim : all)
    order.push_back(dim.axis.name);
  if (elementType(under) != elementType(patch))
    fail(args[1].range, "`place` needs tensors of one element type, and these are " + show(under) +
                            " and " + show(patch));
  if (under.tensorType().getRank() != patch.tensorType().getRank() ||
      llvm::any_of(dims(patch.ir), [&](const Dim &d) { return !find(all, d.axis.name); }))
    fail(args[1].range,
         "`place` needs tensors with the same axes: " + show(under) + " and " + show(patch));
  for (const Dim &dim : dims(patch.ir)) {
    demandKnown(all, dim.axis.name, args[0].range);
    demandKnown(dims(patch.ir), dim.axis.name, args[1].range);
  }
  llvm::SmallVector<llvm::StringRef> over;
  std::vector<std::string> names;
  llvm::SmallVector<mlir::Value> at;
  for (const Argument &arg : llvm::ArrayRef(args).drop_front(2)) {
    names.push_back(axisNamed(arg.name));
    if (!find(all, names.back()))
      failAxis(arg.range, "`place`", names.back(), under, args[0].origin());
    at.push_back(demandIndex(arg.value, arg.range, "a place"));
  }
  over.assign(names.begin(), names.end());
  return tensor(base.create<pipe::PlaceOp>(here, under.ir.getType(), permute(patch.ir, order),
                                           under.ir, base.getStrArrayAttr(over), at, sizesOf(all)));
}
