// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics that count: compact, group.
#include "compiler/Import/Intrinsics/Intrinsics.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

Val Intrinsics::compact(Args args) {
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
  setCount(kept, op.getCount(), "`compact` has looked at the values");
  return tensor(op.getResult());
}

Val Intrinsics::group(Args args, dsl::SourceRange range) {
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
