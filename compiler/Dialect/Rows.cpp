// SPDX-License-Identifier: Apache-2.0
//
// Ops that treat each row alone.
#include "compiler/Dialect/Rows.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

static ArrayRef<Axis> axesOf(Value value) {
  auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
  return type ? type.getAxes() : ArrayRef<Axis>();
}

static bool beginsWith(Value value, const Axis &rows) {
  ArrayRef<Axis> axes = axesOf(value);
  return !axes.empty() && axes[0].name == rows.name && axes[0].extent == rows.extent;
}

/// Returns whether `value` has the axis `rows`: others are the same for all rows.
static bool has(Value value, const Axis &rows) {
  return llvm::any_of(axesOf(value), [&](const Axis &axis) { return axis.name == rows.name; });
}

/// Returns whether the result's row i is made of the input's row i.
static bool keepsRows(ViewOp view) {
  for (auto [place, expr] : llvm::enumerate(view.getMap().getResults()))
    if (place == 0 ? expr != getAffineDimExpr(0, view.getContext()) : expr.isFunctionOfDim(0))
      return false;
  return true;
}

static bool treatsAlone(Operation *op, const Axis &rows) {
  if (!llvm::isa<ViewOp, CastOp, MapOp, ReduceOp>(op) || !beginsWith(op->getResult(0), rows))
    return false;
  if (auto view = llvm::dyn_cast<ViewOp>(op))
    return beginsWith(view.getInput(), rows) && keepsRows(view);
  if (auto reduce = llvm::dyn_cast<ReduceOp>(op))
    return beginsWith(reduce.getValue(), rows);
  llvm::SetVector<Value> lookedUp;
  getUsedValuesDefinedAbove(op->getRegions(), lookedUp);
  return llvm::none_of(lookedUp, [&](Value value) { return has(value, rows); }) &&
         llvm::all_of(op->getOperands(),
                      [&](Value value) { return !has(value, rows) || beginsWith(value, rows); });
}

std::optional<Axis> penstock::pipe::rowsOf(ArrayRef<Operation *> ops) {
  if (ops.empty() || ops[0]->getNumResults() != 1 || axesOf(ops[0]->getResult(0)).empty())
    return std::nullopt;
  const Axis rows = axesOf(ops[0]->getResult(0))[0];
  if (rows.extent < 2 || !llvm::all_of(ops, [&](Operation *op) { return treatsAlone(op, rows); }))
    return std::nullopt;
  return rows;
}

/// Returns whether `map` knows where it is along its first axis, or draws, which depends on that as
/// well.
static bool knowsRow(MapOp map) {
  Block &body = map.getBody().front();
  return !body.getArgument(static_cast<unsigned>(map.getInputs().size())).use_empty() ||
         map->walk([](DrawOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

std::optional<Axis> penstock::pipe::rowsOf(KernelOp kernel) {
  if (kernel.getKind() != "pixels")
    return std::nullopt;
  SmallVector<Operation *> ops;
  auto isTensor = [](Value value) { return llvm::isa<NamedTensorType>(value.getType()); };
  auto isDynamic = [](Value value) {
    auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
    return type && !type.isStatic();
  };
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (auto map = llvm::dyn_cast<MapOp>(op); map && knowsRow(map))
      return std::nullopt;
    if (llvm::any_of(op.getResults(), isTensor) && !llvm::isa<ConstantOp>(op))
      ops.push_back(&op);
    else if (llvm::any_of(op.getOperands(), isTensor) || op.getNumRegions())
      return std::nullopt; // a number that elements decide
    if (llvm::any_of(op.getResults(), isDynamic) || llvm::any_of(op.getOperands(), isDynamic))
      return std::nullopt;
  }
  return rowsOf(ops);
}
