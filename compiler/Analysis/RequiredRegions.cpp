// SPDX-License-Identifier: Apache-2.0
//
// Boxes that are needed of every value.
#include "compiler/Analysis/RequiredRegions.h"
#include "compiler/Dialect/Boxes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

RequiredRegions::RequiredRegions(PipelineOp pipeline, OpBuilder &builder) : builder(builder) {
  visitBlock(pipeline.getBody().front());
}

void RequiredRegions::visitBlock(Block &block) {
  for (Operation &op : llvm::reverse(block))
    visit(&op);
}

//===--- union over users and over arms -------------------------------------===//

static Value both(ScalarBuilder &scalars, Value a, Value b) {
  return a && b && a != b ? scalars.logicalAnd(a, b) : a ? a : b;
}

void RequiredRegions::need(Value tensor, const Box &box) { add(tensor, {box, when, byPeer}); }

void RequiredRegions::add(Value tensor, const Need &more) {
  auto [at, fresh] = needs.insert({tensor, more});
  if (fresh)
    return;
  Need &mine = at->second;
  ScalarBuilder scalars(builder, tensor.getLoc());
  // Where only one of the two is read, the union is that one.
  auto refined = [&](Value whole, Value a, Value b) {
    if (mine.when == more.when)
      return whole;
    if (more.when)
      whole = scalars.select(more.when, whole, a);
    return mine.when ? scalars.select(mine.when, whole, b) : whole;
  };
  for (auto [axis, range] : llvm::enumerate(mine.box)) {
    const AxisRange &other = more.box[axis];
    const bool covered = (range.isWhole() && (other.isWhole() || !mine.when)) ||
                         (other.isWhole() && !more.when) ||
                         (mine.when == more.when && (range.isWhole() || other.isWhole()));
    if (covered) {
      range = {};
      continue;
    }
    const auto [low, high] = numbersOf(tensor, axis, range, scalars);
    const auto [lower, higher] = numbersOf(tensor, axis, other, scalars);
    range = {low == lower ? low : refined(scalars.min(low, lower), low, lower),
             high == higher ? high : refined(scalars.max(high, higher), high, higher)};
  }
  if (mine.when != more.when)
    mine.when =
        mine.when && more.when ? scalars.binary(BinaryKind::bit_or, mine.when, more.when) : Value();
  mine.byPeer |= more.byPeer;
}

bool RequiredRegions::isKnown(Value scalar) const {
  Operation *op = scalar.getDefiningOp();
  return op && op->getBlock() == builder.getInsertionBlock() &&
         op->isBeforeInBlock(&*builder.getInsertionPoint());
}

Need RequiredRegions::chosen(ChooseOp choose, ArrayRef<const Need *> arms, Value tensor) {
  ScalarBuilder scalars(builder, choose.getLoc());
  const Need &first = **llvm::find_if(arms, [](const Need *arm) { return arm; });
  Need result;
  const bool always =
      llvm::all_of(arms, [](const Need *arm) { return arm && !arm->when && !arm->byPeer; });
  if (!always)
    for (auto [number, arm] : llvm::enumerate(arms)) {
      if (!arm)
        continue;
      Value runs = scalars.isArm(choose.getIndex(), number, arms.size());
      Value reads = both(scalars, runs, arm->when);
      result.when = result.when ? scalars.binary(BinaryKind::bit_or, result.when, reads) : reads;
    }
  result.when = both(scalars, when, result.when);
  result.byPeer = byPeer;
  for (size_t axis = 0; axis < first.box.size(); ++axis) {
    if (llvm::all_of(arms, [&](const Need *arm) { return !arm || arm->box[axis].isWhole(); })) {
      result.box.push_back({});
      continue;
    }
    SmallVector<Value> low, high;
    for (const Need *arm : arms) {
      const AxisRange range = numbersOf(tensor, axis, (arm ? *arm : first).box[axis], scalars);
      low.push_back(range.low);
      high.push_back(range.high);
    }
    result.box.push_back({scalars.selectByIndex(choose.getIndex(), low),
                          scalars.selectByIndex(choose.getIndex(), high)});
  }
  return result;
}

// Inside an arm, conditions are those of the sample given that the arm runs;
// they get the arm's own when the arm is left.
void RequiredRegions::visitArms(ChooseOp choose) {
  const Value outerWhen = when;
  const bool outerPeer = byPeer;
  llvm::MapVector<Value, SmallVector<const Need *>> found;
  SmallVector<llvm::MapVector<Value, Need>> arms;
  llvm::MapVector<Value, Need> outer = std::move(needs);
  for (Region &arm : choose.getArms()) {
    needs.clear();
    when = {};
    byPeer = false;
    for (auto [i, value] : llvm::enumerate(arm.front().getTerminator()->getOperands()))
      if (auto wanted = outer.find(choose.getResult(i)); wanted != outer.end())
        need(value, wanted->second.box);
    visitBlock(arm.front());
    arms.push_back(std::move(needs));
  }
  needs = std::move(outer);
  when = outerWhen;
  byPeer = outerPeer;
  for (auto [number, arm] : llvm::enumerate(arms))
    for (auto &[tensor, wanted] : arm) {
      auto &entry = found[tensor];
      entry.resize(arms.size());
      entry[number] = &wanted;
    }
  const bool decided = isKnown(choose.getIndex());
  for (auto &[tensor, entry] : found) {
    const bool peers = llvm::any_of(entry, [](const Need *arm) { return arm && arm->byPeer; });
    if (decided && !peers) {
      add(tensor, chosen(choose, entry, tensor));
      continue;
    }
    for (const Need *arm : entry)
      if (arm)
        add(tensor, {arm->box, peers ? Value() : when, peers || byPeer});
  }
}

void RequiredRegions::visit(Operation *op) {
  if (auto batch = llvm::dyn_cast<BatchOp>(op))
    return visitBlock(batch.getBody().front());
  if (!touchesTensors(op))
    return;
  const Need *found = nullptr;
  when = {};
  byPeer = false;
  for (Value result : op->getResults())
    if (const Need *wanted = needOf(result)) {
      // Of several results, those that are read together with the first.
      when = !found || when == wanted->when ? wanted->when : Value();
      byPeer |= wanted->byPeer;
      found = found ? found : wanted;
    }
  if (!found && op->getNumResults() != 0 && isPure(op))
    return; // nothing reads it
  const bool whole =
      !found && op->getNumResults() == 1 && llvm::isa<NamedTensorType>(op->getResult(0).getType());
  const Box box = found ? found->box : Box(whole ? tensorOf(op->getResult(0)).getRank() : 0);
  // Tables that a region reads at computed indices, and what the body of a
  // repeat reads: its scalars differ from iteration to iteration.
  if (!llvm::isa<ChooseOp>(op)) {
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    if (op->walk([](Operation *inner) {
            return classOf(inner) == OpClass::peer ? WalkResult::interrupt()
                                                   : WalkResult::advance();
          }).wasInterrupted()) {
      when = {};
      byPeer = true;
    }
    for (Value value : captured)
      if (llvm::isa<NamedTensorType>(value.getType()))
        needWhole(value);
  }
  if (auto choose = llvm::dyn_cast<ChooseOp>(op))
    return visitArms(choose);
  if (auto reader = llvm::dyn_cast<RequiredBoxOpInterface>(op))
    reader.requireInputs(box, *this);
  else if (!llvm::isa<YieldOp>(op))
    needAllInputs(op, *this); // outputs, peers and so on
}

} // namespace penstock::analysis
