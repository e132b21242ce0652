// SPDX-License-Identifier: Apache-2.0
//
// Making and taking apart views.
#include "compiler/Transforms/Views.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::transforms {

SmallVector<Value> sizesFor(Operation *op, ArrayRef<int64_t> positions) {
  auto type = llvm::cast<NamedTensorType>(op->getResult(0).getType());
  SmallVector<Value> result;
  const SmallVector<int64_t> dynamic = type.dynamicAxes();
  for (int64_t position : positions) {
    const auto *at = llvm::find(dynamic, position);
    if (at != dynamic.end())
      result.push_back(llvm::cast<SizedOpInterface>(op).getSizes()[at - dynamic.begin()]);
  }
  return result;
}

AffineMap simplifySymbols(AffineMap map, SmallVector<Value> &symbols) {
  MLIRContext *context = map.getContext();
  SmallVector<Value> kept;
  SmallVector<AffineExpr> replacements;
  llvm::SmallBitVector used(map.getNumSymbols());
  for (AffineExpr result : map.getResults())
    result.walk([&](AffineExpr part) {
      if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(part))
        used.set(symbol.getPosition());
    });
  for (auto [i, symbol] : llvm::enumerate(symbols)) {
    if (auto known = constantOf(symbol)) {
      replacements.push_back(getAffineConstantExpr(*known, context));
      continue;
    }
    if (!used.test(i)) {
      replacements.push_back(getAffineConstantExpr(0, context));
      continue;
    }
    auto *at = llvm::find(kept, symbol);
    replacements.push_back(getAffineSymbolExpr(at - kept.begin(), context));
    if (at == kept.end())
      kept.push_back(symbol);
  }
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < map.getNumDims(); ++i)
    dims.push_back(getAffineDimExpr(i, context));
  symbols = kept;
  return simplifyAffineMap(
      map.replaceDimsAndSymbols(dims, replacements, map.getNumDims(), kept.size()));
}

bool isIdentity(Value input, AffineMap map, NamedTensorType type, ValueRange sizes) {
  if (!map.isIdentity() || input.getType() != type)
    return false;
  size_t next = 0;
  for (int64_t axis : type.dynamicAxes()) {
    OpFoldResult extent = extentOf(input, axis);
    Value size = sizes[next++];
    if (!extent)
      return false;
    if (auto known = constantOf(extent)) {
      if (known != constantOf(size))
        return false;
    } else if (llvm::dyn_cast<Value>(extent) != size) {
      return false;
    }
  }
  return true;
}

Value makeView(OpBuilder &builder, Location loc, Value input, AffineMap map, ValueRange symbols,
               NamedTensorType type, ValueRange sizes) {
  SmallVector<Value> kept(symbols);
  map = simplifySymbols(map, kept);
  if (isIdentity(input, map, type, sizes))
    return input;
  return builder.create<ViewOp>(loc, type, input, AffineMapAttr::get(map), kept, sizes);
}

/// The dimensions of `expr` with their coefficients, or nothing if one has no
/// constant coefficient or the expression is not a sum. A coefficient that is a
/// symbol counts as 0.
static std::optional<SmallVector<std::pair<unsigned, int64_t>>> dimensionsOf(AffineExpr expr) {
  using Terms = SmallVector<std::pair<unsigned, int64_t>>;
  if (expr.isSymbolicOrConstant())
    return Terms{};
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
    return Terms{{dim.getPosition(), 1}};
  auto pair = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  if (!pair)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add) {
    auto left = dimensionsOf(pair.getLHS()), right = dimensionsOf(pair.getRHS());
    if (!left || !right)
      return std::nullopt;
    left->append(right->begin(), right->end());
    return left;
  }
  if (expr.getKind() != AffineExprKind::Mul)
    return std::nullopt;
  AffineExpr factor = pair.getRHS(), rest = pair.getLHS();
  if (!factor.isSymbolicOrConstant())
    std::swap(factor, rest);
  auto terms = dimensionsOf(rest);
  if (!terms || !factor.isSymbolicOrConstant())
    return std::nullopt;
  auto number = llvm::dyn_cast<AffineConstantExpr>(factor);
  for (auto &[dim, coefficient] : *terms)
    coefficient = number ? coefficient * std::abs(number.getValue()) : 0;
  return terms;
}

bool readsOnce(ViewOp view) {
  auto type = llvm::cast<NamedTensorType>(view.getType());
  SmallVector<int> uses(type.getRank(), 0);
  for (AffineExpr expr : view.getMap().getResults()) {
    auto terms = dimensionsOf(expr);
    if (!terms)
      return false;
    for (auto &[dim, coefficient] : *terms)
      ++uses[dim];
    if (terms->size() <= 1)
      continue;
    // Mixed radix: each coefficient is at least the span of the smaller ones.
    llvm::sort(*terms, [](auto a, auto b) { return a.second < b.second; });
    int64_t span = 1;
    for (auto &[dim, coefficient] : *terms) {
      if (coefficient < span || !type.getAxes()[dim].isStatic())
        return false;
      span = coefficient * type.getAxes()[dim].extent;
    }
  }
  return llvm::all_of(llvm::enumerate(uses), [&](auto use) {
    return use.value() == 1 || type.getAxes()[use.index()].extent == 1;
  });
}

Part partOf(ViewOp view, ArrayRef<AffineExpr> expressions) {
  AffineMap map = view.getMap();
  MLIRContext *context = map.getContext();
  Part part;
  SmallVector<AffineExpr> renamed(map.getNumDims(), getAffineConstantExpr(0, context));
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    if (llvm::any_of(expressions, [&](AffineExpr expr) { return expr.isFunctionOfDim(dim); })) {
      renamed[dim] = getAffineDimExpr(part.dims.size(), context);
      part.dims.push_back(dim);
    }
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < map.getNumSymbols(); ++i)
    symbols.push_back(getAffineSymbolExpr(i, context));
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : expressions)
    results.push_back(expr.replaceDimsAndSymbols(renamed, symbols));
  part.map = AffineMap::get(part.dims.size(), map.getNumSymbols(), results, context);
  return part;
}

Value viewOperand(OpBuilder &builder, ViewOp view, Value operand) {
  auto domain = llvm::cast<NamedTensorType>(view.getInput().getType());
  auto result = llvm::cast<NamedTensorType>(view.getType());
  auto type = llvm::cast<NamedTensorType>(operand.getType());
  SmallVector<AffineExpr> expressions;
  for (const Axis &axis : type.getAxes())
    expressions.push_back(view.getMap().getResult(domain.axisIndex(axis.name)));
  Part part = partOf(view, expressions);
  SmallVector<Axis> axes;
  for (int64_t dim : part.dims)
    axes.push_back(result.getAxes()[dim]);
  // A table over a channel axis without the axis' metadata stays itself.
  bool same = part.map.isIdentity() && axes.size() == type.getAxes().size();
  for (size_t i = 0; same && i < axes.size(); ++i)
    same = axes[i].name == type.getAxes()[i].name && axes[i].extent == type.getAxes()[i].extent &&
           axes[i].isStatic();
  if (same)
    return operand;
  return makeView(builder, view.getLoc(), operand, part.map, view.getSymbols(), type.withAxes(axes),
                  sizesFor(view, part.dims));
}

} // namespace penstock::transforms
