// SPDX-License-Identifier: Apache-2.0
//
// What only the column decides, once per sample.
#include "compiler/Schedules/ColumnTerms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

/// Axes up to this long are unrolled, or looped over outside of lanes.
static constexpr int64_t shortAxis = 4;
/// A load and a store of each element must be worth it: so many operations, and so
/// many rows that repeat them.
static constexpr size_t fewestOperations = 3;
static constexpr int64_t fewestRows = 8;

/// The axis that lanes lie along, if it is long and there are rows of it.
static std::optional<int64_t> columnAxis(NamedTensorType type) {
  std::optional<int64_t> found;
  for (auto [number, axis] : llvm::enumerate(type.getAxes()))
    if (!axis.isStatic() || axis.extent > shortAxis)
      found = number;
  if (!found || !type.getAxes()[*found].isStatic())
    return std::nullopt;
  int64_t rows = 1;
  for (auto [number, axis] : llvm::enumerate(type.getAxes()))
    if (static_cast<int64_t>(number) != *found)
      rows *= axis.isStatic() ? axis.extent : fewestRows;
  return rows < fewestRows ? std::nullopt : found;
}

namespace {
using Operations = llvm::SetVector<Operation *>;
} // namespace

/// The arithmetic in `body` that depends on `coordinate`, and besides on what stands
/// outside only.
static Operations termsOf(Block &body, Value coordinate) {
  Operations terms;
  for (Operation &op : body.without_terminator()) {
    if (!llvm::isa<UnaryOp, BinaryOp, CompareOp, SelectOp, CastOp>(op))
      continue;
    auto inside = [&](Value v) { return v == coordinate || terms.contains(v.getDefiningOp()); };
    auto known = [&](Value v) { return inside(v) || v.getParentBlock() != &body; };
    if (llvm::all_of(op.getOperands(), known) && llvm::any_of(op.getOperands(), inside))
      terms.insert(&op);
  }
  return terms;
}

/// Those of `terms` that `result` needs, operands first.
static Operations neededFor(Operation *result, const Operations &terms) {
  llvm::SmallPtrSet<Operation *, 8> needed{result};
  for (Operation *op : llvm::reverse(terms))
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return needed.contains(user); }))
      needed.insert(op);
  Operations inOrder;
  for (Operation *op : terms)
    if (needed.contains(op))
      inOrder.insert(op);
  return inOrder;
}

/// A map over `axis` that computes `result`, which `map` reads in its place.
static MapOp moveOut(MapOp map, int64_t axisNumber, Operation *result, const Operations &terms) {
  OpBuilder b(map);
  const Axis axis = llvm::cast<NamedTensorType>(map.getResult().getType()).getAxes()[axisNumber];
  Type element = result->getResult(0).getType();
  auto column = b.create<MapOp>(result->getLoc(), NamedTensorType::get(element, {axis}),
                                ValueRange(), ValueRange());
  Block &body = map.getBody().front();
  const size_t inputs = map.getInputs().size();
  IRMapping copies;
  Block *made = b.createBlock(&column.getBody(), {}, {b.getI64Type()}, {result->getLoc()});
  copies.map(body.getArgument(inputs + axisNumber), made->getArgument(0));
  for (Operation *op : neededFor(result, terms))
    b.clone(*op, copies);
  b.create<YieldOp>(result->getLoc(), copies.lookup(result->getResult(0)));
  BlockArgument read = body.insertArgument(inputs, element, result->getLoc());
  map.getInputsMutable().append(column.getResult());
  // Other terms keep theirs: they may be moved, too.
  result->getResult(0).replaceUsesWithIf(
      read, [&](OpOperand &use) { return !terms.contains(use.getOwner()); });
  return column;
}

static void splitMap(MapOp map, SmallVectorImpl<MapOp> &columns) {
  auto axis = columnAxis(llvm::cast<NamedTensorType>(map.getResult().getType()));
  if (!axis)
    return;
  Block &body = map.getBody().front();
  const Operations terms = termsOf(body, body.getArgument(map.getInputs().size() + *axis));
  for (Operation *op : terms) {
    const bool leaves =
        llvm::any_of(op->getUsers(), [&](Operation *user) { return !terms.contains(user); });
    if (leaves && llvm::isa<Float32Type, Float64Type>(op->getResult(0).getType()) &&
        neededFor(op, terms).size() >= fewestOperations)
      columns.push_back(moveOut(map, *axis, op, terms));
  }
  for (Operation *op : llvm::reverse(terms))
    if (isOpTriviallyDead(op))
      op->erase();
}

SmallVector<MapOp> penstock::schedules::splitColumnTerms(KernelOp kernel) {
  SmallVector<MapOp> columns;
  for (auto map : llvm::make_early_inc_range(kernel.getBody().front().getOps<MapOp>()))
    splitMap(map, columns);
  return columns;
}
