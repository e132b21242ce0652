// SPDX-License-Identifier: Apache-2.0
//
// Views, slices and picks of tensors.
#include "compiler/Import/Values/Tensors.h"
#include "llvm/Support/MathExtras.h"

using namespace penstock::importer;
using mlir::AffineExpr;
using penstock::pipe::Predicate;

mlir::Value Tensors::createView(mlir::Value tensor, const std::vector<Dim> &dims,
                                llvm::ArrayRef<AffineExpr> exprs, mlir::ValueRange symbols) {
  auto map = mlir::AffineMap::get(static_cast<unsigned>(dims.size()),
                                  static_cast<unsigned>(symbols.size()), exprs, &context);
  mlir::Type element = llvm::cast<pipe::NamedTensorType>(tensor.getType()).getElementType();
  return base.create<pipe::ViewOp>(here, tensorOf(element, dims), tensor, map, symbols,
                                   sizesOf(dims));
}

/// A scalar in an affine expression: a constant, or the next symbol.
AffineExpr Tensors::affine(mlir::Value value, llvm::SmallVector<mlir::Value> &symbols) {
  if (std::optional<int64_t> number = staticInt(value, "where a view reads"))
    return mlir::getAffineConstantExpr(*number, &context);
  symbols.push_back(value);
  return mlir::getAffineSymbolExpr(static_cast<unsigned>(symbols.size() - 1), &context);
}

mlir::Value Tensors::viewAxis(mlir::Value tensor, const std::string &axis, mlir::Value first,
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

mlir::Value Tensors::pickAxis(mlir::Value tensor, const std::string &axis, mlir::Value index) {
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

/// Sums and products alone, which is what slices and picks are made of; null for others.
mlir::Value Tensors::scalarOf(AffineExpr expr, mlir::ValueRange dims, mlir::ValueRange symbols) {
  if (auto number = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return intConstant(number.getValue());
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto pair = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
  const bool adds = pair.getKind() == mlir::AffineExprKind::Add;
  if (!adds && pair.getKind() != mlir::AffineExprKind::Mul)
    return {};
  mlir::Value left = scalarOf(pair.getLHS(), dims, symbols),
              right = scalarOf(pair.getRHS(), dims, symbols);
  return left && right ? binary(adds ? BinaryKind::add : BinaryKind::mul, left, right)
                       : mlir::Value();
}

/// An element at a known place is a constant.
mlir::Value Tensors::elementOfConstant(pipe::ConstantOp constant, mlir::ValueRange place) {
  auto elements = llvm::cast<mlir::DenseElementsAttr>(constant.getValue());
  const mlir::Type type = pipe::tensorOf(constant).getElementType();
  llvm::SmallVector<uint64_t> known;
  for (auto [index, extent] : llvm::zip(place, elements.getType().getShape()))
    if (const auto number = constantInt(index); number && *number >= 0 && *number < extent)
      known.push_back(static_cast<uint64_t>(*number));
  if (known.size() < place.size())
    return base.create<pipe::LoadOp>(here, type, constant, place);
  return base.create<pipe::ConstantOp>(
      here, type, llvm::cast<mlir::TypedAttr>(elements.getValues<mlir::Attribute>()[known]));
}

mlir::Value Tensors::elementBeforePixels(mlir::Value tensor) {
  llvm::SmallVector<pipe::ViewOp> views;
  while (auto view = tensor.getDefiningOp<pipe::ViewOp>()) {
    views.push_back(view);
    tensor = view.getInput();
  }
  auto field = tensor.getDefiningOp<pipe::FieldOp>();
  auto constant = tensor.getDefiningOp<pipe::ConstantOp>();
  if (!field && !constant)
    return {};
  llvm::SmallVector<mlir::Value> place;
  for (pipe::ViewOp view : views) {
    llvm::SmallVector<mlir::Value> further;
    for (AffineExpr expr : view.getMap().getResults()) {
      further.push_back(scalarOf(expr, place, view.getSymbols()));
      if (!further.back())
        return {};
    }
    place = further;
  }
  if (constant)
    return elementOfConstant(constant, place);
  return base.create<pipe::FieldElementOp>(
      here, llvm::cast<pipe::NamedTensorType>(field.getType()).getElementType(), field.getRow(),
      field.getName(), place, field.getType());
}

mlir::Value Tensors::permute(mlir::Value tensor, llvm::ArrayRef<std::string> order) {
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

mlir::Value Tensors::retype(mlir::Value tensor, const std::vector<Dim> &wanted) {
  mlir::Type element = llvm::cast<pipe::NamedTensorType>(tensor.getType()).getElementType();
  if (tensorOf(element, wanted) == tensor.getType())
    return tensor;
  llvm::SmallVector<AffineExpr> exprs;
  for (size_t i = 0; i < wanted.size(); ++i)
    exprs.push_back(mlir::getAffineDimExpr(static_cast<unsigned>(i), &context));
  return createView(tensor, wanted, exprs, {});
}

void Tensors::checkInside(mlir::Value first, mlir::Value count, const Dim &axis,
                          dsl::SourceRange range) {
  mlir::Value extent = this->extent(axis);
  mlir::Value end = binary(pipe::BinaryKind::add, first, count);
  std::optional<int64_t> from = constantInt(first), many = constantInt(count),
                         to = constantInt(end), all = constantInt(extent);
  // Sums of numbers wrap round, to the left of all elements.
  int64_t sum = 0;
  const bool wraps = from && many && llvm::AddOverflow(*from, *many, sum);
  if ((from && *from < 0) || wraps || (to && all && *to > *all)) {
    auto text = [](std::optional<int64_t> number, const char *otherwise) {
      return number ? std::to_string(*number) : std::string(otherwise);
    };
    const std::string what =
        many == 1 ? "element " + text(from, "some") + " of"
        : wraps   ? text(many, "some") + " elements from " + text(from, "some") + " on along"
                  : text(from, "some") + " to " + text(to, "some") + " along";
    const bool isFromEnd = many == 1 && from && *from < 0 && (!all || *all > 0);
    const std::string last =
        all ? std::to_string(*all - 1) : "extent(x, " + axis.axis.name + ") - 1";
    fail(range,
         "this reads " + what + " axis " + quote(axis.axis.name) + ", which has " +
             text(all, "fewer") + " elements",
         isFromEnd ? "places count from 0: the last is " + quote(axis.axis.name + " = " + last)
                   : "");
  }
  // A place drawn from 0 ..= extent - count lies inside where count fits.
  if (auto draw = first.getDefiningOp<pipe::DrawOp>();
      draw && draw.getKind() == pipe::DrawKind::integer && constantInt(draw.getArgs()[0]) == 0 &&
      constantInt(
          difference(binary(pipe::BinaryKind::add, draw.getArgs()[1], count), extent, -1)) == 0) {
    if (auto checked = checkedDraws.find(draw);
        checked != checkedDraws.end() && checked->second->getBlock() == base.getInsertionBlock()) {
      checked->second->erase(); // the check that follows has the better message
      checkedDraws.erase(checked);
    }
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
  if (!room || *room < 0) // an end that is no constant may have wrapped round
    require(to ? compare(Predicate::le, end, extent)
               : compare(Predicate::le, first, binary(pipe::BinaryKind::sub, extent, count)));
  if (ok)
    check(ok, "axis `" + axis.axis.name + "` is read from {0} to {1}, outside of its elements",
          first, end);
}
