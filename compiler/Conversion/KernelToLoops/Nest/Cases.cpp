// SPDX-License-Identifier: Apache-2.0
//
// Decisions that are made once per nest of loops, or per row.
//
// Some things differ from sample to sample and not from element to element: which
// arm of a choice is taken, a flip's direction, whether factors are
// bounded, whether a pad's row exists. These functions find them below a tensor;
// the loops are then written for each case (Nest.cpp).
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

Value penstock::conversion::specializedArm(const Site &site, Value tensor) {
  const auto arm =
      tensor.getDefiningOp() ? site.specializedArm(tensor.getDefiningOp()) : std::nullopt;
  if (!arm)
    return {};
  auto choose = tensor.getDefiningOp<ChooseOp>();
  const unsigned result = llvm::cast<OpResult>(tensor).getResultNumber();
  return choose.getArms()[*arm].front().getTerminator()->getOperand(result);
}

void penstock::conversion::unresolvedBranches(const Site &site, Value tensor,
                                              llvm::SetVector<Operation *> &found, Seen &seen) {
  Operation *op = tensor.getDefiningOp();
  if (!op || site.buffer(tensor) || !seen.isNew(tensor))
    return;
  if (llvm::isa<ChooseOp>(op)) {
    if (Value arm = specializedArm(site, tensor))
      return unresolvedBranches(site, arm, found, seen);
    found.insert(op);
    return;
  }
  if (readsOneOfEach(op))
    for (Value operand : op->getOperands())
      if (llvm::isa<NamedTensorType>(operand.getType()))
        unresolvedBranches(site, operand, found, seen);
}

bool penstock::conversion::unboundedScalars(const Site &site, Value value,
                                            llvm::SetVector<Value> &found, Seen &seen) {
  // Through integers there comes no NaN.
  auto tensor = llvm::dyn_cast<NamedTensorType>(value.getType());
  if (!seen.isNew(value) ||
      !llvm::isa<FloatType>(tensor ? tensor.getElementType() : value.getType()))
    return true;
  auto finite = [](const Interval &range) {
    return !range.nan && std::isfinite(range.low) && std::isfinite(range.high);
  };
  auto all = [&](ValueRange values) {
    return llvm::all_of(values,
                        [&](Value next) { return unboundedScalars(site, next, found, seen); });
  };
  Operation *op = value.getDefiningOp();
  if (!tensor) {
    if (auto argument = llvm::dyn_cast<BlockArgument>(value))
      if (auto map = llvm::dyn_cast<MapOp>(argument.getOwner()->getParentOp()))
        return unboundedScalars(site, map.getInputs()[argument.getArgNumber()], found, seen);
    if (auto number = boundScalar(site, value); number && !(op && op->getParentOfType<MapOp>())) {
      if (finite(number->range))
        return true;
      found.insert(value);
      return !value.getType().isF16() && !value.getType().isBF16(); // those are known as bits only
    }
    return op && op->getNumRegions() == 0 && all(op->getOperands());
  }
  if (const Buffer *stored = site.buffer(value))
    return stored->written && finite(*stored->written);
  if (Value arm = specializedArm(site, value))
    return unboundedScalars(site, arm, found, seen);
  if (auto map = llvm::dyn_cast<MapOp>(op))
    return all(map.getBody().front().getTerminator()->getOperands());
  return llvm::isa<ConstantOp>(op) || (readsOneOfEach(op) && all(op->getOperands()));
}

void penstock::conversion::laneStrides(const Site &site, Value tensor, ArrayRef<bool> withLanes,
                                       llvm::SetVector<Value> &found, Seen &seen) {
  Operation *op = tensor.getDefiningOp();
  if (!op || site.buffer(tensor) || !seen.isNew(tensor, llvm::to_vector_of<int64_t>(withLanes)))
    return;
  if (Value arm = specializedArm(site, tensor))
    return laneStrides(site, arm, withLanes, found, seen);
  if (auto view = llvm::dyn_cast<ViewOp>(op)) {
    SmallVector<bool> inner;
    for (AffineExpr expr : view.getMap().getResults()) {
      bool any = false;
      expr.walk([&](AffineExpr part) {
        if (auto dim = llvm::dyn_cast<AffineDimExpr>(part))
          any |= withLanes[dim.getPosition()];
        auto product = llvm::dyn_cast<AffineBinaryOpExpr>(part);
        if (!product || product.getKind() != AffineExprKind::Mul)
          return;
        auto dim = llvm::dyn_cast<AffineDimExpr>(product.getLHS());
        auto symbol = llvm::dyn_cast<AffineSymbolExpr>(product.getRHS());
        if (dim && symbol && withLanes[dim.getPosition()])
          found.insert(view.getSymbols()[symbol.getPosition()]);
      });
      inner.push_back(any);
    }
    return laneStrides(site, view.getInput(), inner, found, seen);
  }
  if (!readsOneOfEach(op))
    return;
  NamedTensorType domain = typeOf(tensor);
  for (Value operand : op->getOperands()) {
    auto type = llvm::dyn_cast<NamedTensorType>(operand.getType());
    if (!type)
      continue;
    SmallVector<bool> inner;
    for (const Axis &axis : type.getAxes())
      inner.push_back(withLanes[domain.axisIndex(axis.name)]);
    laneStrides(site, operand, inner, found, seen);
  }
}

void penstock::conversion::rowConditions(const Site &site, Value tensor, ArrayRef<Index> at,
                                         llvm::MapVector<Operation *, PadRow> &found) {
  auto [ctx, b, l, m] = site.parts();
  Operation *op = tensor.getDefiningOp();
  if (!op || site.buffer(tensor))
    return;
  if (Value arm = specializedArm(site, tensor))
    return rowConditions(site, arm, at, found);
  // Follows inputs read in one place only: elsewhere the row is another.
  auto below = [&](Value input, ArrayRef<Index> inner) {
    if (input.hasOneUse())
      rowConditions(site, input, inner, found);
  };
  NamedTensorType domain = typeOf(tensor);
  if (auto view = llvm::dyn_cast<ViewOp>(op)) {
    SmallVector<Index> symbols, inner;
    for (Value symbol : view.getSymbols())
      symbols.push_back(m.uniform(scalarOf(site, symbol).value));
    for (AffineExpr expr : view.getMap().getResults())
      inner.push_back(m.affine(expr, at, symbols));
    below(view.getInput(), inner);
  } else if (auto pad = llvm::dyn_cast<PadOp>(op)) {
    SmallVector<Index> moved(at);
    PadRow row;
    for (auto [name, low] : llvm::zip(pad.getOver().getAsRange<StringAttr>(), pad.getLow())) {
      const int64_t axis = domain.axisIndex(name);
      moved[axis] = m.add(at[axis], m.uniform(l.sub(l.i64(0), scalarOf(site, low).value)));
      if (!moved[axis].uniform() || pad.getBorder() != Border::constant)
        continue;
      Value index = moved[axis].base;
      Value here = l.andInt(l.cmp(CmpIPredicate::sge, index, l.i64(0)),
                            l.cmp(CmpIPredicate::slt, index, extent(site, pad.getInput(), axis)));
      row.exists = row.exists ? l.andInt(row.exists, here) : here;
      row.axes.push_back(axis);
    }
    if (row.exists)
      found[pad] = row;
    // Other borders read another row of what is below.
    if (pad.getBorder() == Border::constant)
      below(pad.getInput(), moved);
  } else if (inputAccessOf(op) == InputAccess::own) {
    for (Value operand : op->getOperands())
      if (auto type = llvm::dyn_cast<NamedTensorType>(operand.getType())) {
        SmallVector<Index> inner;
        for (const Axis &axis : type.getAxes())
          inner.push_back(at[domain.axisIndex(axis.name)]);
        below(operand, inner);
      }
  }
}
