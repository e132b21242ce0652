//===- Index.cpp - views, slices, picks and peers -------------------------===//

#include "compiler/Import/Places.h"

using namespace penstock::importer;
using mlir::AffineExpr;
using penstock::pipe::Predicate;

//===--- views ------------------------------------------------------------===//

mlir::Value Importer::createView(mlir::Value tensor, const std::vector<Dim> &dims,
                                 llvm::ArrayRef<AffineExpr> exprs, mlir::ValueRange symbols) {
  auto map = mlir::AffineMap::get(static_cast<unsigned>(dims.size()),
                                  static_cast<unsigned>(symbols.size()), exprs, &context);
  mlir::Type element = llvm::cast<pipe::NamedTensorType>(tensor.getType()).getElementType();
  return base.create<pipe::ViewOp>(here, tensorOf(element, dims), tensor, map, symbols,
                                   sizesOf(dims));
}

/// A scalar in an affine expression: a constant, or the next symbol.
AffineExpr Importer::affine(mlir::Value value, llvm::SmallVector<mlir::Value> &symbols) {
  if (std::optional<int64_t> number = staticInt(value, "where a view reads"))
    return mlir::getAffineConstantExpr(*number, &context);
  symbols.push_back(value);
  return mlir::getAffineSymbolExpr(static_cast<unsigned>(symbols.size() - 1), &context);
}

mlir::Value Importer::viewAxis(mlir::Value tensor, const std::string &axis, mlir::Value first,
                               int64_t step, const Dim &result) {
  std::vector<Dim> axes = dims(tensor);
  llvm::SmallVector<AffineExpr> exprs;
  llvm::SmallVector<mlir::Value> symbols;
  for (size_t i = 0; i < axes.size(); ++i) {
    AffineExpr expr = mlir::getAffineDimExpr(static_cast<unsigned>(i), &context);
    if (axes[i].axis.name == axis) {
      expr = expr * step + affine(first, symbols);
      axes[i] = result;
    }
    exprs.push_back(expr);
  }
  return createView(tensor, axes, exprs, symbols);
}

mlir::Value Importer::pickAxis(mlir::Value tensor, const std::string &axis, mlir::Value index) {
  std::vector<Dim> kept;
  llvm::SmallVector<AffineExpr> exprs;
  llvm::SmallVector<mlir::Value> symbols;
  for (const Dim &dim : dims(tensor)) {
    if (dim.axis.name == axis) {
      exprs.push_back(affine(index, symbols));
      continue;
    }
    exprs.push_back(mlir::getAffineDimExpr(static_cast<unsigned>(kept.size()), &context));
    kept.push_back(dim);
  }
  return createView(tensor, kept, exprs, symbols);
}

mlir::Value Importer::permute(mlir::Value tensor, llvm::ArrayRef<std::string> order) {
  std::vector<Dim> axes = dims(tensor), result;
  llvm::SmallVector<AffineExpr> exprs(axes.size());
  bool same = true;
  for (size_t k = 0; k < order.size(); ++k)
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i].axis.name == order[k]) {
        same &= i == k;
        exprs[i] = mlir::getAffineDimExpr(static_cast<unsigned>(k), &context);
        result.push_back(axes[i]);
      }
  return same ? tensor : createView(tensor, result, exprs, {});
}

mlir::Value Importer::retype(mlir::Value tensor, const std::vector<Dim> &wanted) {
  mlir::Type element = llvm::cast<pipe::NamedTensorType>(tensor.getType()).getElementType();
  if (tensorOf(element, wanted) == tensor.getType())
    return tensor;
  llvm::SmallVector<AffineExpr> exprs;
  for (size_t i = 0; i < wanted.size(); ++i)
    exprs.push_back(mlir::getAffineDimExpr(static_cast<unsigned>(i), &context));
  return createView(tensor, wanted, exprs, {});
}

//===--- `x[h = ...]` -----------------------------------------------------===//

void Importer::checkInside(mlir::Value first, mlir::Value count, const Dim &axis,
                           dsl::SourceRange range) {
  mlir::Value extent = this->extent(axis);
  mlir::Value end = binary(pipe::BinaryKind::add, first, count);
  std::optional<int64_t> from = constantInt(first), to = constantInt(end),
                         all = constantInt(extent);
  if ((from && *from < 0) || (to && all && *to > *all)) {
    auto text = [](std::optional<int64_t> number, const char *otherwise) {
      return number ? std::to_string(*number) : std::string(otherwise);
    };
    const std::string what = constantInt(count) == 1
                                 ? "element " + text(from, "some") + " of"
                                 : text(from, "some") + " to " + text(to, "some") + " along";
    fail(range, "this reads " + what + " axis " + quote(axis.axis.name) + ", which has " +
                    text(all, "fewer") + " elements");
  }
  // A place drawn from 0 ..= extent - count lies inside where count fits.
  if (auto draw = first.getDefiningOp<pipe::DrawOp>();
      draw && draw.getKind() == pipe::DrawKind::integer && constantInt(draw.getArgs()[0]) == 0 &&
      constantInt(
          difference(binary(pipe::BinaryKind::add, draw.getArgs()[1], count), extent, -1)) == 0) {
    std::optional<int64_t> spare = constantInt(difference(extent, count, 0));
    if (spare && *spare < 0)
      fail(range, "a part of " + std::to_string(*constantInt(count)) + " is larger than axis " +
                      quote(axis.axis.name) + ", which has " + std::to_string(*all) + " elements");
    if (!spare)
      check(compare(Predicate::le, count, extent),
            "a part of {0} is larger than axis `" + axis.axis.name + "`, which has {1} elements",
            count, extent);
    return;
  }
  std::optional<int64_t> room = constantInt(difference(extent, end, 0));
  mlir::Value ok;
  auto require = [&](mlir::Value condition) {
    ok = ok ? binary(pipe::BinaryKind::bit_and, ok, condition) : condition;
  };
  if (!from)
    require(compare(Predicate::ge, first, intConstant(0)));
  if (!constantInt(count))
    require(compare(Predicate::ge, count, intConstant(0)));
  if (!room || *room < 0)
    require(compare(Predicate::le, end, extent));
  if (ok)
    check(ok, "axis `" + axis.axis.name + "` is read from {0} to {1}, outside of its elements",
          first, end);
}

Val Importer::evalIndex(const dsl::IndexExpr &index) {
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

Val Importer::indexTensor(Val value, const std::vector<const dsl::AxisSetting *> &settings,
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

Val Importer::peer(const Val &value, mlir::Value slot, dsl::SourceRange range) {
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
