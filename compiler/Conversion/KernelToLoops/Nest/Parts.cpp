// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are stored as others, each by loops of its own: the parts of a concat or a stack,
// and what several axes were merged of.
#include "compiler/Analysis/MergedAxes.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Stores a concat part by part, so that no vector holds elements of two. `low` and `high` count
/// along axis 0 of the whole.
static void storeEach(const Site &site, ConcatOp op, const Buffer &to, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t axis = typeOf(op.getResult()).axisIndex(op.getAxis());
  Value at = l.i64(0);
  for (OpOperand &operand : op->getOpOperands().take_front(op.getInputs().size())) {
    Value input = operand.get(), size = extent(site, input, axis), from = low, end = high;
    if (axis == 0) {
      from = l.maxS(l.sub(low, at), l.i64(0));
      end = l.minS(l.sub(high, at), size);
    }
    Buffer part = to;
    part.streaming = false;
    part.pointer = m.address(to.pointer, l.mul(at, to.strides[axis]));
    storeTensor(site, input, part, shapeOf(site, operand), from, end);
    at = l.add(at, size);
  }
}

/// The same of a stack, whose axis is the outermost one.
static void storeEach(const Site &site, StackOp op, const Buffer &to, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  Buffer part = to;
  part.streaming = false;
  part.strides.erase(part.strides.begin());
  part.known.erase(part.known.begin());
  for (OpOperand &operand : op->getOpOperands().take_front(op.getInputs().size())) {
    Value at = l.i64(operand.getOperandNumber());
    auto choice = b.create<scf::IfOp>(
        l.loc, l.andInt(l.cmp(CmpIPredicate::sle, low, at), l.cmp(CmpIPredicate::slt, at, high)),
        false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    part.pointer = m.address(to.pointer, l.mul(at, to.strides[0]));
    storeTensor(site, operand.get(), part, shapeOf(site, operand), l.i64(0),
                extent(site, operand.get(), 0));
  }
}

/// Stores what is merged with the axes that it was merged of: there, nothing is divided. Some rows
/// of an outermost axis that is merged are stored element by element.
static void storeSplit(const Site &site, ViewOp op, const Buffer &to, Value low, Value high) {
  auto [ctx, b, l, m] = site.parts();
  Value input = op.getInput();
  Buffer whole = to;
  whole.streaming = false; // rows of parts may begin anywhere in a line
  Buffer split = whole;
  split.strides.clear();
  split.known.clear();
  const auto parts = penstock::analysis::partsOf(typeOf(input), typeOf(op.getResult()));
  for (const penstock::analysis::Part &part : parts) {
    const auto known = to.known[part.axis];
    split.strides.push_back(l.mul(to.strides[part.axis], l.i64(part.step)));
    split.known.push_back(known ? std::optional(*known * part.step) : std::nullopt);
  }
  if (parts.size() < 2 || parts[1].axis != 0)
    return storeTensor(site, input, split, shapeOf(input), low, high);
  Value isWhole = l.andInt(l.cmp(CmpIPredicate::sle, low, l.i64(0)),
                           l.cmp(CmpIPredicate::sge, high, extent(site, op.getResult(), 0)));
  auto choice = b.create<scf::IfOp>(l.loc, isWhole, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  storeTensor(site, input, split, shapeOf(input), l.i64(0), extent(site, input, 0));
  b.setInsertionPointToStart(choice.elseBlock());
  LoopShape single = shapeOf(op.getResult());
  single.lanes = 1;
  storeTensor(site, op.getResult(), whole, single, low, high);
}

bool penstock::conversion::storeInParts(const Site &site, const Stored &stored, Value low,
                                        Value high) {
  Operation *op = stored.tensor.getDefiningOp();
  auto merged = llvm::dyn_cast_if_present<ViewOp>(op);
  if (merged && penstock::analysis::isMerge(merged) && !site.buffer(merged.getInput())) {
    storeSplit(site, merged, stored.to, low, high);
    return true;
  }
  if (!op || !storesParts(op))
    return false;
  if (auto stack = llvm::dyn_cast<StackOp>(op))
    storeEach(site, stack, stored.to, low, high);
  else
    storeEach(site, llvm::cast<ConcatOp>(op), stored.to, low, high);
  return true;
}
