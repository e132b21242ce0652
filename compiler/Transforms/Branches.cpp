// SPDX-License-Identifier: Apache-2.0
//
// A pipeline without branches, for the fusion.
//
// Scalars of an arm lose their guard: they are total, and setup evaluates them
// once. A check keeps it: what an arm that does not run would find wrong is not
// wrong.
#include "compiler/Transforms/Branches.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Transforms/Regions.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::transforms {

//===--- choose and repeat -------------------------------------------------===//

static void guardCheck(CheckOp check, Value guard) {
  OpBuilder builder(check);
  ScalarBuilder scalars(builder, check.getLoc());
  check.getConditionMutable().assign(
      scalars.binary(BinaryKind::bit_or, check.getCondition(), scalars.logicalNot(guard)));
}

/// Has `op` run only where `guard` holds; what is taken apart later hands it on to what it holds.
static void giveGuard(Operation &op, Value guard, Guards &guards) {
  if (auto check = llvm::dyn_cast<CheckOp>(op))
    guardCheck(check, guard);
  else if (classOf(&op) == OpClass::branch || touchesTensors(&op))
    guards[&op] = guard;
}

/// The ops of an arm that other samples read: they run whether or not this
/// sample takes the arm.
static DenseSet<Operation *> readByPeers(Block &arm) {
  DenseSet<Operation *> found;
  SmallVector<Value> queue;
  arm.walk([&](Operation *op) {
    if (classOf(op) == OpClass::peer)
      queue.push_back(op->getOperand(0));
  });
  while (!queue.empty()) {
    Operation *op = queue.pop_back_val().getDefiningOp();
    op = op ? arm.findAncestorOpInBlock(*op) : nullptr;
    if (!op || !found.insert(op).second)
      continue;
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    llvm::append_range(queue, used);
  }
  return found;
}

static LogicalResult flatten(ChooseOp choose, Guards &guards) {
  OpBuilder builder(choose);
  ScalarBuilder scalars(builder, choose.getLoc());
  Value outer = guards.lookup(choose);
  const auto count = static_cast<int64_t>(choose.getArms().size());
  SmallVector<SmallVector<Value>> yields;
  for (auto [number, arm] : llvm::enumerate(choose.getArms())) {
    Value guard = scalars.isArm(choose.getIndex(), number, count);
    if (outer)
      guard = scalars.logicalAnd(outer, guard);
    const DenseSet<Operation *> always = readByPeers(arm.front());
    for (Operation &op : llvm::make_early_inc_range(arm.front())) {
      if (auto yield = llvm::dyn_cast<YieldOp>(op)) {
        yields.emplace_back(yield->getOperands());
        continue;
      }
      op.moveBefore(choose);
      if (!always.contains(&op))
        giveGuard(op, guard, guards);
    }
  }
  for (auto [i, result] : llvm::enumerate(choose->getResults())) {
    SmallVector<Value> choices;
    for (auto &arm : yields)
      choices.push_back(arm[i]);
    if (isScalarType(result.getType()))
      result.replaceAllUsesWith(scalars.selectByIndex(choose.getIndex(), choices));
    else if (llvm::isa<NamedTensorType>(result.getType()))
      result.replaceAllUsesWith(
          builder.create<SwitchOp>(choose.getLoc(), result.getType(), choose.getIndex(), choices));
    else
      return choose.emitError("the arms of a choice yield rows or encoded "
                              "bytes, and which one is not known when "
                              "compiling");
  }
  guards.erase(choose);
  choose.erase();
  return success();
}

/// Operations that all unrolled iterations of a pipeline may have: as many as there may be
/// expressions (dsl/Sema/InlinedSize.h).
static constexpr uint64_t mostUnrolled = 500'000;

/// Counts what the iterations of `repeat` take, where they stand one after the other; an error,
/// before any is made, if that is too much.
static LogicalResult countUnrolled(RepeatOp repeat, uint64_t &unrolled) {
  const uint64_t most = repeat.getBound();
  const uint64_t times = std::min(most, static_cast<uint64_t>(std::max<int64_t>(
                                            constantOf(repeat.getCount()).value_or(INT64_MAX), 0)));
  uint64_t body = 0;
  repeat.getBody().walk([&](Operation *) { ++body; });
  if (times > 0 && body > (mostUnrolled - unrolled) / times)
    return repeat.emitError() << "`repeat` of " << times << " iterations, each of " << body
                              << " operations: what goes through whole tensors is unrolled, and a "
                                 "pipeline unrolls "
                              << mostUnrolled << " operations at most";
  unrolled += times * body;
  return success();
}

void unrollRepeat(RepeatOp repeat, Guards &guards) {
  OpBuilder builder(repeat);
  ScalarBuilder scalars(builder, repeat.getLoc());
  Value outer = guards.lookup(repeat);
  SmallVector<Value> carried(repeat.getInits());
  Block &body = repeat.getBody().front();
  for (int64_t i = 0; i < static_cast<int64_t>(repeat.getBound()); ++i) {
    Value number = scalars.constant(i);
    SmallVector<Value> arguments{number};
    llvm::append_range(arguments, carried);
    Value runs = scalars.compare(Predicate::lt, number, repeat.getCount());
    if (auto known = constantOf(runs)) {
      if (!*known)
        continue;
      Operation *before = repeat->getPrevNode();
      carried = cloneBody(builder, body, arguments, i);
      for (Operation *op = before->getNextNode(); outer && op != repeat; op = op->getNextNode())
        giveGuard(*op, outer, guards);
      continue;
    }
    auto choose =
        builder.create<ChooseOp>(repeat.getLoc(), repeat.getResultTypes(),
                                 scalars.cast(runs, builder.getI64Type()), repeat.getSizes(), 2);
    if (outer)
      guards[choose] = outer;
    OpBuilder::InsertionGuard restore(builder);
    builder.createBlock(&choose.getArms()[0]);
    builder.create<YieldOp>(repeat.getLoc(), carried);
    builder.createBlock(&choose.getArms()[1]);
    SmallVector<Value> next = cloneBody(builder, body, arguments, i);
    builder.create<YieldOp>(repeat.getLoc(), next);
    carried.assign(choose.result_begin(), choose.result_end());
  }
  repeat.replaceAllUsesWith(carried);
  guards.erase(repeat);
  repeat.erase();
}

/// What a pointwise scope knows of its sample is there before any kernel: a kernel of pixels is
/// given keys, fields and the like as numbers.
static void hoistNumbersOfSample(Operation *scope) {
  scope->walk([&](Operation *op) {
    const bool isNumber = llvm::isa<KeyOp, ContextOp, ParamOp, FieldOp, FieldExtentOp,
                                    FieldElementOp, ProbeOp, LengthOp, RowIndexOp, EntryOp>(op) &&
                          !touchesTensors(op);
    if (isNumber && llvm::all_of(op->getOperands(), [&](Value operand) {
          return !scope->isAncestor(operand.getParentBlock()->getParentOp());
        }))
      op->moveBefore(scope);
  });
}

/// Flattens the branches of `block` in order; what an arm held is looked at where it now stands.
static LogicalResult flattenIn(Block &block, Guards &guards, uint64_t &unrolled) {
  for (Operation *op = block.empty() ? nullptr : &block.front(); op;) {
    if (auto batch = llvm::dyn_cast<BatchOp>(op);
        batch && failed(flattenIn(batch.getBody().front(), guards, unrolled)))
      return failure();
    if (classOf(op) != OpClass::branch) {
      if (classOf(op) == OpClass::point && llvm::isa<ChooseOp, RepeatOp>(op))
        hoistNumbersOfSample(op);
      op = op->getNextNode();
      continue;
    }
    Operation *before = op->getPrevNode();
    if (auto choose = llvm::dyn_cast<ChooseOp>(op)) {
      if (failed(flatten(choose, guards)))
        return failure();
    } else {
      auto repeat = llvm::cast<RepeatOp>(op);
      if (failed(countUnrolled(repeat, unrolled)))
        return failure();
      unrollRepeat(repeat, guards);
    }
    op = before ? before->getNextNode() : &block.front();
  }
  return success();
}

FailureOr<Guards> flattenBranches(PipelineOp pipeline) {
  Guards guards;
  uint64_t unrolled = 0;
  if (failed(flattenIn(pipeline.getBody().front(), guards, unrolled)))
    return failure();
  return guards;
}

//===--- the batch ---------------------------------------------------------===//

/// The values of the batch that depend on what a peer holds.
static DenseSet<Value> dependsOnPeers(BatchOp batch) {
  DenseSet<Value> found;
  for (Operation &op : batch.getBody().front()) {
    SetVector<Value> used(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), used);
    if (classOf(&op) == OpClass::peer ||
        llvm::any_of(used, [&](Value value) { return found.contains(value); }))
      found.insert(op.result_begin(), op.result_end());
  }
  return found;
}

/// Emits `value`, which depends on scalars of peers, at the insertion point.
static Value emitFromPeers(OpBuilder &builder, Value value, const DenseMap<Value, Value> &tensors,
                           const DenseSet<Value> &dependent, IRMapping &mapping) {
  if (Value done = mapping.lookupOrNull(value))
    return done;
  if (!dependent.contains(value) || llvm::isa<NamedTensorType>(value.getType()))
    return value;
  if (Value tensor = tensors.lookup(value)) {
    Value loaded = builder.create<LoadOp>(value.getLoc(), value.getType(), tensor, ValueRange());
    mapping.map(value, loaded);
    return loaded;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    mapping.map(operand, emitFromPeers(builder, operand, tensors, dependent, mapping));
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

/// A tensor without axes that holds the scalar which `emit` makes.
static Value boxed(OpBuilder &builder, Location loc, Type type, llvm::function_ref<Value()> emit) {
  auto map = builder.create<MapOp>(loc, NamedTensorType::get(type, {}), ValueRange(), ValueRange());
  OpBuilder::InsertionGuard restore(builder);
  startBody(builder, map);
  builder.create<YieldOp>(loc, emit());
  return map;
}

/// Scalars of peers, and what follows from them, move into kernels.
static void boxPeerScalars(BatchOp batch) {
  const DenseSet<Value> dependent = dependsOnPeers(batch);
  DenseMap<Value, Value> tensors;
  OpBuilder builder(batch.getContext());
  SmallVector<Operation *> ops;
  for (Operation &op : batch.getBody().front())
    ops.push_back(&op);
  SmallVector<Operation *> dead;
  for (Operation *op : ops) {
    const bool scalarResult = op->getNumResults() != 0 &&
                              isScalarType(op->getResult(0).getType()) &&
                              dependent.contains(op->getResult(0));
    if (auto peer = llvm::dyn_cast<PeerOp>(op)) {
      if (!isScalarType(peer.getType()))
        continue;
      Value mine = peer.getValue();
      IRMapping mapping; // of what is itself known only to kernels of the batch
      builder.setInsertionPoint(dependent.contains(mine) ? op : batch.getOperation());
      Value box = boxed(builder, peer.getLoc(), mine.getType(),
                        [&] { return emitFromPeers(builder, mine, tensors, dependent, mapping); });
      builder.setInsertionPoint(peer);
      tensors[peer] = builder.create<PeerOp>(peer.getLoc(), box.getType(), box, peer.getSlot());
    }
    if (scalarResult) {
      dead.push_back(op);
      continue;
    }
    // Uses inside regions, and outputs, read what the peer holds.
    for (Region &region : op->getRegions()) {
      IRMapping mapping;
      builder.setInsertionPointToStart(&region.front());
      SetVector<Value> used;
      getUsedValuesDefinedAbove(region, used);
      for (Value value : used)
        if (dependent.contains(value) && isScalarType(value.getType())) {
          Value inner = emitFromPeers(builder, value, tensors, dependent, mapping);
          replaceAllUsesInRegionWith(value, inner, region);
        }
    }
    if (auto output = llvm::dyn_cast<OutputOp>(op); output &&
                                                    dependent.contains(output.getValue()) &&
                                                    isScalarType(output.getValue().getType())) {
      builder.setInsertionPoint(output);
      IRMapping mapping;
      Value value = output.getValue();
      output.getValueMutable().assign(boxed(builder, output.getLoc(), value.getType(), [&] {
        return emitFromPeers(builder, value, tensors, dependent, mapping);
      }));
    }
  }
  for (Operation *op : llvm::reverse(dead))
    if (op->use_empty())
      op->erase();
}

/// Returns whether `op` needs one of the scalars before any pixel is made. Regions were
/// given what they read of peers.
static bool needsInSetup(Operation &op, const DenseSet<Value> &scalars) {
  if (!llvm::isa<CheckOp>(op) && !touchesTensors(&op))
    return false;
  return llvm::any_of(op.getOperands(), [&](Value operand) {
    return isScalarType(operand.getType()) && scalars.contains(operand);
  });
}

LogicalResult hoistFromBatch(PipelineOp pipeline, Guards &guards) {
  for (BatchOp batch : pipeline.getBody().getOps<BatchOp>()) {
    boxPeerScalars(batch);
    const DenseSet<Value> dependent = dependsOnPeers(batch);
    for (Operation &op : batch.getBody().front())
      if (needsInSetup(op, dependent))
        return mlir::emitError(op.getLoc())
               << "an extent, an offset or a fill depends on a value of another sample, which is "
                  "not known "
                  "before pixels are made; compute it in every sample, and take the result from "
                  "the other one";
    for (Operation &op : llvm::make_early_inc_range(batch.getBody().front())) {
      if (llvm::isa<OutputOp, PeerOp, PeersOp>(op))
        continue;
      if (op.getNumResults() != 0 && dependent.contains(op.getResult(0)))
        continue;
      op.moveBefore(batch);
    }
  }
  return success();
}

/// The positions of the value's axes in memory order, and how many of them
/// stand outside `n`.
static std::pair<SmallVector<unsigned>, size_t> memoryOrder(OutputOp output) {
  auto type = llvm::cast<NamedTensorType>(output.getValue().getType());
  SmallVector<unsigned> order;
  size_t outside = 0;
  for (auto name : output.getStored().getAsRange<StringAttr>()) {
    const int64_t axis = type.axisIndex(name);
    if (axis < 0)
      outside = order.size();
    else
      order.push_back(static_cast<unsigned>(axis));
  }
  // Names of the user's stand for the value's axes by position.
  if (order.size() != type.getAxes().size()) {
    order.clear();
    for (unsigned axis = 0; axis < type.getAxes().size(); ++axis)
      order.push_back(axis);
    outside = 0;
  }
  return {order, outside};
}

/// Returns whether a kernel makes `value` for each sample.
static bool isWritten(Value value, const analysis::OncePerBatch &once) {
  Operation *producer = value.getDefiningOp();
  return producer && !once.isOfBatch(producer) &&
         llvm::is_contained(
             {OpClass::index, OpClass::point, OpClass::halo, OpClass::gather, OpClass::barrier},
             classOf(producer));
}

/// The value again, by a kernel of its own. Behind the value, so that one kernel can
/// write both.
static Value copied(OpBuilder &builder, Location loc, Value value) {
  auto type = llvm::cast<NamedTensorType>(value.getType());
  SmallVector<Value> sizes;
  for (int64_t axis : type.dynamicAxes())
    sizes.push_back(extentValue(builder, loc, value, axis));
  auto map = AffineMap::getMultiDimIdentityMap(type.getRank(), builder.getContext());
  return builder.create<ViewOp>(loc, type, value, AffineMapAttr::get(map), ValueRange(), sizes);
}

void separateOutputs(PipelineOp pipeline, const analysis::OncePerBatch &once) {
  DenseSet<Value> taken;
  pipeline.walk([&](OutputOp output) {
    OpBuilder before(output);
    for (OpOperand &count : output.getCountsMutable())
      if (once.isOfBatch(count.get().getDefiningOp()))
        count.set(copied(before, output.getLoc(), count.get()));
    auto type = llvm::dyn_cast<NamedTensorType>(output.getValue().getType());
    if (!type)
      return;
    const bool written = isWritten(output.getValue(), once);
    const auto [order, outside] = memoryOrder(output);
    // Inside several axes, `n` takes them apart: no other kernel can read that, nor a single axis
    // (kernel.h).
    const bool isRead =
        llvm::any_of(output.getValue().getUsers(), [&](Operation *user) { return user != output; });
    const bool isApart = outside > 1 || (outside == 1 && type.getRank() == 1 && isRead);
    const bool asStored = llvm::is_sorted(order) && !isApart;
    if (asStored && written && taken.insert(output.getValue()).second)
      return;
    OpBuilder builder(output);
    // In the block of what it copies, so that one kernel can write both.
    if (written)
      builder.setInsertionPointAfterValue(output.getValue());
    SmallVector<Value> sizes;
    SmallVector<Axis> axes;
    for (unsigned axis : order) {
      axes.push_back(type.getAxes()[axis]);
      if (!axes.back().isStatic())
        sizes.push_back(extentValue(builder, output.getLoc(), output.getValue(), axis));
    }
    auto map = AffineMap::getMultiDimIdentityMap(type.getRank(), pipeline.getContext());
    if (!asStored)
      map = inversePermutation(AffineMap::getPermutationMap(order, pipeline.getContext()));
    Value copy = builder.create<ViewOp>(output.getLoc(), type.withAxes(axes), output.getValue(),
                                        AffineMapAttr::get(map), ValueRange(), sizes);
    addRemark(copy.getDefiningOp(), "fuse",
              !asStored ? "copies into the order that the output is stored in"
              : written ? "copies: two outputs deliver this value"
                        : "copies into the output's slot");
    output.getValueMutable().assign(copy);
  });
}

void separatePeers(PipelineOp pipeline, const analysis::OncePerBatch &once) {
  SmallVector<Operation *> readers;
  pipeline.walk([&](Operation *op) {
    if (classOf(op) == OpClass::peer)
      readers.push_back(op);
  });
  DenseMap<Value, Value> copies;
  auto copyOf = [&](Value value, Location loc, StringRef why) {
    Value &copy = copies[value];
    if (!copy) {
      OpBuilder builder(pipeline.getContext());
      builder.setInsertionPointAfterValue(value);
      copy = copied(builder, loc, value);
      addRemark(copy.getDefiningOp(), "fuse", why);
    }
    return copy;
  };
  for (Operation *op : readers) {
    Value value = op->getOperand(0);
    auto peers = llvm::dyn_cast<PeersOp>(op);
    if (!peers && once.isSame(value)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    } else if (peers && once.isSame(value)) {
      OpBuilder builder(peers);
      const unsigned rank =
          static_cast<unsigned>(llvm::cast<NamedTensorType>(value.getType()).getRank());
      SmallVector<AffineExpr> inner;
      for (unsigned axis = 0; axis < rank; ++axis)
        inner.push_back(builder.getAffineDimExpr(axis + 1));
      auto map = AffineMap::get(rank + 1, 0, inner, builder.getContext());
      Value view = builder.create<ViewOp>(peers.getLoc(), peers.getType(), value,
                                          AffineMapAttr::get(map), ValueRange(), peers.getSizes());
      peers.getResult().replaceAllUsesWith(view);
      peers.erase();
    } else if (peers) {
      const bool delivered =
          llvm::any_of(value.getUsers(), [](Operation *user) { return llvm::isa<OutputOp>(user); });
      if (isWritten(value, once) && !delivered)
        continue;
      peers.getValueMutable().assign(
          copyOf(value, peers.getLoc(), "copies: all samples of the batch read this value"));
    } else if (value.getDefiningOp<PeerOp>()) { // whose place that sample alone knows
      op->setOperand(0, copyOf(value, op->getLoc(), "copies: other samples read this value"));
    }
  }
  // A switch names what a kernel has made.
  pipeline.walk([&](SwitchOp chosen) {
    OpBuilder builder(chosen);
    for (OpOperand &input : chosen.getInputsMutable())
      if (llvm::isa_and_nonnull<PeerOp, PeersOp>(input.get().getDefiningOp()))
        input.set(copied(builder, chosen.getLoc(), input.get()));
  });
}

} // namespace penstock::transforms
