// SPDX-License-Identifier: Apache-2.0
//
// Views, slices, picks and peers.
#include "compiler/Import/Expressions/Expressions.h"

using namespace penstock::importer;

Val Expressions::evalIndex(const dsl::IndexExpr &index) {
  Val value = eval(*index.base);
  PlaceGuard guard(*this, index.range);
  if (value.is(Kind::Poison))
    throw Abort{};
  std::vector<const dsl::AxisSetting *> settings;
  Val which; // of the samples
  for (const dsl::AxisSetting &setting : index.settings) {
    if (!isBatchAxis(setting.axis.text, value)) {
      settings.push_back(&setting);
      continue;
    }
    which = eval(*setting.value);
    if (which.is(Kind::Number) && isOfPeers(which.ir))
      which = boxed(which); // found among tensors, as a place that pixels decide
    if (which.is(Kind::Range))
      fail(setting.value->range, "a slice of the batch is no value of a sample",
           "`rename(x, n, m)` is the value of all samples along an axis `m`, which can be sliced");
    if (which.is(Kind::Tensor) || which.is(Kind::Neighbours) ||
        (which.is(Kind::Number) && isElementLocal(which.ir))) { // each element another one
      value = peersOf(value, setting.axis.text, index.range);
      settings.push_back(&setting);
      continue;
    }
    mlir::Value slot = demandIndex(which, setting.value->range, "a place in the batch");
    if (std::optional<int64_t> place = constantInt(slot);
        place && (*place < 0 || (batchSize && *place >= *batchSize)))
      fail(setting.value->range,
           "there is no sample " + std::to_string(*place) + " in a batch" +
               (batchSize ? " of " + std::to_string(*batchSize) : "") + ": `n` counts from 0",
           "another sample for each: `let other = draw permutation(n)`, then `x[n = other]`");
    value = peer(value, slot, index.range);
  }
  if (settings.empty())
    return value;
  if (value.is(Kind::Neighbours))
    return indexNeighbours(value, index);
  if (!value.is(Kind::Tensor))
    fail(index.base->range, "only tensors have axes to index, and this is " + show(value),
         value.is(Kind::Record) ? "a field of it: `x." + value.names.front() + "`" : "");
  return indexTensor(value, settings, which, *index.base);
}

Val Expressions::indexTensor(Val value, const std::vector<const dsl::AxisSetting *> &settings,
                             const Val &which, const dsl::Expr &source) {
  std::map<std::string, mlir::Value> loads; // indices of the innermost region
  std::map<std::string, Val> gathers;       // indices that are tensors
  Val small;                                // the index that is a window's elements
  std::string smallAxis;
  for (const dsl::AxisSetting *setting : settings) {
    const std::string axis = axisNamed(setting->axis.text);
    std::vector<Dim> axes = dims(value.ir);
    const Dim *mine = find(axes, axis);
    if (!mine)
      failAxis(setting->axis.range, "an index", axis, value, source.range);
    Val at = axis == "n" && !which.is(Kind::Poison) ? which : eval(*setting->value);
    dsl::SourceRange range = setting->value->range;
    if (at.is(Kind::Range) && regions.empty() &&
        (at.parts[0].is(Kind::Tensor) || at.parts[1].is(Kind::Tensor))) {
      value = tensor(sliceByPixels(value.ir, *mine, at, range));
      continue;
    }
    if (at.is(Kind::Range)) {
      auto [low, high] = demandEnds(at, range, "the start of a slice", "the end of a slice");
      mlir::Value count = difference(high, low, at.closed ? 1 : 0);
      Dim cut = dim(axis, count, mine->axis.metadata, range);
      if (isElementLocal(low))
        notYet(range, "a slice that differs from element to element");
      checkInside(low, count, *mine, range);
      value = tensor(viewAxis(value.ir, axis, low, 1, cut));
      continue;
    }
    if (at.is(Kind::Tensor) && regions.empty()) {
      const bool isTruth = elementType(at).isSignlessInteger(1);
      if (isTruth || !llvm::isa<mlir::IntegerType>(elementType(at)))
        fail(range, "an index must be a whole number, and this is " + show(at),
             isTruth ? "`compact(x, mask)` keeps the elements where a mask holds" : "");
      gathers[axis] = at;
      continue;
    }
    if (at.is(Kind::List) && !regions.empty())
      fail(range, "several places are taken outside of a `map`, and each element has one here",
           "a `let` in front of it: `let y = x[" + axis + " = [0, 1]]`");
    if (at.is(Kind::List)) {
      value = tensor(placesOf(value.ir, *mine, at, range));
      continue;
    }
    if (at.is(Kind::Neighbours)) {
      if (small.is(Kind::Neighbours))
        notYet(range, "a table that a window indexes along two axes");
      small = at;
      smallAxis = axis;
      continue;
    }
    mlir::Value number = demandIndex(at, range, "an index");
    if (isElementLocal(number)) {
      loads[axis] = number;
      continue;
    }
    checkInside(number, intConstant(1), *mine, range);
    value = tensor(pickAxis(value.ir, axis, number));
  }
  if (small.is(Kind::Neighbours)) {
    Val result = small;
    for (Val &part : result.parts) {
      loads[smallAxis] = demandIndex(part, source.range, "an index");
      part = number(loadHere(value.ir, loads, source.range));
    }
    result.untyped = false;
    return result;
  }
  if (!loads.empty())
    return number(loadHere(value.ir, loads, source.range));
  if (gathers.empty()) {
    mlir::Value element =
        value.tensorType().getRank() == 0 ? elementBeforePixels(value.ir) : mlir::Value();
    return element ? number(element) : value;
  }
  std::vector<Dim> domain;
  for (const Dim &dim : dims(value.ir)) {
    if (auto found = gathers.find(dim.axis.name); found != gathers.end())
      addDims(domain, dims(found->second.ir), source.range);
    else
      addDims(domain, {dim}, source.range);
  }
  return tensor(buildMap(domain, elementType(value), [&](ElementRegion &) {
    std::map<std::string, mlir::Value> at;
    for (auto &[axis, index] : gathers)
      at[axis] =
          cast(pipe::CastMode::value, elementHere(index.ir, source.range), base.getI64Type());
    return loadHere(value.ir, at, source.range);
  }));
}

mlir::Value Expressions::placesOf(mlir::Value from, const Dim &axis, const Val &list,
                                  dsl::SourceRange range) {
  constexpr size_t mostPlaces = 64;
  if (list.parts.empty() || list.parts.size() > mostPlaces)
    fail(range,
         "an index is a list of 1 to " + std::to_string(mostPlaces) + " places, and this has " +
             std::to_string(list.parts.size()),
         "a tensor of places: `map (k in 0 .. 100) { 2 * k }`");
  llvm::SmallVector<mlir::Value> elements;
  for (const Val &part : list.parts) {
    mlir::Value number = demandIndex(part, range, "an index");
    checkInside(number, intConstant(1), axis, range);
    elements.push_back(
        viewAxis(from, axis.axis.name, number, 1, Dim{{axis.axis.name, 1, -1, ""}, {}}));
  }
  std::vector<Dim> all = dims(from);
  Dim *mine = const_cast<Dim *>(find(all, axis.axis.name));
  auto joined = [&](mlir::ValueRange parts) -> mlir::Value {
    if (parts.size() == 1)
      return parts.front();
    int64_t count = 0;
    for (mlir::Value part : parts)
      count += find(dims(part), axis.axis.name)->axis.extent;
    *mine = Dim{{axis.axis.name, count, -1, ""}, {}};
    return base.create<pipe::ConcatOp>(here, tensorOf(pipe::tensorOf(from).getElementType(), all),
                                       axis.axis.name, parts, sizesOf(all));
  };
  llvm::SmallVector<mlir::Value> several; // no kernel of its own for each element
  for (size_t first = 0; first < elements.size(); first += pipe::mostJoined)
    several.push_back(joined(mlir::ValueRange(elements).slice(
        first, std::min(pipe::mostJoined, elements.size() - first))));
  return joined(several);
}

/// A place that pixels decide, as a tensor without axes plus scalars.
struct PixelPlace {
  mlir::Value origin; ///< null: scalars alone
  llvm::SmallVector<mlir::Value> added, taken;
};

/// Leaves out what both have.
static void cancel(llvm::SmallVector<mlir::Value> &one, llvm::SmallVector<mlir::Value> &other) {
  llvm::erase_if(one, [&](mlir::Value value) {
    auto *found = llvm::find(other, value);
    const bool isInBoth = found != other.end();
    if (isInBoth)
      other.erase(found);
    return isInBoth;
  });
}

/// Follows maps that add to, or take from, one tensor without axes, or leave it as it is.
static void follow(PixelPlace &place) {
  while (auto map = place.origin ? place.origin.getDefiningOp<penstock::pipe::MapOp>()
                                 : penstock::pipe::MapOp()) {
    mlir::Block &body = map.getBody().front();
    const mlir::Value result = body.getTerminator()->getOperand(0);
    if (map.getInputs().size() == 1 && result == body.getArgument(0)) {
      place.origin = map.getInputs()[0];
      continue;
    }
    auto sum = result.getDefiningOp<penstock::pipe::BinaryOp>();
    if (map.getInputs().size() != 1 || !sum || sum->getBlock() != &body)
      return;
    const bool adds = sum.getKind() == penstock::pipe::BinaryKind::add;
    mlir::Value element = body.getArgument(0), other;
    if (sum.getLhs() == element)
      other = sum.getRhs();
    else if (adds && sum.getRhs() == element)
      other = sum.getLhs();
    if (!other || other.getParentBlock() == &body ||
        (!adds && sum.getKind() != penstock::pipe::BinaryKind::sub))
      return;
    (adds ? place.added : place.taken).push_back(other);
    place.origin = map.getInputs()[0];
  }
}

mlir::Value Expressions::sliceByPixels(mlir::Value from, const Dim &axis, const Val &at,
                                       dsl::SourceRange range) {
  using pipe::BinaryKind;
  PixelPlace ends[2];
  for (size_t i = 0; i < 2; ++i) {
    const Val &end = at.parts[i];
    const bool isPlace = end.is(Kind::Tensor) && end.tensorType().getRank() == 0;
    if (!(isPlace || end.is(Kind::Number)) || !llvm::isa<mlir::IntegerType>(elementType(end)) ||
        elementType(end).isSignlessInteger(1))
      failRiding(range, "a slice runs between whole numbers, and one of these is " + show(end));
    const Val wide = castTo(pipe::CastMode::value, end, base.getI64Type(), range);
    if (isPlace)
      ends[i].origin = wide.ir;
    else
      ends[i].added.push_back(wide.ir);
    follow(ends[i]);
  }
  mlir::Value first = tensorOfScalar(at.parts[0], range), last = tensorOfScalar(at.parts[1], range);
  std::vector<Dim> all = dims(from);
  Dim *cut = const_cast<Dim *>(find(all, axis.axis.name));
  if (isSame(ends[0].origin, ends[1].origin)) { // so many elements, wherever they begin
    cancel(ends[0].added, ends[1].added);
    cancel(ends[0].taken, ends[1].taken);
    mlir::Value count = intConstant(at.closed ? 1 : 0);
    for (size_t i = 0; i < 2; ++i) {
      for (mlir::Value value : ends[i].added)
        count = binary(i ? BinaryKind::add : BinaryKind::sub, count, value);
      for (mlir::Value value : ends[i].taken)
        count = binary(i ? BinaryKind::sub : BinaryKind::add, count, value);
    }
    *cut = dim(axis.axis.name, count, axis.axis.metadata, range);
  } else {
    demandKnown(dims(from), axis.axis.name, range);
    mlir::Value extent = this->extent(axis);
    mlir::Value count = buildMap({}, base.getI64Type(), [&](ElementRegion &) {
      mlir::Value zero = intConstant(0);
      mlir::Value end = elementHere(last, range);
      if (at.closed)
        end = binary(BinaryKind::add, end, intConstant(1));
      mlir::Value begin = binary(BinaryKind::max, elementHere(first, range), zero);
      return binary(BinaryKind::max,
                    binary(BinaryKind::sub, binary(BinaryKind::min, end, extent), begin), zero);
    });
    first = buildMap({}, base.getI64Type(), [&](ElementRegion &) {
      return binary(BinaryKind::max, elementHere(first, range), intConstant(0));
    });
    *cut = roomFor(axis.axis.name, extent, axis.axis.metadata);
    setCount(*cut, count, "pixels have decided where a slice ends");
  }
  const auto along = static_cast<size_t>(cut - all.data());
  return buildMap(all, elementType(tensor(from)), [&](ElementRegion &region) {
    mlir::Value place =
        binary(BinaryKind::add, region.coordinates[along], elementHere(first, range));
    return loadHere(from, {{axis.axis.name, place}}, range);
  });
}

Val Expressions::peer(const Val &value, mlir::Value slot, dsl::SourceRange range) {
  Val result = value;
  std::vector<Val *> leaves;
  flatten(result, leaves);
  for (Val *leaf : leaves) {
    if (!leaf->is(Kind::Tensor) && !leaf->is(Kind::Number))
      fail(range,
           "another sample's value must be a number or a tensor, and this is " + show(*leaf));
    if (leaf->is(Kind::Tensor) && !leaf->tensorType().isStatic())
      notYet(range, "another sample's value of varying extent (" + show(*leaf) + ")");
    leaf->ir = base.create<pipe::PeerOp>(here, leaf->ir.getType(), leaf->ir, slot);
  }
  return result;
}
