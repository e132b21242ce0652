// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics that count, and scatter: compact, group.
#include "compiler/Import/Intrinsics/Intrinsics.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::CastMode;

Val Intrinsics::compact(Args args) {
  const Val &x = demandTensor(args[0], "compact"), &mask = demandTensor(args[1], "compact");
  std::vector<Dim> all = dims(x.ir), along = dims(mask.ir);
  if (along.size() != 1 || !elementType(mask).isSignlessInteger(1))
    failRiding(args[1].range, "a mask holds truth values over one axis, and this is " + show(mask));
  const std::string axis = along[0].axis.name;
  Dim *mine = const_cast<Dim *>(find(all, axis));
  if (!mine)
    failAxis(args[1].range, "a mask", axis, x, args[0].origin());
  if (!sameExtent(*mine, along[0]))
    fail(args[1].range, "axis " + quote(axis) + " differs: " + show(x) + " and " + show(mask));
  mlir::Value keep = mask.ir;
  if (countedBy(*mine))
    keep = onlyExisting(keep, {axis}, constant(base.getI1Type(), 0));
  // One mask keeps as many of everything: what it leaves has one axis.
  auto [sameMask, isFirst] = keptByMask.try_emplace(mask.ir);
  if (isFirst || sameMask->second.size.getParentBlock() != base.getInsertionBlock())
    sameMask->second = roomFor(axis, room(*mine), "");
  Dim kept = sameMask->second;
  kept.axis.metadata = mine->axis.metadata;
  *mine = kept;
  auto op = base.create<pipe::CompactOp>(
      here, tensorOf(elementType(x), all),
      pipe::NamedTensorType::get(&context, base.getI64Type(), {}), x.ir, axis, keep, sizesOf(all));
  if (!countedBy(kept))
    setCount(kept, op.getCount(), "`compact` has looked at the values");
  return tensor(op.getResult());
}

Val Intrinsics::group(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "group");
  Val key = demandTensor(args[1], "group");
  std::vector<Dim> keyDims = dims(key.ir), all = dims(x.ir);
  mlir::Type element = elementType(key);
  if (keyDims.empty() || !llvm::isa<mlir::IntegerType>(element) || element.isSignlessInteger(1))
    fail(args[1].range,
         "a key holds integers over the axis to group, then over those that make "
         "one key, and this is " +
             show(key),
         llvm::isa<mlir::FloatType>(element) ? "`i32(floor(x / cell))` makes whole numbers" : "");
  for (const Dim &dim : keyDims)
    if (ridesAlong(dim.axis.name))
      failRiding(args[1].range,
                 "one key says to which group an element belongs, and this differs along axis " +
                     quote(dim.axis.name));
  if (args[5].expr || !args[5].value.is(Kind::Poison)) {
    const std::string first = demandAxis(args[5], &key, "group");
    std::vector<std::string> order{first};
    for (const Dim &dim : keyDims)
      if (dim.axis.name != first)
        order.push_back(dim.axis.name);
    key.ir = permute(key.ir, order);
    keyDims = dims(key.ir);
  }
  const Dim along = keyDims[0];
  const std::string axis = along.axis.name;
  const Dim *mine = find(all, axis);
  if (!mine)
    failAxis(args[1].range, "a key", axis, x, args[0].origin());
  if (!sameExtent(*mine, along))
    fail(args[1].range, "axis " + quote(axis) + " differs: " + show(x) + " and " + show(key));
  const int64_t limit = demandInt(args[2].value, args[2].range, "the largest number of groups");
  if (limit < 1)
    fail(args[2].range, "the largest number of groups is " + std::to_string(limit));
  const std::string into =
      args[3].value.is(Kind::Poison) && !args[3].expr ? "m" : demandAxis(args[3], nullptr, "group");
  if (find(all, into) || find(keyDims, into))
    fail(args[3].expr ? args[3].range : range,
         "the value already has axis " + quote(into) + ", over which the groups run: it is " +
             show(x),
         "`into = ...` gives their axis another name");
  mlir::Value mask = countedBy(along) ? existing(along) : mlir::Value();
  if (args[4].expr || !args[4].value.is(Kind::Poison)) {
    const Val &given = demandTensor(args[4], "group");
    if (given.tensorType().getRank() != 1 || !elementType(given).isSignlessInteger(1) ||
        dims(given.ir)[0].axis.name != axis || !sameExtent(dims(given.ir)[0], along))
      failRiding(args[4].range,
                 "a mask holds truth values over " + quote(axis) + ", and this is " + show(given));
    mask = mask ? onlyExisting(given.ir, {axis}, constant(base.getI1Type(), 0)) : given.ir;
  }
  mlir::Type i64 = base.getI64Type();
  mlir::Value most = binary(BinaryKind::min, intConstant(limit), room(along));
  Dim groups = roomFor(into, most, "");
  groups.axis.bound = limit;
  llvm::SmallVector<mlir::Value> sizes = sizesOf({along});
  sizes.push_back(groups.size);
  auto op = base.create<pipe::GroupOp>(here, tensorOf(i64, {along}), tensorOf(i64, {groups}),
                                       pipe::NamedTensorType::get(&context, i64, {}), key.ir, axis,
                                       mask, static_cast<uint64_t>(limit), sizes);
  setCount(groups, op.getCount(), "`group` has looked at the keys");

  std::vector<Dim> bins{{{"bin", -1, limit, ""}, groups.size}};
  auto histogram =
      base.create<pipe::HistogramOp>(here, tensorOf(base.getI32Type(), bins), op.getSlot(),
                                     base.getStrArrayAttr({axis}), sizesOf(bins));
  std::vector<Dim> keyOf = keyDims;
  keyOf[0] = groups;
  Val keys = tensor(buildMap(keyOf, element, [&](ElementRegion &) {
    return loadHere(key.ir, {{axis, elementHere(op.getFirst(), range)}}, range);
  }));
  auto rank = base.create<pipe::RankByOp>(here, tensorOf(i64, {along}), op.getSlot(), axis,
                                          sizesOf({along}));
  Val points;
  points.kind = Kind::Grouped;
  points.parts = {x, tensor(op.getSlot()), tensor(op.getFirst())};
  Val result;
  result.kind = Kind::Record;
  result.names = {"points", "count", "key", "first", "slot", "rank"};
  result.parts = {points,
                  tensor(retype(histogram, {groups})),
                  keys,
                  tensor(op.getFirst()),
                  tensor(op.getSlot()),
                  tensor(rank)};
  return result;
}

/// Along an axis whose number of elements pixels decide, those that there are.
Val Intrinsics::scatter(const std::vector<Argument> &args, dsl::SourceRange range) {
  if (args.size() < 2)
    fail(range,
         std::string("`scatter` lacks its argument ") + (args.empty() ? "`base`" : "`values`"));
  std::vector<Val> both{demandTensor(args[0], "scatter"), demandTensor(args[1], "scatter")};
  demandSameType("scatter", both, range);
  const Val &into = both[0], &values = both[1];
  pipe::ScatterKind kind = pipe::ScatterKind::sum;
  std::vector<Dim> all = dims(into.ir), given = dims(values.ir);
  std::vector<std::string> over;
  llvm::SmallVector<mlir::Value> places;
  Dim along;
  for (const Argument &arg : llvm::ArrayRef(args).drop_front(2)) {
    if (arg.name == "combine") {
      kind = *pipe::symbolizeScatterKind(demandWord(arg, {"sum", "min", "max", "first"}));
      continue;
    }
    const std::string axis = axisNamed(arg.name);
    if (arg.name.empty() || !find(all, axis))
      failAxis(arg.range, "`scatter`", axis, into, args[0].origin());
    const bool isPlaces = arg.value.is(Kind::Tensor) && arg.value.tensorType().getRank() == 1 &&
                          llvm::isa<mlir::IntegerType>(elementType(arg.value)) &&
                          !elementType(arg.value).isSignlessInteger(1);
    if (!isPlaces)
      fail(arg.range, "places are whole numbers over one axis, and this is " + show(arg.value));
    const Dim mine = dims(arg.value.ir)[0];
    if (!over.empty() && mine.axis.name != along.axis.name)
      fail(arg.range, "these places run over " + quote(mine.axis.name) + ", the others over " +
                          quote(along.axis.name));
    along = mine;
    const Dim *moved = find(given, along.axis.name);
    if (!moved)
      failAxis(arg.range, "`scatter`", along.axis.name, values, args[1].origin());
    if (!sameExtent(*moved, along))
      fail(arg.range, "axis " + quote(along.axis.name) + " differs: " + show(values) + " and " +
                          show(arg.value));
    mlir::Value place = castTo(CastMode::value, arg.value, base.getI64Type(), arg.range).ir;
    if (countedBy(along))
      place = onlyExisting(place, {along.axis.name}, constant(base.getI64Type(), -1));
    over.push_back(axis);
    places.push_back(place);
  }
  if (over.empty())
    fail(range, "`scatter` needs places along at least one axis", "`scatter(base, x, m = slot)`");
  mlir::Type element = elementType(into);
  if (kind != pipe::ScatterKind::first && element.isSignlessInteger(1))
    fail(args[0].range, "`scatter` does not combine " + show(element),
         "`i32(...)` makes 0 and 1 of truth values");
  std::vector<std::string> order{along.axis.name};
  for (const Dim &dim : all) {
    if (llvm::is_contained(over, dim.axis.name))
      continue;
    const Dim *mine = find(given, dim.axis.name);
    if (!mine || !sameExtent(*mine, dim) || dim.axis.name == along.axis.name)
      fail(args[1].range, "the values have axis " + quote(along.axis.name) +
                              ", and those of the base that no place tells: " + show(into) +
                              " and " + show(values));
    order.push_back(dim.axis.name);
  }
  if (order.size() != given.size())
    fail(args[1].range, "the values have axis " + quote(along.axis.name) +
                            ", and those of the base that no place tells: " + show(into) + " and " +
                            show(values));
  // Elements are counted apart from places in the base, whose axis may have the same name.
  mlir::Value moved = permute(values.ir, order);
  std::string axis = along.axis.name;
  while (find(all, axis) || (axis != along.axis.name && find(given, axis)))
    axis += insideMark;
  auto rename = [&](mlir::Value &value) {
    std::vector<Dim> named = dims(value);
    named.front().axis.name = axis; // of the elements, which `order` begins with
    value = retype(value, named);
  };
  if (axis != along.axis.name) {
    rename(moved);
    llvm::for_each(places, rename);
  }
  llvm::SmallVector<llvm::StringRef> names(over.begin(), over.end());
  return tensor(base.create<pipe::ScatterOp>(here, tensorOf(element, all), kind, into.ir, moved,
                                             axis, base.getStrArrayAttr(names), places,
                                             sizesOf(all)));
}
