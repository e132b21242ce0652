// SPDX-License-Identifier: Apache-2.0
//
// Remarks on kernels, for `explain`.
//
// A tensor can be streamed into a kernel (its rows arrive in bands) if every
// reader takes the element's own place, a neighbourhood, or each element once.
// A gather or a table is read anywhere, so it is whole before the first read.
#include "compiler/Transforms/FuseRemarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;
namespace analysis = penstock::analysis;
using analysis::FusionGroup;

//===--- words -------------------------------------------------------------===//

std::string penstock::transforms::typeText(Value value) {
  std::string type;
  llvm::raw_string_ostream(type) << value.getType();
  return StringRef(type).drop_front(type.find('<') + 1).drop_back().str();
}

static std::string wordFor(Operation *op) {
  std::string text = ("`" + op->getName().stripDialect()).str();
  if (auto reduce = llvm::dyn_cast<ReduceOp>(op))
    text = ("`" + stringifyReduceKind(reduce.getKind())).str();
  text += "`";
  if (auto resample = llvm::dyn_cast<ResampleOp>(op))
    text += " along " + resample.getAxis().str();
  return text;
}

/// `301,056`.
static std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

namespace {
/// Bytes of tensors: a number, and products with extents that samples have.
class Bytes {
public:
  void add(Value tensor) {
    auto type = llvm::cast<NamedTensorType>(tensor.getType());
    int64_t factor = scalarBytes(type.getElementType());
    std::string extents;
    for (const Axis &axis : type.getAxes())
      if (axis.isStatic())
        factor *= axis.extent;
      else
        extents += " x " + axis.name;
    terms[extents] += factor;
  }
  std::string text() const {
    std::string result;
    for (const auto &[extents, factor] : terms)
      result += (result.empty() ? "" : " + ") + grouped(factor) + extents;
    return (result.empty() ? "0" : result) + " bytes";
  }

private:
  llvm::MapVector<std::string, int64_t, std::map<std::string, unsigned>> terms;
};
} // namespace

std::string penstock::transforms::bytesOf(Value tensor) {
  Bytes bytes;
  bytes.add(tensor);
  return bytes.text();
}

//===--- how a tensor is read ----------------------------------------------===//

namespace {
struct Access {
  bool random = false;
  int weight = 0; ///< the heaviest reader gives the reason
  std::string why;
  void consider(bool isRandom, int heavy, const std::string &reason) {
    heavy += isRandom ? 10 : 0;
    random |= isRandom;
    if (heavy > weight) {
      weight = heavy;
      why = reason;
    }
  }
};
} // namespace

/// Outermost axis of a tensor; empty without axes.
static StringRef rowAxis(Value tensor) {
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  return type.getRank() ? StringRef(type.getAxes()[0].name) : StringRef();
}

static void readBy(Operation *user, Value tensor, Access &access) {
  const std::string name = wordFor(user);
  if (auto resample = llvm::dyn_cast<ResampleOp>(user)) {
    if (resample.getInput() != tensor)
      access.consider(true, 1, name + " looks up its weights in it");
    else if (resample.getAxis() == rowAxis(tensor))
      access.consider(false, 4, "a row of " + name + " needs a few rows of it");
    else
      access.consider(false, 3, "a row of " + name + " needs one row of it");
    return;
  }
  if (llvm::isa<GatherOp>(user) && analysis::readsMaterialised(user, tensor))
    return access.consider(true, 3, name + " reads it at computed places");
  if (analysis::readsMaterialised(user, tensor))
    return access.consider(true, 2, name + " looks up elements by a computed index");
  if (llvm::isa<ReduceOp, HistogramOp>(user))
    return access.consider(false, 2, name + " takes each element once");
  if (llvm::is_contained({OpClass::barrier, OpClass::codec}, classOf(user)))
    return access.consider(true, 4, name + " needs all of it at once");
  if (llvm::isa<WindowOp>(user))
    return access.consider(false, 4, "a row of " + name + " needs its neighbour rows");
  access.consider(false, 1, "each element is read at its own place");
}

/// Readers of `tensor` in a group, through ops there that only move it.
static void readIn(Value tensor, const FusionGroup &group, Access &access) {
  for (Operation *op : group.ops) {
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    if (!used.contains(tensor))
      continue;
    if (inputAccessOf(op) == InputAccess::moved && op->getOperand(0) == tensor)
      readIn(op->getResult(0), group, access);
    readBy(op, tensor, access);
  }
}

//===--- edges -------------------------------------------------------------===//

FuseRemarks::FuseRemarks(const std::vector<FusionGroup> &groups, bool everyOp)
    : everyOp(everyOp), plan(groups) {
  for (auto [number, group] : llvm::enumerate(plan))
    for (Operation *op : group.ops)
      groupOf[op] = number;
  Bytes read, written, stored;
  for (auto [number, group] : llvm::enumerate(plan)) {
    Group found;
    SetVector<Value> inputs;
    llvm::raw_string_ostream ops(found.ops);
    llvm::interleaveComma(group.ops, ops, [&](Operation *op) { ops << wordFor(op); });
    for (Operation *op : group.ops) {
      SetVector<Value> used(op->operand_begin(), op->operand_end());
      getUsedValuesDefinedAbove(op->getRegions(), used);
      for (Value value : used) {
        Operation *producer = value.getDefiningOp();
        if (llvm::isa<NamedTensorType>(value.getType()) && producer &&
            !llvm::isa<ConstantOp>(producer) &&
            (!groupOf.count(producer) || groupOf[producer] != number))
          inputs.insert(value);
      }
      for (Value result : op->getResults()) {
        std::string readers;
        bool kept = false, delivered = false;
        for (Operation *inner : result.getUsers()) {
          Operation *user = op->getBlock()->findAncestorOpInBlock(*inner);
          if (auto output = llvm::dyn_cast<OutputOp>(inner)) {
            readers += (delivered ? ", output `" : "output `") + output.getName().str() + "`";
            delivered = true;
          } else if (!user || !groupOf.count(user) || groupOf[user] != number) {
            kept = true;
          }
        }
        if (!kept && !delivered)
          continue;
        written.add(result);
        if (kept)
          stored.add(result);
        found.writes.push_back("writes " + typeText(result) + " to " +
                               (delivered ? readers : "a temporary, for other kernels") + ": " +
                               bytesOf(result));
      }
    }
    for (Value value : inputs) {
      read.add(value);
      found.reads.push_back(edgeOf(value, group));
    }
    this->groups.push_back(std::move(found));
  }
  bytesRead = read.text();
  bytesWritten = written.text();
  temporaries = stored.text();
}

/// Returns the reason that `tensor` is not made inside the kernel that reads it.
std::string FuseRemarks::apart(Operation *producer, Value tensor, const FusionGroup &group) const {
  const FusionGroup &other = plan[groupOf.lookup(producer)];
  if (everyOp)
    return "fusion is off";
  if (other.once != group.once)
    return other.once ? "it is computed once for the batch" : "this kernel runs once for the batch";
  if (other.weights != group.weights)
    return "the host makes tables before there are pixels";
  if (group.codec || other.codec)
    return "the runtime runs " + wordFor((group.codec ? group : other).ops.front()) +
           ", on whole images";
  if (classOf(producer) == OpClass::barrier)
    return wordFor(producer) + " is known only when it has seen everything";
  if (other.guard != group.guard)
    return other.guard ? "it runs in one branch only" : "this kernel runs in one branch only";
  if (other.host != group.host)
    return "it crosses from the host to a GPU";
  for (Operation *op : group.ops) {
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    if (used.contains(tensor) && analysis::readsMaterialised(op, tensor))
      return "it is read anywhere, so it must be whole";
    if (used.contains(tensor) && analysis::isWideJoin(op))
      return "more than eight parts are joined in memory";
  }
  auto gathers = [](const FusionGroup &some) {
    return llvm::any_of(some.ops, [](Operation *op) { return llvm::isa<GatherOp>(op); });
  };
  if (gathers(other) && gathers(group))
    return "a kernel holds one `gather`";
  auto resamples = [](const FusionGroup &some) {
    return llvm::count_if(some.ops, [](Operation *op) { return llvm::isa<ResampleOp>(op); });
  };
  if (resamples(other) + resamples(group) > 8)
    return "a kernel holds at most eight `resample`";
  if (producer->getBlock() != group.ops.front()->getBlock())
    return "it belongs to the sample, and this kernel to the batch";
  return {};
}

FuseRemarks::Edge FuseRemarks::edgeOf(Value tensor, const FusionGroup &group) {
  Edge edge;
  edge.type = typeText(tensor);
  edge.bytes = bytesOf(tensor);
  Access access;
  readIn(tensor, group, access);
  edge.how = (access.random ? "random-access: " : "streamed: ") + access.why;
  Operation *producer = tensor.getDefiningOp();
  if (groupOf.count(producer)) {
    edge.producers.push_back(groupOf[producer]);
    edge.apart = apart(producer, tensor, group);
    for (Operation *op : group.ops) // another operand of this kernel that is made later
      for (Value other : op->getOperands())
        if (Operation *made = other.getDefiningOp();
            edge.apart.empty() && made && groupOf.count(made) &&
            plan[groupOf[made]].level > plan[groupOf[producer]].level &&
            plan[groupOf[made]].level < group.level)
          edge.waitsFor = groupOf[made];
  } else if (auto peer = llvm::dyn_cast<PeerOp>(producer)) {
    edge.source = "another sample of the batch";
    if (Operation *made = peer.getValue().getDefiningOp(); made && groupOf.count(made))
      edge.producers.push_back(groupOf[made]);
    edge.apart = "that sample must be done first";
  } else if (auto peers = llvm::dyn_cast<PeersOp>(producer)) {
    edge.source = "all samples of the batch";
    if (Operation *made = peers.getValue().getDefiningOp(); made && groupOf.count(made))
      edge.producers.push_back(groupOf[made]);
    edge.apart = "all of them must be done first";
  } else if (auto chosen = llvm::dyn_cast<SwitchOp>(producer)) {
    for (Value input : chosen.getInputs())
      if (Operation *made = input.getDefiningOp(); made && groupOf.count(made))
        edge.producers.push_back(groupOf[made]);
    edge.source = "the branch that ran";
    edge.apart = "which branch runs differs from sample to sample";
  } else if (auto field = llvm::dyn_cast<FieldOp>(producer)) {
    edge.source = "field `" + field.getName().str() + "` of the row";
  } else if (llvm::isa<DecodeOp>(producer)) {
    edge.source = "the decoder";
    edge.bytes = "at most " + edge.bytes + ", as it decodes what is read";
  } else {
    edge.source = wordFor(producer);
  }
  return edge;
}

//===--- attaching ---------------------------------------------------------===//

void FuseRemarks::outlined(size_t group, KernelOp kernel, LaunchOp launch) {
  groups[group].kernel = kernel;
  groups[group].launch = launch;
}

std::string FuseRemarks::nameOf(size_t group) const {
  KernelOp kernel = groups[group].kernel;
  return kernel ? kernel.getSymName().str() : "";
}

void FuseRemarks::attach(const Group &found) const {
  LaunchOp launch = found.launch;
  addRemark(found.kernel, "fuse", "holds " + found.ops);
  for (const Edge &edge : found.reads) {
    std::string from = edge.source;
    if (!edge.producers.empty()) {
      SmallVector<std::string> makers;
      for (size_t producer : edge.producers)
        if (!llvm::is_contained(makers, nameOf(producer)))
          makers.push_back(nameOf(producer));
      const std::string list = llvm::join(makers, ", ");
      from = from.empty() ? list : from + " (" + list + ")";
    }
    std::string text = "reads " + edge.type + " from " + from + ": " + edge.bytes + "\n" + edge.how;
    if (!edge.apart.empty())
      text += "\nnot fused: " + edge.apart;
    else if (edge.waitsFor)
      text += "\nnot fused: " + nameOf(*edge.waitsFor) + " must run between the two";
    else if (edge.source.empty())
      text += "\nnot fused: another input of this kernel must be complete before it starts";
    addRemark(launch, "fuse", text);
  }
  for (const std::string &write : found.writes)
    addRemark(launch, "fuse", write);
  if (launch.getOnce())
    addRemark(launch, "fuse", "runs once for the batch: its results are the same for all samples");
  if (launch.getGuard())
    addRemark(launch, "fuse", "runs only where its branch is taken");
}

static std::string counted(int64_t number, const std::string &what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

void FuseRemarks::attach(PipelineOp pipeline) const {
  int64_t overPixels = 0, overTables = 0, codecs = 0, once = 0;
  for (auto [found, group] : llvm::zip(groups, plan)) {
    if (!found.kernel)
      continue;
    ++(group.once ? once : group.weights ? overTables : group.codec ? codecs : overPixels);
    attach(found);
  }
  addRemark(pipeline, "fuse",
            "a sample runs " + counted(overPixels, "kernel") + " over pixels" +
                (codecs ? ", " + counted(codecs, "codec") : "") + " and " +
                counted(overTables, "kernel") + " over small tables" +
                (once ? "\na batch runs " + counted(once, "kernel") + " once" : "") +
                "\nthey read " + bytesRead + "\nthey write " + bytesWritten +
                ", of which temporaries are " + temporaries);
}
