// SPDX-License-Identifier: Apache-2.0
//
// Inputs of a kernel whose outermost axis lanes go along.
#include "compiler/Analysis/OuterAxes.h"

using namespace mlir;
using namespace penstock::pipe;

std::optional<int64_t> penstock::analysis::denseOuterStep(NamedTensorType type) {
  if (type.getRank() < 2)
    return std::nullopt;
  int64_t step = 1;
  for (const Axis &axis : type.getAxes().drop_front()) {
    if (!axis.isStatic())
      return std::nullopt;
    step *= axis.extent;
  }
  return step;
}

llvm::SetVector<Value>
penstock::analysis::inputsAlongOuterAxis(Value tensor, int64_t axis,
                                         llvm::function_ref<bool(Value)> isInMemory) {
  llvm::SetVector<Value> found;
  llvm::SetVector<std::pair<Value, int64_t>> reached;
  reached.insert({tensor, axis});
  for (size_t next = 0; next < reached.size(); ++next) {
    auto [value, along] = reached[next];
    auto type = llvm::cast<NamedTensorType>(value.getType());
    auto argument = llvm::dyn_cast<BlockArgument>(value);
    if (argument && llvm::isa<KernelOp>(argument.getOwner()->getParentOp()) && along == 0)
      found.insert(value);
    Operation *op = value.getDefiningOp();
    if (!op || isInMemory(value))
      continue;
    if (auto view = llvm::dyn_cast<ViewOp>(op)) {
      for (auto [place, expr] : llvm::enumerate(view.getMap().getResults()))
        if (expr.isFunctionOfDim(static_cast<unsigned>(along)))
          reached.insert({view.getInput(), static_cast<int64_t>(place)});
      continue;
    }
    auto follow = [&](Value operand) {
      auto inner = llvm::dyn_cast<NamedTensorType>(operand.getType());
      const int64_t place = inner ? inner.axisIndex(type.getAxes()[along].name) : -1;
      if (place >= 0)
        reached.insert({operand, place});
    };
    if (auto choose = llvm::dyn_cast<ChooseOp>(op))
      for (Region &arm : choose.getArms())
        follow(
            arm.front().getTerminator()->getOperand(llvm::cast<OpResult>(value).getResultNumber()));
    for (Value operand : op->getOperands())
      follow(operand);
  }
  return found;
}
