// SPDX-License-Identifier: Apache-2.0
//
// Index arithmetic that repeats nothing.
#include "compiler/Conversion/KernelToGpu/IndexMath.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace penstock::conversion;
using arith::CmpIPredicate;

std::optional<int64_t> IndexMath::constantOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

Value IndexMath::constant(int64_t value) const {
  Value &known = memory.constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(memory.top);
    known = b.create<arith::ConstantIndexOp>(b.getUnknownLoc(), value);
  }
  return known;
}

Value IndexMath::find(const Key &key) const {
  for (auto scope = memory.known.rbegin(); scope != memory.known.rend(); ++scope)
    if (auto found = scope->find(key); found != scope->end())
      return found->second;
  return {};
}

Value IndexMath::settle(Value made) const {
  if (!made.getType().isIndex())
    return made;
  auto number = constantOf(made);
  return number ? constant(*number) : made;
}

template <typename Op> Value IndexMath::make(Value a, Value c) const {
  const Key key{TypeID::get<Op>().getAsOpaquePointer(), a.getAsOpaquePointer(),
                c.getAsOpaquePointer()};
  if (Value found = find(key))
    return found;
  return remember(key, settle(b.createOrFold<Op>(loc, a, c)));
}

/// What a sum adds up.
static SmallVector<Value> addendsOf(Value number) {
  SmallVector<Value> addends;
  while (auto sum = number.getDefiningOp<arith::AddIOp>()) {
    addends.push_back(sum.getRhs());
    number = sum.getLhs();
  }
  addends.push_back(number);
  std::reverse(addends.begin(), addends.end());
  return addends;
}

Value IndexMath::add(Value a, Value c) const {
  if (constantOf(a)) // folds look to the right
    std::swap(a, c);
  if (auto amount = constantOf(c); amount && *amount < 0 && *amount != INT64_MIN)
    return make<arith::SubIOp>(a, constant(-*amount));
  return make<arith::AddIOp>(a, c);
}
Value IndexMath::sub(Value a, Value c) const {
  if (auto amount = constantOf(c); amount && *amount < 0 && *amount != INT64_MIN)
    return add(a, constant(-*amount));
  if (a == c)
    return constant(0);
  // What both sums have is in neither: x + k + low - (x + low) is k.
  SmallVector<Value> left = addendsOf(a), right = addendsOf(c);
  const size_t all = right.size();
  llvm::erase_if(right, [&](Value addend) {
    auto *both = llvm::find(left, addend);
    if (both == left.end())
      return false;
    left.erase(both);
    return true;
  });
  if (right.size() == all)
    return make<arith::SubIOp>(a, c);
  auto sum = [&](ArrayRef<Value> addends) {
    Value made = constant(0);
    for (Value addend : addends)
      made = add(made, addend);
    return made;
  };
  return right.empty() ? sum(left) : make<arith::SubIOp>(sum(left), sum(right));
}
Value IndexMath::mul(Value a, Value c) const {
  if (constantOf(a) && !constantOf(c))
    std::swap(a, c);
  return make<arith::MulIOp>(a, c);
}
Value IndexMath::min(Value a, Value c) const { return make<arith::MinSIOp>(a, c); }
Value IndexMath::max(Value a, Value c) const { return make<arith::MaxSIOp>(a, c); }
Value IndexMath::floorDiv(Value a, Value c) const {
  if (constantOf(c) == 0)
    return constant(0);
  return make<arith::FloorDivSIOp>(a, c);
}
Value IndexMath::both(Value a, Value c) const { return a ? make<arith::AndIOp>(a, c) : c; }

Value IndexMath::compare(CmpIPredicate predicate, Value a, Value c) const {
  const Key key{TypeID::get<arith::CmpIOp>().getAsOpaquePointer(),
                reinterpret_cast<const void *>(static_cast<uintptr_t>(predicate)),
                a.getAsOpaquePointer(), c.getAsOpaquePointer()};
  if (Value found = find(key))
    return found;
  return remember(key, b.createOrFold<arith::CmpIOp>(loc, predicate, a, c));
}

Value IndexMath::inside(Value index, Value extent) const {
  return both(compare(CmpIPredicate::sge, index, constant(0)),
              compare(CmpIPredicate::slt, index, extent));
}

Value IndexMath::affine(AffineExpr expr, ArrayRef<Value> dims, ArrayRef<Value> symbols) const {
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  if (auto number = llvm::dyn_cast<AffineConstantExpr>(expr))
    return constant(number.getValue());
  auto parts = llvm::cast<AffineBinaryOpExpr>(expr);
  Value left = affine(parts.getLHS(), dims, symbols), right = affine(parts.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    // a * -1 + c is c - a.
    if (auto product = llvm::dyn_cast<AffineBinaryOpExpr>(parts.getLHS());
        product && product.getKind() == AffineExprKind::Mul)
      if (auto factor = llvm::dyn_cast<AffineConstantExpr>(product.getRHS());
          factor && factor.getValue() == -1)
        return sub(right, affine(product.getLHS(), dims, symbols));
    return add(left, right);
  case AffineExprKind::Mul:
    return mul(left, right);
  case AffineExprKind::FloorDiv:
    return floorDiv(left, right);
  case AffineExprKind::CeilDiv:
    return sub(constant(0), floorDiv(sub(constant(0), left), right));
  default:
    // A modulus of 0 gives 0 by the division's rule only if the dividend does:
    // no view has one.
    return sub(left, mul(floorDiv(left, right), right));
  }
}

Value IndexMath::toIndex(Value i64) const {
  if (auto back = i64.getDefiningOp<arith::IndexCastOp>())
    return back.getIn();
  if (auto op = i64.getDefiningOp<pipe::ConstantOp>())
    return constant(llvm::cast<IntegerAttr>(op.getValue()).getInt());
  const Key key{i64.getAsOpaquePointer()};
  if (Value found = find(key))
    return found;
  return remember(key, b.create<arith::IndexCastOp>(loc, b.getIndexType(), i64));
}

Value IndexMath::toI64(Value index) const {
  const Key key{index.getAsOpaquePointer(), nullptr};
  if (Value found = find(key))
    return found;
  return remember(key, b.create<arith::IndexCastOp>(loc, b.getI64Type(), index));
}
