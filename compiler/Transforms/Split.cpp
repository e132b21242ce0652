// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-split.
//
// Select runs before anything is fetched, setup after the headers are known;
// what `pipe.admit` reads is computed once per row before there are samples.
// All are cut out of the pipeline as backward slices of what is needed; a
// scalar that two of them need is computed twice, from the same key.
#include "compiler/Dialect/Drawn.h"
#include "compiler/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "runtime/abi/kernel.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_SPLIT
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;

/// The length of the table of `for`, which every block has an entry for.
static bool isLengthOfRows(Operation *op) {
  auto length = llvm::dyn_cast<LengthOp>(op);
  return length && llvm::any_of(length.getTable().getUsers(),
                                [](Operation *user) { return llvm::isa<RowOp>(user); });
}

/// Scalars that the runtime knows before setup: their slots are filled in the
/// pipeline.
static bool isLeaf(Operation *op) {
  return llvm::isa<ParamOp, FieldOp, FieldExtentOp, ProbeOp, RowIndexOp>(op) ||
         (llvm::isa<LengthOp>(op) && !isLengthOfRows(op));
}

/// Returns whether a leaf is the same for all rows.
static bool isOfSession(Operation *leaf) { return llvm::isa<ParamOp, LengthOp>(leaf); }

/// Returns whether the runtime reads the operand before any sample exists: arguments of
/// a source, and a batch size that is a constant.
static bool isFixed(Operation *user, Value operand) {
  return llvm::isa<SourceOp>(user) ||
         (llvm::isa<BatchOp>(user) && operand.getDefiningOp<ConstantOp>());
}

/// Returns whether an op stays in the pipeline, where it may use scalars.
static bool staysInPipeline(Operation *op) {
  return isLeaf(op) ||
         llvm::isa<SourceOp, RowOp, AdmitOp, PickOp, FieldsOp, DecodeOp, LaunchOp, SwitchOp, PeerOp,
                   PeersOp, BatchOp, OutputOp>(op) ||
         classOf(op) == OpClass::constant;
}

/// Returns whether the runtime knows the leaf when it looks at the rows of the table.
static bool isOfRow(Operation *leaf) {
  if (auto place = llvm::dyn_cast<RowIndexOp>(leaf))
    return place.getRow().getDefiningOp<RowOp>() != nullptr;
  auto field = llvm::dyn_cast<FieldOp>(leaf);
  auto extent = llvm::dyn_cast<FieldExtentOp>(leaf);
  if (auto probe = llvm::dyn_cast<ProbeOp>(leaf))
    field = probe.getData().getDefiningOp<FieldOp>(); // its file's header is read then
  Value row = field ? field.getRow() : extent ? extent.getRow() : Value();
  return isOfSession(leaf) || (row && row.getDefiningOp<RowOp>());
}

/// Returns the field of a row with elements, which setup may load some of.
static FieldOp tensorField(Value value) {
  auto field = value.getDefiningOp<FieldOp>();
  return field && llvm::isa<NamedTensorType>(field.getType()) ? field : FieldOp();
}

/// Returns whether `op` gives scalars and keys, of others and of elements of fields and constants.
static bool isOfNumbers(Operation *op) {
  auto isNumber = [](Type type) { return isScalarType(type) || llvm::isa<KeyType>(type); };
  return !op->walk([&](Operation *inner) {
              const bool good =
                  isPure(inner) && llvm::all_of(inner->getResultTypes(), isNumber) &&
                  llvm::all_of(inner->getOperands(), [&](Value operand) {
                    return !llvm::isa<NamedTensorType>(operand.getType()) ||
                           (llvm::isa<LoadOp>(inner) &&
                            (tensorField(operand) || operand.getDefiningOp<ConstantOp>()));
                  });
              return good ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
}

namespace {

/// When a value is needed, and so what it may depend on.
enum class Phase { rows, select, setup };

class Splitter {
public:
  explicit Splitter(PipelineOp pipeline) : pipeline(pipeline) {}
  LogicalResult run(SymbolTable &symbols);

private:
  int64_t slotOf(Value value) {
    auto [at, fresh] = slots.try_emplace(value, nextSlot);
    nextSlot += fresh;
    return at->second;
  }
  /// Marks `value` and what it depends on for the kernel that `ops` becomes.
  LogicalResult slice(Value value, SetVector<Operation *> &ops, Phase phase);
  void loadElements();
  void groupPicks();
  KernelOp makeKernel(StringRef kind, const SetVector<Operation *> &ops, ArrayRef<Value> stored);

  PipelineOp pipeline;
  llvm::MapVector<Value, int64_t> slots;
  Operation *picking = nullptr;           ///< whose number is sliced, for messages
  DenseSet<Value> written;                ///< in the block of the kernels at hand
  DenseSet<Value> ofSamples, ofRowKernel; ///< leaves that samples read, and that "rows" does
  SetVector<Value> ofSetup, ofRows;       ///< fields whose elements these kernels read
  int64_t nextSlot = PST_FIRST_FREE_ENTRY;
};

} // namespace

/// Returns the one of `op` and of those that make `values` that stands last in their block.
static Operation *lastOf(ArrayRef<Value> values, Operation *op) {
  for (Value value : values)
    if (Operation *other = value.getDefiningOp(); !op || op->isBeforeInBlock(other))
      op = other;
  return op;
}

/// Elements of fields become loads of these, which may not be there if nothing else reads them.
void Splitter::loadElements() {
  DenseMap<std::pair<Value, StringAttr>, Value> fields;
  pipeline.walk([&](FieldOp op) {
    if (tensorField(op))
      fields[{op.getRow(), op.getNameAttr()}] = op;
  });
  DenseMap<std::pair<Value, std::pair<StringAttr, StringAttr>>, Value> extents;
  pipeline.walk(
      [&](FieldExtentOp op) { extents[{op.getRow(), {op.getNameAttr(), op.getAxisAttr()}}] = op; });
  SmallVector<FieldElementOp> elements;
  pipeline.walk([&](FieldElementOp op) { elements.push_back(op); });
  for (FieldElementOp op : elements) {
    OpBuilder builder(op);
    Value &field = fields[{op.getRow(), op.getNameAttr()}];
    if (!field) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(op.getRow());
      auto type = llvm::cast<NamedTensorType>(op.getOf());
      SmallVector<Value> sizes;
      for (int64_t axis : type.dynamicAxes()) {
        auto name = builder.getStringAttr(type.getAxes()[axis].name);
        Value &extent = extents[{op.getRow(), {op.getNameAttr(), name}}];
        if (!extent)
          extent = builder.create<FieldExtentOp>(op.getLoc(), builder.getI64Type(), op.getRow(),
                                                 op.getNameAttr(), name);
        sizes.push_back(extent);
      }
      builder.setInsertionPointAfter(lastOf(sizes, op.getRow().getDefiningOp()));
      field = builder.create<FieldOp>(op.getLoc(), type, op.getRow(), op.getName(), sizes);
    }
    op.replaceAllUsesWith(
        builder.create<LoadOp>(op.getLoc(), op.getType(), field, op.getIndices()).getResult());
    op.erase();
  }
}

/// Rows that are picked by what was drawn once go together, such as those of a table of images and
/// of one of masks: where one is bad, all take another. `group` numbers them. `of_batch`: all
/// samples of a batch pick this row.
void Splitter::groupPicks() {
  DenseMap<Operation *, int64_t> groups[2]; // by what is drawn, for samples and for batches
  int64_t count = 0;
  SmallVector<std::pair<PickOp, int64_t>> picks;
  pipeline.walk([&](PickOp pick) {
    SetVector<Operation *> behind;
    auto add = [&](Value value) {
      if (Operation *op = value.getDefiningOp())
        behind.insert(op);
    };
    add(pick.getIndex());
    bool isOfBatch = true;
    SmallVector<Operation *> draws;
    for (size_t i = 0; i < behind.size(); ++i)
      behind[i]->walk([&](Operation *op) {
        auto key = llvm::dyn_cast<KeyOp>(op);
        isOfBatch &=
            !(key && key.getScope() == KeyScope::sample) && !llvm::isa<ContextOp, RowIndexOp>(op);
        if (llvm::isa<DrawOp>(op))
          draws.push_back(op);
        llvm::for_each(op->getOperands(), add);
      });
    const int64_t mine = count++;
    DenseMap<Operation *, int64_t> &groupOf = groups[isOfBatch];
    for (Operation *draw : draws) {
      const int64_t theirs = groupOf.try_emplace(draw, mine).first->second;
      if (theirs == mine)
        continue;
      for (auto &[other, group] : picks)
        group = group == theirs ? mine : group;
      for (auto &[other, group] : groupOf)
        group = group == theirs ? mine : group;
    }
    picks.emplace_back(pick, mine);
    if (isOfBatch)
      pick->setAttr("of_batch", UnitAttr::get(pick.getContext()));
  });
  Builder builder(pipeline.getContext());
  for (auto [pick, group] : picks)
    pick->setAttr("group", builder.getI64IntegerAttr(group));
}

LogicalResult Splitter::slice(Value value, SetVector<Operation *> &ops, Phase phase) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getParentOfType<PipelineOp>() != pipeline || ops.contains(op))
    return success();
  if (tensorField(value) && (phase == Phase::setup || (phase == Phase::rows && isOfRow(op)))) {
    (phase == Phase::setup ? ofSetup : ofRows).insert(value);
    return success();
  }
  if (llvm::isa<ConstantOp>(op)) { // also a table of them
    ops.insert(op);
    return success();
  }
  if (isLengthOfRows(op)) {
    slots[value] = PST_ENTRY_TABLE_LENGTH;
    return success();
  }
  if (phase == Phase::rows && (llvm::isa<KeyOp, ContextOp>(op) || (isLeaf(op) && !isOfRow(op))))
    return op->emitError(
        "`where`, weights and lengths are looked at once for each row of the table: "
        "this value is not known then");
  if (phase == Phase::select && llvm::isa<RowIndexOp>(op) && isOfRow(op))
    picking->setAttr("of_row", UnitAttr::get(op->getContext()));
  else if (phase == Phase::select && isLeaf(op) && !isOfSession(op)) {
    auto failure = picking->emitError(
        "the number of a picked row must be known before any row is fetched: from parameters, "
        "draws, lengths of tables and the place of the pipeline's row");
    failure.attachNote(op->getLoc()) << "it depends on this value of a row";
    return failure;
  }
  if (isLeaf(op)) {
    if (phase == Phase::rows && llvm::isa<ProbeOp>(op))
      op->setAttr("of_rows", UnitAttr::get(op->getContext()));
    slotOf(value);
    (phase == Phase::rows ? ofRowKernel : ofSamples).insert(value);
    return success();
  }
  if (!isOfNumbers(op) && !llvm::isa<CheckOp>(op))
    return op->emitError("this value is needed before pixels exist, but it "
                         "depends on them");
  SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value operand : used)
    if (failed(slice(operand, ops, phase)))
      return failure();
  ops.insert(op);
  return success();
}

KernelOp Splitter::makeKernel(StringRef kind, const SetVector<Operation *> &ops,
                              ArrayRef<Value> stored) {
  OpBuilder builder(pipeline);
  auto kernel = builder.create<KernelOp>(pipeline.getLoc(), kind, kind, DictionaryAttr());
  builder.createBlock(&kernel.getBody());
  IRMapping mapping;
  if (kind != "select")
    for (Value field : kind == "setup" ? ofSetup : ofRows)
      mapping.map(field, kernel.getBody().addArgument(field.getType(), field.getLoc()));
  auto mapOperand = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (mapping.contains(value) || !op)
      return;
    if (isLeaf(op) || llvm::isa<LengthOp>(op))
      mapping.map(value,
                  builder.create<EntryOp>(op->getLoc(), value.getType(), slots.lookup(value)));
  };
  // Null where the slot has been written: what both kernels compute is the same.
  auto store = [&](Value value) -> SetEntryOp {
    if (!written.insert(value).second)
      return {};
    return builder.create<SetEntryOp>(value.getLoc(), static_cast<uint64_t>(slotOf(value)),
                                      mapping.lookup(value));
  };
  SmallVector<Operation *> ordered(ops.begin(), ops.end());
  // Program order: the slices were collected one after another.
  llvm::sort(ordered, [&](Operation *a, Operation *b) {
    if (a->getBlock() == b->getBlock())
      return a->isBeforeInBlock(b);
    return a->getBlock() == &pipeline.getBody().front();
  });
  for (Operation *op : ordered) {
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    for (Value value : used)
      mapOperand(value);
    builder.clone(*op, mapping);
    for (auto [result, name] : llvm::zip(op->getResults(), drawnNames(op)))
      if (!name.empty() && isScalarType(result.getType()))
        if (SetEntryOp set = store(result))
          set->setAttr("draw", builder.getStringAttr(name));
  }
  for (Value value : stored)
    store(value);
  builder.create<ReturnOp>(pipeline.getLoc(), ValueRange());
  return kernel;
}

LogicalResult Splitter::run(SymbolTable &symbols) {
  loadElements();
  groupPicks();
  // Ops that stay in the pipeline, and the scalars that they read.
  SmallVector<Operation *> kept, checks;
  SetVector<Value> admitted, picked, needed;
  auto blocks = [&](llvm::function_ref<void(Operation *)> visit) {
    for (Operation &op : pipeline.getBody().front()) {
      visit(&op);
      if (auto batch = llvm::dyn_cast<BatchOp>(op))
        for (Operation &inner : batch.getBody().front())
          visit(&inner);
    }
  };
  blocks([&](Operation *op) {
    if (llvm::isa<CheckOp>(op))
      checks.push_back(op);
    if (!staysInPipeline(op))
      return;
    kept.push_back(op);
    for (Value operand : op->getOperands())
      if (isScalarType(operand.getType()) && !isFixed(op, operand))
        (llvm::isa<AdmitOp>(op)  ? admitted
         : llvm::isa<PickOp>(op) ? picked
                                 : needed)
            .insert(operand);
  });

  SetVector<Operation *> rowsOps, selectOps, setupOps;
  auto sliceAll = [&](const SetVector<Value> &values, Phase phase, SetVector<Operation *> &ops,
                      SmallVector<Value> &stored) {
    for (Value value : values) {
      for (Operation *user : value.getUsers())
        if (phase == Phase::select && llvm::isa<PickOp>(user))
          picking = user;
      if (failed(slice(value, ops, phase)))
        return failure();
      Operation *op = value.getDefiningOp();
      if (!isLeaf(op) && !llvm::isa<LengthOp>(op)) {
        slotOf(value);
        stored.push_back(value);
      }
    }
    return success();
  };
  SmallVector<Value> chosen, selected, stored;
  if (failed(sliceAll(admitted, Phase::rows, rowsOps, chosen)) ||
      failed(sliceAll(picked, Phase::select, selectOps, selected)) ||
      failed(sliceAll(needed, Phase::setup, setupOps, stored)))
    return failure();
  for (Operation *check : checks) {
    for (Value operand : check->getOperands())
      if (failed(slice(operand, setupOps, Phase::setup)))
        return failure();
    setupOps.insert(check);
  }
  // A slot is written once: what select has stored, setup leaves alone.
  llvm::erase_if(stored, [&](Value value) { return picked.contains(value); });
  SmallVector<KernelOp> kernels{makeKernel("select", selectOps, selected),
                                makeKernel("setup", setupOps, stored)};
  if (!admitted.empty()) {
    written.clear(); // the block of a row has nothing of what samples compute
    kernels.push_back(makeKernel("rows", rowsOps, chosen));
  }
  for (KernelOp kernel : kernels) {
    kernel->remove();
    symbols.insert(kernel, Block::iterator(pipeline));
  }

  // The pipeline reads slots.
  OpBuilder builder(pipeline.getContext());
  builder.setInsertionPointToStart(&pipeline.getBody().front());
  DenseMap<Value, Value> reads;
  for (Operation *op : kept)
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (!isScalarType(value.getType()) || isFixed(op, value))
        continue;
      Value &read = reads[value];
      if (!read)
        read = builder.create<EntryOp>(value.getLoc(), value.getType(), slots.lookup(value));
      operand.set(read);
    }
  for (auto [value, slot] : slots)
    if (Operation *op = value.getDefiningOp(); isLeaf(op)) {
      builder.setInsertionPointAfter(op);
      auto entry = builder.create<SetEntryOp>(value.getLoc(), static_cast<uint64_t>(slot), value);
      if (!ofSamples.contains(value))
        entry->setAttr("of_rows", builder.getUnitAttr());
      if (ofRowKernel.contains(value))
        entry->setAttr("by_rows", builder.getUnitAttr());
    }
  for (auto [kind, fields] : {std::pair("setup", &ofSetup), std::pair("rows", &ofRows)})
    if (!fields->empty()) {
      builder.setInsertionPointAfter(lastOf(fields->getArrayRef(), nullptr));
      builder.create<FieldsOp>(pipeline.getLoc(), kind, fields->getArrayRef());
    }
  SmallVector<Operation *> dead;
  blocks([&](Operation *op) {
    const bool fixed = llvm::any_of(
        op->getUses(), [](OpOperand &use) { return isFixed(use.getOwner(), use.get()); });
    if (!staysInPipeline(op) && !llvm::isa<EntryOp, SetEntryOp>(op) && !fixed)
      dead.push_back(op);
  });
  for (Operation *op : llvm::reverse(dead)) {
    op->dropAllUses();
    op->erase();
  }
  pipeline.setSlots(static_cast<uint64_t>(nextSlot));
  return success();
}

namespace {
struct SplitPass : penstock::transforms::impl::SplitBase<SplitPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto pipeline : llvm::to_vector(getOperation().getOps<PipelineOp>()))
      if (failed(Splitter(pipeline).run(symbols)))
        return signalPassFailure();
  }
};
} // namespace
