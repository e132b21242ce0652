// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-fuse.
//
// Which ops share a kernel is compiler/Analysis/FusionPlan; here they become
// functions. Constants are copied in, all else that a kernel reads becomes an
// argument: tensors first, then scalars, in the order of first use.
#include "compiler/Analysis/FusionPlan.h"
#include "compiler/Analysis/TransferFrontier.h"
#include "compiler/Dialect/CheapOps.h"
#include "compiler/Transforms/Branches.h"
#include "compiler/Transforms/FuseRemarks.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/PlanesKernel.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_FUSE
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;
namespace analysis = penstock::analysis;
using analysis::FusionGroup;

namespace {

/// Operands and results of a group.
struct Boundary {
  SetVector<Value> tensors;
  SetVector<Value> scalars;
  SetVector<Value> keys;
  SetVector<Operation *> constants;
  SmallVector<Value> results;
};

class Outliner {
public:
  Outliner(ModuleOp module, PipelineOp pipeline) : symbols(module), pipeline(pipeline) {}

  /// `number` is the group's place in the plan.
  void outline(const FusionGroup &group, size_t number, FuseRemarks &remarks);

private:
  static Boundary boundaryOf(const FusionGroup &group);
  KernelOp makeKernel(const FusionGroup &group, const Boundary &boundary);
  /// The kernel with the same body that exists already, or `kernel`.
  KernelOp share(KernelOp kernel, StringRef stem);

  SymbolTable symbols;
  PipelineOp pipeline;
  llvm::StringMap<KernelOp> byText;
  llvm::StringMap<int64_t> numbers; ///< of the next kernel, by the stem of its name
};

} // namespace

Boundary Outliner::boundaryOf(const FusionGroup &group) {
  Boundary boundary;
  DenseSet<Operation *> inside(group.ops.begin(), group.ops.end());
  for (Operation *op : group.ops) {
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    for (Value value : used) {
      Operation *producer = value.getDefiningOp();
      if (producer && inside.contains(producer))
        continue;
      // The runtime reads what a launch gives it, and no body.
      if (producer && llvm::isa<ConstantOp>(producer) && !group.codec)
        boundary.constants.insert(producer);
      else if (llvm::isa<NamedTensorType>(value.getType()))
        boundary.tensors.insert(value);
      else if (llvm::isa<KeyType>(value.getType()))
        boundary.keys.insert(value);
      else
        boundary.scalars.insert(value);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            Operation *outer = op->getBlock()->findAncestorOpInBlock(*user);
            return !outer || !inside.contains(outer);
          }))
        boundary.results.push_back(result);
    // The runtime gives all results or none.
    if (group.codec && !boundary.results.empty())
      boundary.results.assign(op->result_begin(), op->result_end());
  }
  return boundary;
}

/// For each value how many of its axes are stored outside the batch's.
static SmallVector<int64_t> axesOutsideBatch(ArrayRef<Value> values) {
  SmallVector<int64_t> counts;
  for (Value value : values) {
    int64_t count = 0;
    for (Operation *user : value.getUsers())
      if (auto output = llvm::dyn_cast<OutputOp>(user))
        for (auto [place, name] : llvm::enumerate(output.getStored().getAsRange<StringAttr>()))
          if (name == "n")
            count = static_cast<int64_t>(place);
    counts.push_back(count);
  }
  return counts;
}

static StringRef stemOf(const FusionGroup &group) {
  return group.weights ? "weights" : group.codec ? "codec" : "k";
}

KernelOp Outliner::makeKernel(const FusionGroup &group, const Boundary &boundary) {
  OpBuilder builder(pipeline);
  SmallVector<Location> locations;
  for (Operation *op : group.ops)
    locations.push_back(op->getLoc());
  Location loc = builder.getFusedLoc(locations);
  const StringRef stem = stemOf(group);
  auto kernel = builder.create<KernelOp>(loc, (stem + Twine(numbers[stem])).str(),
                                         group.codec ? "codec" : "pixels", DictionaryAttr());
  if (group.weights)
    kernel->setAttr("weights", builder.getUnitAttr());
  else if (group.host && !group.codec)
    kernel->setAttr("place", builder.getStringAttr("cpu"));
  Block *body = builder.createBlock(&kernel.getBody());
  IRMapping mapping;
  for (Value tensor : boundary.tensors)
    mapping.map(tensor, body->addArgument(tensor.getType(), tensor.getLoc()));
  for (Value scalar : boundary.scalars)
    mapping.map(scalar, body->addArgument(scalar.getType(), scalar.getLoc()));
  for (Value key : boundary.keys) {
    SmallVector<Value> numbers;
    for (int i = 0; i < 4; ++i)
      numbers.push_back(body->addArgument(builder.getI64Type(), key.getLoc()));
    mapping.map(key, builder.create<KeyOfOp>(key.getLoc(), key.getType(), numbers[0], numbers[1],
                                             numbers[2], numbers[3]));
  }
  for (Operation *constant : boundary.constants)
    builder.clone(*constant, mapping);
  for (Operation *op : group.ops)
    builder.clone(*op, mapping);
  SmallVector<Value> returned;
  for (Value result : boundary.results)
    returned.push_back(mapping.lookup(result));
  builder.create<ReturnOp>(loc, returned);
  if (auto outside = axesOutsideBatch(boundary.results);
      llvm::any_of(outside, [](int64_t n) { return n > 0; }))
    kernel->setAttr("outside_n", builder.getDenseI64ArrayAttr(outside));
  return kernel;
}

KernelOp Outliner::share(KernelOp kernel, StringRef stem) {
  // Remarks speak of one place in the source, so they do not tell kernels
  // apart.
  KernelOp plain = kernel.clone();
  plain.setSymName("");
  plain.walk([](Operation *op) { op->removeAttr("pipe.remarks"); });
  std::string text;
  llvm::raw_string_ostream stream(text);
  plain.print(stream, OpPrintingFlags().useLocalScope());
  plain.erase();
  auto [at, fresh] = byText.try_emplace(text, kernel);
  if (!fresh) {
    kernel.erase();
    return at->second;
  }
  ++numbers[stem];
  kernel->remove();
  symbols.insert(kernel, Block::iterator(pipeline));
  return kernel;
}

void Outliner::outline(const FusionGroup &group, size_t number, FuseRemarks &remarks) {
  const Boundary boundary = boundaryOf(group);
  if (!boundary.results.empty()) {
    KernelOp kernel = share(makeKernel(group, boundary), stemOf(group));
    OpBuilder builder(group.ops.back());
    SmallVector<Value> scalars(boundary.scalars.begin(), boundary.scalars.end());
    for (Value key : boundary.keys) {
      auto numbers = builder.create<KeyNumbersOp>(key.getLoc(), key);
      scalars.append(numbers->result_begin(), numbers->result_end());
    }
    SmallVector<Value> sizes;
    SmallVector<Type> types;
    for (Value result : boundary.results) {
      auto type = llvm::cast<NamedTensorType>(result.getType());
      types.push_back(type);
      for (int64_t axis : type.dynamicAxes())
        sizes.push_back(extentValue(builder, result.getLoc(), result, axis));
    }
    auto launch = builder.create<LaunchOp>(
        kernel.getLoc(), types, FlatSymbolRefAttr::get(kernel.getSymNameAttr()),
        boundary.tensors.getArrayRef(), scalars, sizes, group.guard,
        group.once ? builder.getUnitAttr() : UnitAttr(), IntegerAttr(), IntegerAttr());
    remarks.outlined(number, kernel, launch);
    for (auto [i, old] : llvm::enumerate(boundary.results))
      Value(old).replaceAllUsesWith(launch.getResult(i));
  }
  // Users in the group first.
  for (Operation *op : llvm::reverse(group.ops)) {
    op->dropAllUses();
    op->erase();
  }
}

namespace {

/// Storing a view of what is stored anyway costs more than viewing that again, and so does storing
/// a few cheap maps of it: a kernel that would read one of another kernel's, element by element,
/// gets its own. Of a chain of maps each of which waits for a reduction of the one before, each
/// kernel would compute all from the first on: what takes more than `mostReads` is stored.
class Copies {
public:
  Copies(ArrayRef<FusionGroup> groups, Guards &guards) : guards(guards) {
    for (const FusionGroup &group : groups)
      for (Operation *op : group.ops) {
        groupOf[op] = &group;
        ops.push_back(op);
      }
  }
  /// Returns whether there was any. What is copied may have its own copied after it.
  bool make() {
    bool any = false;
    for (Operation *op : llvm::reverse(ops))
      if (isCopied(op))
        any |= copy(op);
    return any;
  }

private:
  /// What becomes of an op: how many tensors of its rank are read, by it and by the copies that it
  /// reads, to have its result again. More than `mostReads`: it is stored, and at hand as such.
  struct Decision {
    bool isAtHand = false;
    unsigned reads = 0;
    bool isCopied() const { return isAtHand && reads <= mostReads; }
  };
  static constexpr unsigned mostReads = 4;

  /// Returns whether no kernel makes it, or those that read it can.
  Decision decisionOf(Value value) {
    Operation *producer = value.getDefiningOp();
    if (!groupOf.contains(producer))
      return {true, 0};
    const Decision decision = decide(producer);
    return decision.reads > mostReads ? Decision{true, 0} : decision;
  }
  bool isCopied(Operation *op) { return decide(op).isCopied(); }
  Decision decide(Operation *op) {
    if (auto known = decided.find(op); known != decided.end())
      return known->second;
    const Decision decision = decideAnew(op);
    return decided[op] = decision;
  }
  Decision decideAnew(Operation *op) {
    if (auto view = llvm::dyn_cast<ViewOp>(op))
      return decisionOf(view.getInput());
    if (groupOf.lookup(op)->weights || !isCheap(op))
      return {};
    // Operands of lower rank, which are repeated, are small: they may be stored.
    Decision decision;
    for (Value operand : op->getOperands())
      if (auto type = llvm::dyn_cast<NamedTensorType>(operand.getType());
          type &&
          type.getRank() == llvm::cast<NamedTensorType>(op->getResult(0).getType()).getRank()) {
        const Decision read = decisionOf(operand);
        if (!read.isAtHand)
          return {};
        decision.isAtHand = true;
        decision.reads += read.reads + 1;
      }
    return decision;
  }
  bool copy(Operation *op);

  Guards &guards;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, const FusionGroup *> groupOf;
  DenseMap<Operation *, Decision> decided;
};
} // namespace

bool Copies::copy(Operation *op) {
  const FusionGroup *home = groupOf.lookup(op);
  Value value = op->getResult(0);
  llvm::MapVector<const FusionGroup *, SmallVector<OpOperand *>> readers;
  DenseSet<const FusionGroup *> stored; // read it at computed places too
  for (OpOperand &use : value.getUses()) {
    Operation *user = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
    const FusionGroup *group = user ? groupOf.lookup(user) : nullptr;
    if (!group || group == home || group->guard != home->guard || group->weights != home->weights ||
        group->once != home->once || group->host != home->host)
      continue;
    readers[group].push_back(&use);
    if (group->codec || analysis::readsMaterialised(user, value) || analysis::isWideJoin(user))
      stored.insert(group);
  }
  OpBuilder builder(op);
  bool any = false;
  for (auto &[group, uses] : readers) {
    if (stored.contains(group))
      continue;
    Operation *mine = builder.clone(*op);
    groupOf[mine] = group;
    if (Value guard = guards.lookup(op))
      guards[mine] = guard;
    for (OpOperand *use : uses)
      use->set(mine->getResult(0));
    any = true;
  }
  if (any && op->use_empty())
    op->erase();
  return any;
}

namespace {

struct FusePass : penstock::transforms::impl::FuseBase<FusePass> {
  using FuseBase::FuseBase;

  LogicalResult fuse(PipelineOp pipeline) {
    const auto level = analysis::transferLevelNamed(transfer);
    if (!level)
      return pipeline.emitError("no level `") << transfer << "` of transfers";
    FailureOr<Guards> guards = flattenBranches(pipeline);
    if (failed(guards))
      return failure();
    if (failed(hoistFromBatch(pipeline, *guards)))
      return failure();
    SmallVector<Block *> blocks{&pipeline.getBody().front()};
    for (BatchOp batch : pipeline.getBody().getOps<BatchOp>())
      blocks.push_back(&batch.getBody().front());
    separateOutputs(pipeline, analysis::OncePerBatch(blocks, *guards));
    separatePeers(pipeline, analysis::OncePerBatch(blocks, *guards));
    const analysis::OncePerBatch once(blocks, *guards); // with what was put between
    SmallVector<OutputOp> outputs;
    pipeline.walk([&](OutputOp output) { outputs.push_back(output); });
    for (Block *block : blocks)
      sortTopologically(block);
    Outliner outliner(getOperation(), pipeline);
    auto host = analysis::opsOfHost(blocks, *level);
    auto groups = analysis::planFusion(blocks, *guards, once, host, everyOp, device);
    if (!everyOp && Copies(groups, *guards).make()) {
      host = analysis::opsOfHost(blocks, *level);
      groups = analysis::planFusion(blocks, *guards, {blocks, *guards}, host, everyOp, device);
    }
    FuseRemarks remarks(groups, everyOp);
    for (auto [number, group] : llvm::enumerate(groups))
      outliner.outline(group, number, remarks);
    remarks.attach(pipeline);
    for (Block *block : blocks)
      sortTopologically(block);
    // Sorting moves an output behind those that are ready before it; the order
    // of outputs is the user's.
    for (OutputOp output : outputs)
      output->moveBefore(output->getBlock(), output->getBlock()->end());
    return success();
  }

  void runOnOperation() override {
    for (auto pipeline : llvm::to_vector(getOperation().getOps<PipelineOp>()))
      if (failed(fuse(pipeline)))
        return signalPassFailure();
    if (transfer == "planes")
      crossAsPlanes(getOperation());
  }
};

} // namespace
