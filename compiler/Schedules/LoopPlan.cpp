// SPDX-License-Identifier: Apache-2.0
//
// Which loops compute what is stored.
//
// Lanes lie along the innermost axis, but for pixels, whose channels are unrolled. Ops are gone
// through in the order in which they become code, since what an element costs depends on what is
// stored by then.
#include "compiler/Schedules/LoopPlan.h"
#include "compiler/Analysis/MergedAxes.h"
#include "compiler/Analysis/WindowMargins.h"
#include "compiler/Dialect/RowStreams.h"
#include "compiler/Schedules/ReductionPlan.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <tuple>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Elements of a byte or of four that are on the way at once.
static constexpr int64_t mostLanes = 32;

static bool isTensor(Value value) { return llvm::isa<NamedTensorType>(value.getType()); }

namespace {
class LoopPlanner {
public:
  LoopPlanner(KernelOp kernel, const penstock::lane::Features &has) : kernel(kernel), has(has) {
    stored.addArguments(kernel);
    if (auto schedule = kernel.getSchedule())
      if (auto tile = schedule->getAs<IntegerAttr>("row_tile"))
        rowTile = tile.getInt();
  }
  void plan() {
    for (Operation &op : kernel.getBody().front())
      visit(op);
  }

private:
  void visit(Operation &op);
  void visitStored(Operation &op);
  void visitReturn(ReturnOp op);
  void visitRepeat(RepeatOp op);
  void visitWindow(WindowOp op);
  /// `tensor` is stored by loops of its own, in which `made`, itself if nothing else, is computed.
  void store(Value tensor, ValueRange made = {});
  void storeParts(Value tensor);
  /// An operand that is in memory already is copied.
  void copy(OpOperand &operand);
  LoopsAttr loopsFor(Value tensor, ValueRange made);

  bool isSmall(NamedTensorType type, int64_t axis) const {
    const Axis &a = type.getAxes()[axis];
    const int64_t extent = axis == 0 && rowTile ? *rowTile : a.extent;
    return a.isStatic() && extent <= penstock::analysis::mostChannels;
  }
  std::pair<int64_t, int64_t> planesOf(Value tensor, int64_t most, int64_t alone) const;
  KernelOp kernel;
  const penstock::lane::Features &has;
  StoredValues stored;
  std::optional<int64_t> rowTile;
  llvm::DenseSet<Value> planned; ///< whose loops nobody had stated
};
} // namespace

Tail penstock::schedules::tailOf(const Axis &axis, int64_t lanes) {
  constexpr int64_t fewest = 4;
  if (!axis.isStatic() || axis.extent < fewest)
    return Tail::overlap;
  while (lanes > axis.extent)
    lanes /= 2;
  const int64_t rest = axis.extent % lanes;
  const auto narrow =
      std::max(static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(rest))), fewest);
  return rest && 4 * (lanes - narrow) >= axis.extent ? Tail::narrow : Tail::overlap;
}

/// The axis of parts that are made side by side, and how many of `most` lanes, if these are enough
/// beside the `alone` that they have one by one; -1 for none.
std::pair<int64_t, int64_t> LoopPlanner::planesOf(Value tensor, int64_t most, int64_t alone) const {
  NamedTensorType type = tensorOf(tensor);
  for (int64_t axis = 0; axis < type.getRank() - 1; ++axis) {
    StringRef name = type.getAxes()[axis].name;
    if (!isSmall(type, axis) || !stacksShared(tensor, name, stored))
      continue;
    const int64_t lanes =
        lanesOfStack(most, tensor, name, penstock::analysis::usualLaneAxis(type), stored, has);
    if (lanes >= enoughLanes(tensor, alone, false, kernel, stored))
      return {axis, lanes};
  }
  return {-1, alone};
}

/// Returns whether one of `made` reads many neighbours along the tensor's last axis. Lanes along
/// another one would take each of them from its own place, again for each element of a short last
/// axis.
static bool readsManyAlongLast(NamedTensorType type, ValueRange made) {
  constexpr int64_t many = 64;
  return llvm::any_of(made, [&](Value value) {
    auto window = value.getDefiningOp<WindowOp>();
    if (!window)
      return false;
    int64_t neighbours = 1;
    bool isAlongLast = false;
    for (auto [name, low, high] : llvm::zip_equal(window.getOver().getAsRange<StringAttr>(),
                                                  window.getLow(), window.getHigh())) {
      neighbours *= high - low + 1;
      isAlongLast |= name == type.getAxes().back().name && high > low;
    }
    return isAlongLast && neighbours >= many;
  });
}

/// Returns the bytes of an element as loops hold it. The place of the best of few is a number of
/// four bytes until it is stored; where lanes take whole vectors of what it is found by, that is
/// what counts.
static int64_t bytesInLoop(Value tensor) {
  NamedTensorType type = tensorOf(tensor);
  auto reduce = tensor.getDefiningOp<ReduceOp>();
  if (reduce && llvm::is_contained({ReduceKind::argmin, ReduceKind::argmax}, reduce.getKind())) {
    NamedTensorType from = tensorOf(reduce.getValue());
    if (from.getAxes().back().name == type.getAxes().back().name)
      type = from;
  }
  return scalarBytes(type.getElementType());
}

/// `made` is empty for copies.
LoopsAttr LoopPlanner::loopsFor(Value tensor, ValueRange made) {
  NamedTensorType type = tensorOf(tensor);
  const int64_t rank = type.getRank();
  if (rank == 0)
    return {};
  const int64_t along =
      readsManyAlongLast(type, made) ? rank - 1 : penstock::analysis::usualLaneAxis(type);
  int64_t unroll = along + 1 < rank ? rank - 1 : -1;
  if (unroll < 0 && !made.empty())
    for (int64_t axis = 0; axis < rank - 1; ++axis)
      if (isSmall(type, axis) && wantsAllOf(tensor, type.getAxes()[axis].name, stored))
        unroll = axis;
  // As many lanes as one vector register has bytes: u8 to f32 chains then use
  // four registers per value, which hides latency.
  const int64_t across = unroll < 0 && !made.empty() ? squareAxis(made, along, stored, has) : -1;
  int64_t lanes = has.registerBytes / (bytesInLoop(tensor) >= 8 ? 4 : 1);
  if (lanes > mostLanes &&
      (made.empty() || !has.permuteBytes || !staysInBytes(tensor, unroll >= 0, kernel, stored)))
    lanes = mostLanes;
  if (!made.empty() && across < 0) {
    const int64_t most = lanes;
    lanes = fewerLanes(lanes, made, along, stored, has,
                       /*onlyDoubles=*/unroll >= 0 || bytesInLoop(tensor) != 4);
    if (unroll < 0)
      std::tie(unroll, lanes) = planesOf(tensor, most, lanes);
  }
  Builder builder(tensor.getContext());
  auto name = [&](int64_t axis) {
    return axis < 0 ? StringAttr() : builder.getStringAttr(type.getAxes()[axis].name);
  };
  int64_t arms = 1;
  llvm::SetVector<StringRef> versions;
  for (Value value : made) {
    arms = std::max(arms, armsOf(value, stored));
    for (StringRef version : versionsOf(value, along, stored))
      versions.insert(version);
  }
  return LoopsAttr::get(tensor.getContext(), name(along), lanes, name(unroll), name(across), arms,
                        versions.empty() ? ArrayAttr()
                                         : builder.getStrArrayAttr(versions.getArrayRef()),
                        tailOf(type.getAxes()[along], lanes));
}

static void add(Operation *op, StringRef name, unsigned count, unsigned number, LoopsAttr loops) {
  SmallVector<Attribute> all(count);
  if (auto several = op->getAttrOfType<ArrayAttr>(name); several && several.size() == count)
    for (auto [sofar, stated] : llvm::zip(all, several))
      sofar = llvm::isa<UnitAttr>(stated) ? Attribute() : stated;
  all[number] = loops;
  setLoops(op, name, all);
}

void penstock::schedules::stateLoops(OpResult result, LoopsAttr loops) {
  add(result.getOwner(), "loops", result.getOwner()->getNumResults(), result.getResultNumber(),
      loops);
}

void LoopPlanner::store(Value tensor, ValueRange made) {
  auto result = llvm::cast<OpResult>(tensor);
  if (!loopsOf(result)) {
    stateLoops(result, loopsFor(tensor, made.empty() ? ValueRange(tensor) : made));
    planned.insert(tensor);
  }
  for (Value value : made.empty() ? ValueRange(tensor) : made)
    storeParts(value);
}

void LoopPlanner::copy(OpOperand &operand) {
  if (!copyLoopsOf(operand))
    add(operand.getOwner(), "copies", operand.getOwner()->getNumOperands(),
        operand.getOperandNumber(), loopsFor(operand.get(), {}));
}

void LoopPlanner::storeParts(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op || stored.inMemory.contains(tensor))
    return;
  if (auto view = llvm::dyn_cast<ViewOp>(op);
      view && penstock::analysis::isMerge(view) && !stored.inMemory.contains(view.getInput()))
    return store(view.getInput());
  if (!penstock::pipe::storesParts(op))
    return;
  for (OpOperand &part : op->getOpOperands())
    if (isTensor(part.get()))
      stored.inMemory.contains(part.get()) ? copy(part) : store(part.get());
}

void LoopPlanner::visitStored(Operation &op) {
  for (Value result : op.getResults()) {
    if (!isTensor(result))
      continue;
    const bool isWhole = formOf(&op) != KernelForm::inlined;
    if (!isWhole && tensorOf(result).getRank() == 0)
      continue; // stays in a register
    if (!isWhole)
      store(result);
    auto margin =
        isWhole ? std::nullopt : penstock::analysis::marginOf(kernel, result, /*asCopy=*/false);
    auto reduce = llvm::dyn_cast<ReduceOp>(op);
    const Way way = reduce ? reductionOf(reduce).getWay() : Way::single;
    if (margin)
      stored.addPadded(result, *margin);
    else
      stored.addWhole(kernel, result, /*aligned=*/way == Way::across || way == Way::rows);
  }
}

/// Returns whether an output is made where it belongs.
static bool isInPlace(OpOperand &operand) {
  Operation *op = operand.get().getDefiningOp();
  auto earlier = operand.getOwner()->getOperands().take_front(operand.getOperandNumber());
  const auto where = op ? op->getAttrOfType<StringAttr>("schedule") : StringAttr();
  return op && !llvm::is_contained(earlier, operand.get()) && !llvm::isa<RepeatOp>(op) &&
         (formOf(op) != KernelForm::inlined || (where && where == "scratch")) &&
         llvm::none_of(operand.get().getUsers(),
                       [](Operation *user) { return llvm::isa<WindowOp, CastOp>(user); });
}

void LoopPlanner::visitReturn(ReturnOp op) {
  if (kernel.getKind() != "pixels")
    return;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!stored.inMemory.contains(operand.get()))
      store(operand.get());
    else if (!isInPlace(operand))
      copy(operand);
  }
  planTogether(op, stored, has, planned);
}

/// Plans for a loop over tensors: it stores what it begins with, and what each iteration gives.
void LoopPlanner::visitRepeat(RepeatOp op) {
  Block &body = op.getBody().front();
  for (BlockArgument argument : body.getArguments())
    if (isTensor(argument))
      stored.add(argument, penstock::analysis::denseStrides(tensorOf(argument)));
  for (Operation &inner : body.without_terminator())
    visit(inner);
  for (auto [init, last, result] :
       llvm::zip(op.getInits(), body.getTerminator()->getOperands(), op.getResults()))
    if (isTensor(result))
      store(result, {init, last});
  for (Value result : op.getResults())
    if (isTensor(result))
      stored.add(result, penstock::analysis::denseStrides(tensorOf(result)));
}

/// Plans the copy, with margins, of what a window reads.
void LoopPlanner::visitWindow(WindowOp op) {
  Value root = penstock::analysis::rootOf(op);
  if (!penstock::analysis::isPlain(op) || stored.margins.contains(root) ||
      stored.rows.contains(root) || op->getParentOp() != kernel || tensorOf(root).getRank() == 0)
    return;
  auto margin = penstock::analysis::marginOf(kernel, root, /*asCopy=*/true);
  if (!margin)
    return;
  if (!stored.inMemory.contains(root))
    store(root);
  stored.addPadded(root, *margin);
}

void LoopPlanner::visit(Operation &op) {
  if (auto ret = llvm::dyn_cast<ReturnOp>(op))
    return visitReturn(ret);
  if (llvm::none_of(op.getResults(), isTensor))
    return;
  if (auto choose = llvm::dyn_cast<ChooseOp>(op))
    for (Region &arm : choose.getArms())
      for (Operation &inner : arm.front().without_terminator())
        visit(inner);
  if (auto repeat = llvm::dyn_cast<RepeatOp>(op))
    return visitRepeat(repeat);
  if (auto scatter = llvm::dyn_cast<ScatterOp>(op))
    store(scatter.getResult(), scatter.getBase()); // what it begins with
  auto where = op.getAttrOfType<StringAttr>("schedule");
  if (auto resample = llvm::dyn_cast<ResampleOp>(op)) {
    if (where && where == "ring")
      return;
    auto along = resample.getInput().getDefiningOp<ResampleOp>();
    if (along && along->getAttr("schedule") == StringAttr::get(op.getContext(), "ring") &&
        canReadRows(resample))
      stored.rows.insert(resample.getResult());
  }
  if (auto window = llvm::dyn_cast<WindowOp>(op))
    visitWindow(window);
  planWhole(op, stored, has);
  if (auto reduce = llvm::dyn_cast<ReduceOp>(op); reduce && planReduction(reduce, stored, has))
    return;
  if (where && where == "inline")
    return;
  if (formOf(&op) != KernelForm::inlined || (where && where == "scratch"))
    visitStored(op);
}

void penstock::schedules::planLoops(KernelOp kernel, const lane::Features &has) {
  LoopPlanner(kernel, has).plan();
  planTables(kernel, has);
}
