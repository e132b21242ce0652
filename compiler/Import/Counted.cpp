//===- Counted.cpp - axes whose number of elements pixels decide ----------===//
//
// `compact` and `group` know how many elements there are when pixels are there:
// too late for an extent, which setup needs. Such an axis has room for all that
// there could be, and a count: a tensor without axes, computed where the pixels
// are. What works element by element goes over the room and need not know.
// Where elements meet, those that do not exist are replaced by what changes
// nothing; what needs a number before pixels is refused. Delivery reads the
// count.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Places.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::Predicate;
using penstock::pipe::ReduceKind;

const Importer::Counted *Importer::countedBy(const Dim &dim) const {
  auto found = countedAxes.find(dim.size.getAsOpaquePointer());
  return dim.size && found != countedAxes.end() ? &found->second : nullptr;
}

mlir::Value Importer::room(const Dim &dim) {
  return dim.axis.isStatic() ? intConstant(dim.axis.extent) : dim.size;
}

void Importer::failCounted(dsl::SourceRange range, const Dim &dim, const Counted &counted) {
  fail(range,
       "axis " + quote(dim.axis.name) + " has as many elements as " + counted.makes +
           ", which is known after pixels only, and this needs the number before",
       "`map`, reductions, scans and `sort` take such an axis; an output delivers it with `pad` or "
       "`ragged`");
}

void Importer::demandKnown(const std::vector<Dim> &all, const std::string &axis,
                           dsl::SourceRange range) {
  const Dim *dim = find(all, axis);
  if (const Counted *counted = dim ? countedBy(*dim) : nullptr)
    failCounted(range, *dim, *counted);
}

Dim Importer::roomFor(const std::string &name, mlir::Value most, const std::string &metadata) {
  // An op of its own, never folded into another: the axis is known by it.
  mlir::Value size =
      base.create<pipe::BinaryOp>(here, base.getI64Type(), BinaryKind::add, most, intConstant(0));
  return {{name, -1, constantInt(most).value_or(-1), metadata}, size};
}

mlir::Value Importer::existing(const Dim &dim) {
  mlir::Value count = countedBy(dim)->count;
  return buildMap({dim}, base.getI1Type(), [&](ElementRegion &region) {
    return compare(Predicate::lt, region.coordinates[0], elementHere(count, hereRange));
  });
}

bool Importer::anyCounted(mlir::Value tensor, llvm::ArrayRef<std::string> axes) {
  return llvm::any_of(dims(tensor), [&](const Dim &dim) {
    return countedBy(dim) && llvm::is_contained(axes, dim.axis.name);
  });
}

mlir::Value Importer::onlyExisting(mlir::Value tensor, llvm::ArrayRef<std::string> axes,
                                   mlir::Value other) {
  std::vector<Dim> all = dims(tensor);
  return buildMap(all, other.getType(), [&](ElementRegion &region) {
    mlir::Value result = elementHere(tensor, hereRange);
    for (size_t i = 0; i < all.size(); ++i) {
      const Counted *counted = countedBy(all[i]);
      if (!counted || !llvm::is_contained(axes, all[i].axis.name))
        continue;
      mlir::Value exists =
          compare(Predicate::lt, region.coordinates[i], elementHere(counted->count, hereRange));
      result = select(exists, result, other);
    }
    return result;
  });
}

//===--- the intrinsics ---------------------------------------------------===//

Val Importer::compact(Args args) {
  const Val &x = demandTensor(args[0], "compact"), &mask = demandTensor(args[1], "compact");
  std::vector<Dim> all = dims(x.ir), along = dims(mask.ir);
  if (along.size() != 1 || !elementType(mask).isSignlessInteger(1))
    fail(args[1].range, "a mask holds truth values over one axis, and this is " + show(mask));
  const std::string axis = along[0].axis.name;
  Dim *mine = const_cast<Dim *>(find(all, axis));
  if (!mine)
    failAxis(args[1].range, "a mask", axis, x, args[0].origin());
  if (!sameExtent(*mine, along[0]))
    fail(args[1].range, "axis " + quote(axis) + " differs: " + show(x) + " and " + show(mask));
  mlir::Value keep = mask.ir;
  if (countedBy(*mine))
    keep = onlyExisting(keep, {axis}, constant(base.getI1Type(), 0));
  const Dim kept = roomFor(axis, room(*mine), mine->axis.metadata);
  *mine = kept;
  auto op = base.create<pipe::CompactOp>(
      here, tensorOf(elementType(x), all),
      pipe::NamedTensorType::get(&context, base.getI64Type(), {}), x.ir, axis, keep, sizesOf(all));
  countedAxes[kept.size.getAsOpaquePointer()] = {op.getCount(), "`compact` keeps"};
  return tensor(op.getResult());
}

Val Importer::group(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "group"), &key = demandTensor(args[1], "group");
  std::vector<Dim> keyDims = dims(key.ir), all = dims(x.ir);
  mlir::Type element = elementType(key);
  if (keyDims.empty() || !llvm::isa<mlir::IntegerType>(element) || element.isSignlessInteger(1))
    fail(args[1].range,
         "a key holds integers over the axis to group, then over those that make "
         "one key, and this is " +
             show(key),
         llvm::isa<mlir::FloatType>(element) ? "`i32(floor(x / cell))` makes whole numbers" : "");
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
  mlir::Type i64 = base.getI64Type();
  mlir::Value most = binary(BinaryKind::min, intConstant(limit), room(along));
  Dim groups = roomFor(into, most, "");
  groups.axis.bound = limit;
  llvm::SmallVector<mlir::Value> sizes = sizesOf({along});
  sizes.push_back(groups.size);
  auto op = base.create<pipe::GroupOp>(here, tensorOf(i64, {along}), tensorOf(i64, {groups}),
                                       pipe::NamedTensorType::get(&context, i64, {}), key.ir, axis,
                                       mask, static_cast<uint64_t>(limit), sizes);
  countedAxes[groups.size.getAsOpaquePointer()] = {op.getCount(), "`group` finds groups"};

  std::vector<Dim> bins{{{"bin", -1, limit, ""}, groups.size}};
  auto histogram =
      base.create<pipe::HistogramOp>(here, tensorOf(base.getI32Type(), bins), op.getSlot(),
                                     base.getStrArrayAttr({axis}), sizesOf(bins));
  std::vector<Dim> keyOf = keyDims;
  keyOf[0] = groups;
  Val keys = tensor(buildMap(keyOf, element, [&](ElementRegion &) {
    return loadHere(key.ir, {{axis, elementHere(op.getFirst(), range)}}, range);
  }));
  Val points;
  points.kind = Kind::Grouped;
  points.parts = {x, tensor(op.getSlot()), tensor(op.getFirst())};
  Val result;
  result.kind = Kind::Record;
  result.names = {"points", "count", "key", "first", "slot"};
  result.parts = {points, tensor(retype(histogram, {groups})), keys, tensor(op.getFirst()),
                  tensor(op.getSlot())};
  return result;
}

Val Importer::reduceGroups(ReduceKind kind, const Argument &arg,
                           const std::vector<std::string> &over, dsl::SourceRange range) {
  Val value = arg.value.parts[0];
  mlir::Value slot = arg.value.parts[1].ir;
  const Dim along = dims(slot)[0], groups = dims(arg.value.parts[2].ir)[0];
  const std::string name = pipe::stringifyReduceKind(kind).str();
  if (over.size() != 1 || over[0] != along.axis.name)
    fail(range,
         "elements in groups are reduced over the axis that was grouped, " +
             quote(along.axis.name) + " alone",
         quote(name + "(x over [" + along.axis.name + "])"));
  mlir::Type element = elementType(value);
  const bool logical =
      kind == ReduceKind::any || kind == ReduceKind::all || kind == ReduceKind::count;
  if (logical != element.isSignlessInteger(1))
    fail(arg.range, quote(name) + (logical ? " takes truth values" : " takes numbers") +
                        ", and this is " + show(arg.value));
  PlaceGuard guard(*this, range);
  if (element.isF16() || element.isBF16())
    value = castTo(pipe::CastMode::value, value, element = base.getF32Type(), arg.range);
  if (kind == ReduceKind::count || kind == ReduceKind::argmin || kind == ReduceKind::argmax)
    element = base.getI64Type();
  std::vector<Dim> all = dims(value.ir);
  *const_cast<Dim *>(find(all, along.axis.name)) = groups;
  return tensor(base.create<pipe::ReduceByOp>(here, tensorOf(element, all), kind, value.ir,
                                              along.axis.name, slot, sizesOf(all)));
}
