// SPDX-License-Identifier: Apache-2.0
//
// A window's rows first, then its columns.
#include "compiler/Schedules/SeparateWindows.h"
#include "compiler/Schedules/WindowReductions.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Neighbours from which on two windows and what is stored between them are less than one.
static constexpr int64_t fewestNeighbours = 16, fewestAlong = 3;

/// Returns whether what lies beyond rows is what a column of made-up elements reduces to.
static bool bordersAgree(WindowOp op, const WindowReduction &reduction) {
  if (op.getBorder() != Border::constant)
    return true;
  if (!reduction.terms[0].operations.empty() || !op.getFill())
    return false;
  const BinaryKind kind = reduction.kind;
  if (kind != BinaryKind::add && kind != BinaryKind::bit_xor)
    return true;
  auto fill = op.getFill().getDefiningOp<ConstantOp>();
  auto number = fill ? llvm::dyn_cast<IntegerAttr>(fill.getValue()) : IntegerAttr();
  return number && number.getValue().isZero();
}

/// Along the first axis of terms, along the second one of what those reduce to.
static WindowOp windowAlong(ReducedWindow &window, size_t axis, Value input,
                            const WindowReduction &reduction, bool makesTerms) {
  WindowOp op = window.op;
  OpBuilder b(op);
  const Location loc = reduction.root->getLoc();
  auto type = llvm::cast<NamedTensorType>(op.getResult().getType());
  Type element = reduction.type(),
       read = llvm::cast<NamedTensorType>(input.getType()).getElementType();
  Value fill = op.getFill();
  auto made = b.create<WindowOp>(loc, NamedTensorType::get(element, type.getAxes()), op.getBorder(),
                                 input, b.getArrayAttr({op.getOver()[axis]}),
                                 b.getDenseI64ArrayAttr({op.getLow()[axis]}),
                                 b.getDenseI64ArrayAttr({op.getHigh()[axis]}), fill, op.getSizes());
  SmallVector<Type> types(static_cast<size_t>(window.along(axis)), read);
  types.append(static_cast<size_t>(type.getRank()), b.getI64Type());
  Block *body = b.createBlock(&made.getBody(), {}, types, SmallVector<Location>(types.size(), loc));
  Value all;
  for (int64_t k = 0; k < window.along(axis); ++k) {
    Value term = body->getArgument(static_cast<unsigned>(k));
    if (makesTerms) {
      const WindowTerm &model = reduction.terms[0];
      IRMapping copies;
      copies.map(model.neighbour, term);
      for (Operation *inner : model.operations)
        term = b.clone(*inner, copies)->getResult(0);
    }
    all = all ? b.create<BinaryOp>(loc, element, reduction.kind, all, term).getResult() : term;
  }
  b.create<YieldOp>(loc, all);
  return made;
}

SmallVector<WindowOp> penstock::schedules::separateWindows(KernelOp kernel) {
  SmallVector<WindowOp> made;
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<WindowOp>())) {
    if (op.getOver().size() != 2)
      continue;
    std::optional<ReducedWindow> window = reducedWindow(op);
    if (!window || window->along(0) < fewestAlong || window->along(1) < fewestAlong)
      continue;
    const int64_t neighbours = window->along(0) * window->along(1);
    if (neighbours < fewestNeighbours || !llvm::all_of(
                                             window->reductions,
                                             [&](const WindowReduction &reduction) {
                                               return !reduction.isPlace &&
                                                      reduction.count() == neighbours &&
                                                      bordersAgree(op, reduction);
                                             }))
      continue;
    SmallVector<Value> results;
    for (const WindowReduction &reduction : window->reductions) {
      made.push_back(windowAlong(*window, 0, op.getInput(), reduction, true));
      results.push_back(
          windowAlong(*window, 1, made.back().getResult(), reduction, false).getResult());
    }
    window->putTogether(results);
  }
  return made;
}
