// SPDX-License-Identifier: Apache-2.0
//
// How far apart neighbours of a view lie in its input.
//
// Differences of expressions do not tell: nobody simplifies `(d + 1) * s - d * s`, a flip that a
// sample decides.
#include "compiler/Analysis/ViewSteps.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace penstock;

AffineExpr analysis::stepOf(AffineExpr expr, int64_t dim) {
  const auto position = static_cast<unsigned>(dim);
  if (!expr.isFunctionOfDim(position))
    return getAffineConstantExpr(0, expr.getContext());
  if (llvm::isa<AffineDimExpr>(expr))
    return getAffineConstantExpr(1, expr.getContext());
  auto parts = llvm::cast<AffineBinaryOpExpr>(expr);
  AffineExpr left = stepOf(parts.getLHS(), dim), right = stepOf(parts.getRHS(), dim);
  if (!left || !right)
    return {};
  if (expr.getKind() == AffineExprKind::Add)
    return left + right;
  if (expr.getKind() != AffineExprKind::Mul)
    return {};
  if (parts.getRHS().isSymbolicOrConstant())
    return left * parts.getRHS();
  return parts.getLHS().isSymbolicOrConstant() ? right * parts.getLHS() : AffineExpr();
}

std::optional<analysis::ViewStep> analysis::stepAlong(pipe::ViewOp view, int64_t axis) {
  ViewStep found{-1, {}};
  for (auto [place, expr] : llvm::enumerate(view.getMap().getResults())) {
    AffineExpr step = stepOf(expr, axis);
    if (!step)
      return std::nullopt;
    if (step == getAffineConstantExpr(0, expr.getContext()))
      continue;
    if (found.axis >= 0)
      return std::nullopt;
    found = {static_cast<int64_t>(place), step};
  }
  return found;
}
