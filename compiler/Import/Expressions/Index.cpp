//===- Index.cpp - views, slices, picks and peers -------------------------===//

#include "compiler/Import/Expressions/Expressions.h"

using namespace penstock::importer;

Val Expressions::evalIndex(const dsl::IndexExpr &index) {
  Val value = eval(*index.base);
  PlaceGuard guard(*this, index.range);
  if (value.is(Kind::Poison))
    throw Abort{};
  std::vector<const dsl::AxisSetting *> settings;
  for (const dsl::AxisSetting &setting : index.settings) {
    if (!inBatch || setting.axis.text != "n") {
      settings.push_back(&setting);
      continue;
    }
    mlir::Value slot =
        demandIndex(eval(*setting.value), setting.value->range, "a place in the batch");
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
  return indexTensor(value, settings, *index.base);
}

Val Expressions::indexTensor(Val value, const std::vector<const dsl::AxisSetting *> &settings,
                             const dsl::Expr &source) {
  std::map<std::string, mlir::Value> loads; // indices of the innermost region
  std::map<std::string, Val> gathers;       // indices that are tensors
  for (const dsl::AxisSetting *setting : settings) {
    const std::string axis = axisNamed(setting->axis.text);
    std::vector<Dim> axes = dims(value.ir);
    const Dim *mine = find(axes, axis);
    if (!mine && axis == "n" && !inBatch)
      fail(setting->axis.range, "the batch axis `n` exists in the `batch` block only",
           "`pick(table, i)` reads another row");
    if (!mine)
      failAxis(setting->axis.range, "an index", axis, value, source.range);
    Val at = eval(*setting->value);
    dsl::SourceRange range = setting->value->range;
    if (at.is(Kind::Range)) {
      mlir::Value low = demandIndex(at.parts[0], range, "the start of a slice");
      mlir::Value high = demandIndex(at.parts[1], range, "the end of a slice");
      mlir::Value count = difference(high, low, at.closed ? 1 : 0);
      Dim cut = dim(axis, count, mine->axis.metadata, range);
      if (isElementLocal(low))
        notYet(range, "a slice that differs from element to element");
      checkInside(low, count, *mine, range);
      value = tensor(viewAxis(value.ir, axis, low, 1, cut));
      continue;
    }
    if (at.is(Kind::Tensor) && regions.empty()) {
      if (!llvm::isa<mlir::IntegerType>(elementType(at)))
        fail(range, "an index must be a whole number, and this is " + show(at));
      gathers[axis] = at;
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
  if (!loads.empty())
    return number(loadHere(value.ir, loads, source.range));
  if (gathers.empty())
    return value;
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
    if (isElementLocal(slot))
      notYet(range, "another sample chosen element by element");
    leaf->ir = base.create<pipe::PeerOp>(here, leaf->ir.getType(), leaf->ir, slot);
  }
  return result;
}
