// SPDX-License-Identifier: Apache-2.0
//
// Indices of all lanes.
#include "compiler/Conversion/KernelToLoops/Vector/Access.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Both with the longer period; false where they go through their axes differently.
static bool align(Index &a, Index &b) {
  if (a.runtimeStride || b.runtimeStride || (a.period && b.period && a.period != b.period))
    return false;
  const int64_t period = std::max(a.period, b.period);
  for (Index *index : {&a, &b})
    if (!index->period) {
      index->inner = index->stride;
      index->stride *= period;
      index->period = period;
    }
  return true;
}

Value Memory::numbers(const Index &index) const {
  if (index.vector)
    return index.vector;
  if (index.uniform() || l.lanes == 1)
    return index.base;
  if (index.period) {
    SmallVector<int64_t> offsets(l.lanes);
    for (int64_t lane = 0; lane < l.lanes; ++lane)
      offsets[lane] = offsetOf(index, lane);
    auto type = VectorType::get({l.lanes}, l.b.getI64Type());
    return l.add(l.splat(index.base),
                 l.b.create<arith::ConstantOp>(
                     l.loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(offsets))));
  }
  Value stride = index.runtimeStride ? index.runtimeStride : l.i64(index.stride);
  return l.add(l.splat(index.base), l.mul(l.iota(), l.splat(stride)));
}

Value Memory::realNumbers(const Index &index) const {
  if (index.uniform() || !index.affine() || l.lanes == 1)
    return {};
  SmallVector<int32_t> steps(l.lanes);
  for (int64_t lane = 0; lane < l.lanes; ++lane)
    steps[lane] = static_cast<int32_t>(lane * index.stride);
  auto type = VectorType::get({l.lanes}, l.b.getI32Type());
  Value offsets =
      l.b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(type, ArrayRef<int32_t>(steps)));
  Value base = l.b.create<arith::TruncIOp>(l.loc, l.b.getI32Type(), index.base);
  return l.b.create<arith::SIToFPOp>(l.loc, VectorType::get({l.lanes}, l.b.getF32Type()),
                                     l.add(l.splat(base), offsets));
}

Index Memory::of(Value numbers) const {
  if (llvm::isa<VectorType>(numbers.getType()))
    return {{}, 0, {}, numbers};
  return uniform(numbers);
}

Index Memory::add(const Index &a, const Index &b) const {
  if (a.vector || b.vector)
    return of(l.add(numbers(a), numbers(b)));
  if (a.period || b.period) {
    Index x = a, y = b;
    if (!align(x, y))
      return of(l.add(numbers(a), numbers(b)));
    Index sum{l.add(a.base, b.base), x.stride + y.stride, {}, {}, x.period, x.inner + y.inner};
    if (sum.stride == sum.inner * sum.period) // one run through both
      sum = {sum.base, sum.inner, {}, {}};
    return sum;
  }
  Index sum{l.add(a.base, b.base), a.stride + b.stride, {}, {}};
  if (a.runtimeStride || b.runtimeStride) {
    auto strideOf = [&](const Index &i) {
      return i.runtimeStride ? i.runtimeStride : l.i64(i.stride);
    };
    sum.runtimeStride = l.add(strideOf(a), strideOf(b));
    sum.stride = 0;
  }
  return sum;
}

Index Memory::mul(const Index &a, const Index &b) const {
  const Index &factor = a.uniform() ? a : b, &other = a.uniform() ? b : a;
  if (!factor.uniform() || other.vector)
    return of(l.mul(numbers(a), numbers(b)));
  Index product{l.mul(other.base, factor.base), 0, {}, {}};
  if (other.uniform())
    return product;
  auto known = Lanes::constantOf(factor.base);
  if (other.period) {
    if (!known)
      return of(l.mul(numbers(a), numbers(b)));
    if (*known)
      product = {product.base, other.stride * *known, {}, {}, other.period, other.inner * *known};
    return product;
  }
  if (known && !other.runtimeStride)
    product.stride = other.stride * *known;
  else
    product.runtimeStride =
        l.mul(other.runtimeStride ? other.runtimeStride : l.i64(other.stride), factor.base);
  return product;
}

Index Memory::affine(AffineExpr expr, ArrayRef<Index> dims, ArrayRef<Index> symbols) const {
  if (auto constantExpr = llvm::dyn_cast<AffineConstantExpr>(expr))
    return constant(constantExpr.getValue());
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  Index lhs = affine(binary.getLHS(), dims, symbols), rhs = affine(binary.getRHS(), dims, symbols);
  if (binary.getKind() == AffineExprKind::Add)
    return add(lhs, rhs);
  if (binary.getKind() == AffineExprKind::Mul)
    return mul(lhs, rhs);
  // Affine division and remainder round down, for positive divisors.
  Value x = numbers(lhs), y = numbers(rhs);
  l.match(x, y);
  Value zero = l.integerLike(y, 0), one = l.integerLike(y, 1);
  Value safe = l.pick(l.cmp(CmpIPredicate::sle, y, zero), one, y);
  Value rest = l.remS(x, safe);
  Value negative = l.cmp(CmpIPredicate::slt, rest, zero);
  if (binary.getKind() == AffineExprKind::Mod)
    return of(l.pick(negative, l.add(rest, safe), rest));
  if (binary.getKind() == AffineExprKind::FloorDiv)
    return of(l.pick(negative, l.sub(l.divS(x, safe), one), l.divS(x, safe)));
  Value positive = l.cmp(CmpIPredicate::sgt, rest, zero); // ceil
  return of(l.pick(positive, l.add(l.divS(x, safe), one), l.divS(x, safe)));
}

Index Memory::clamp(const Index &index, Value extent) const {
  Value last = l.maxS(l.sub(extent, l.i64(1)), l.i64(0));
  Value number = numbers(index);
  return of(l.minS(l.maxS(number, l.integerLike(number, 0)), last));
}
