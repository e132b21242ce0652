// SPDX-License-Identifier: Apache-2.0
//
// Which bytes are looked up.
//
// What is made of one byte, and of numbers that are known when running, has 256 values. Two
// permutations look 64 bytes up, for which arithmetic needs four registers for each step; where
// many elements pass through the loops, that is worth making the table.
#include "compiler/Schedules/LoopPlan.h"

using namespace mlir;
using namespace penstock::pipe;

/// Elements below which a table is not worth 256 trials, and how many there are along an axis of
/// which nobody knows.
static constexpr int64_t enoughElements = 1024, usualExtent = 2048;

namespace {
/// What a value of a body is made of that differs between elements: nothing, one byte, or more.
struct MadeOf {
  Value byte;
  bool more = false;
  void add(const MadeOf &other) {
    more |= other.more || (byte && other.byte && byte != other.byte);
    byte = byte ? byte : other.byte;
  }
};
} // namespace

/// Elements that loops go through: those of channels stand side by side.
static bool hasEnough(NamedTensorType type) {
  if (type.getRank() == 0)
    return false;
  int64_t elements = 1;
  for (int64_t axis = 0; axis <= penstock::analysis::usualLaneAxis(type); ++axis) {
    const Axis &a = type.getAxes()[axis];
    elements = std::min(elements * (a.isStatic() ? a.extent : usualExtent), enoughElements);
  }
  return elements >= enoughElements;
}

static MadeOf madeOfArgument(MapOp op, BlockArgument argument) {
  const unsigned number = argument.getArgNumber();
  if (number >= op.getInputs().size())
    return {{}, true};
  Value input = op.getInputs()[number], root = input;
  while (auto view = root.getDefiningOp<ViewOp>())
    root = view.getInput();
  if (tensorOf(input).getRank() == 0 || root.getDefiningOp<ConstantOp>())
    return {};
  if (argument.getType().isUnsignedInteger(8))
    return {argument, false};
  return {{}, true};
}

/// Returns whether arithmetic costs more than looking up: two steps on 32 bits, or one on 64.
static bool costsMoreThanLookup(Value result, const llvm::DenseMap<Value, MadeOf> &made) {
  unsigned bits = 0;
  llvm::DenseSet<Value> needed{result};
  for (Operation *op = result.getDefiningOp(); op; op = op->getPrevNode()) {
    if (!needed.contains(op->getResult(0)))
      continue;
    needed.insert(op->operand_begin(), op->operand_end());
    if (made.lookup(op->getResult(0)).byte && !llvm::isa<CastOp, ConstantOp>(op))
      if (const unsigned own = op->getOperand(0).getType().getIntOrFloatBitWidth(); own > 8)
        bits += std::max(own, 32u);
  }
  return bits >= 64;
}

static void planTables(MapOp op) {
  Block &body = op.getBody().front();
  llvm::DenseMap<Value, MadeOf> made;
  for (BlockArgument argument : body.getArguments())
    made[argument] = madeOfArgument(op, argument);
  for (Operation &inner : body.without_terminator()) {
    if (inner.getNumResults() != 1 || inner.getNumRegions() || inner.hasAttr("table"))
      return;
    MadeOf own;
    for (Value operand : inner.getOperands())
      own.add(made.lookup(operand)); // of other scalars nothing: they are there before the loops
    own.more |= !llvm::isa<ConstantOp, UnaryOp, BinaryOp, CompareOp, SelectOp, CastOp>(inner);
    made[inner.getResult(0)] = own;
  }
  // From the end: what a table gives needs no operations before it.
  llvm::DenseSet<Value> needed{body.getTerminator()->getOperand(0)};
  for (Operation &inner : llvm::reverse(body.without_terminator())) {
    Value result = inner.getResult(0);
    const MadeOf own = made.lookup(result);
    if (!needed.contains(result))
      continue;
    if (own.byte && !own.more && canBeTabled(inner) && costsMoreThanLookup(result, made))
      inner.setAttr("table", BoolAttr::get(op.getContext(), true));
    else
      needed.insert(inner.operand_begin(), inner.operand_end());
  }
}

void penstock::schedules::planTables(KernelOp kernel, const lane::Features &has) {
  if (!has.hasByteTables())
    return;
  kernel.getBody().walk([](MapOp op) {
    if (hasEnough(tensorOf(op.getResult())))
      ::planTables(op);
  });
  kernel.getBody().walk([](LoadOp op) {
    auto outside = op->getParentOp();
    while (outside && !(outside->getNumResults() == 1 &&
                        llvm::isa<NamedTensorType>(outside->getResult(0).getType())))
      outside = outside->getParentOp();
    if (outside && !op->hasAttr("table") && byteIndexOf(op) >= 0 &&
        hasEnough(tensorOf(outside->getResult(0))))
      op->setAttr("table", BoolAttr::get(op.getContext(), true));
  });
}
