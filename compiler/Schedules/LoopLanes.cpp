// SPDX-License-Identifier: Apache-2.0
//
// How many elements of four bytes a loop makes at once.
//
// Values that live at once for 32 of them may be more than registers hold: to spill and reload them
// takes longer than the waiting that more lanes hide.
#include "compiler/Analysis/WindowMargins.h"
#include "compiler/Dialect/SmallReduction.h"
#include "compiler/Schedules/LoopPlan.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

namespace {
/// Bytes of one lane that live at once, as far as what is stored.
class LiveBytes {
public:
  LiveBytes(const StoredValues &stored, const penstock::lane::Features &has)
      : stored(stored), has(has) {}
  /// Where lanes lie along the axis `along`, if the tensor has it: else it is one number for all.
  int64_t of(Value tensor, StringRef along);
  /// While the tensor is made, though it is stored.
  int64_t whenMade(Value tensor, StringRef along);
  bool holdsDoubles = false; ///< of what was looked at
  StringRef stacked;         ///< parts along this axis live until the last one is made

private:
  int64_t ofBody(Block &body, ArrayRef<Value> inputs, StringRef along);
  int64_t beside(Operation &op) const;
  bool isInMemory(Value tensor) const {
    return stored.inMemory.contains(tensor) || stored.rows.contains(tensor);
  }
  bool isTreeOfLoads(Block &body, ArrayRef<Value> inputs) const;

  const StoredValues &stored;
  const penstock::lane::Features &has;
  llvm::DenseMap<Value, int64_t> known; // several ops may read one: each is looked at once
};
} // namespace

/// In a register: f16 and bf16 are computed in f32.
static int64_t bytesOf(Type element) {
  if (auto type = llvm::dyn_cast<NamedTensorType>(element))
    element = type.getElementType();
  return std::max<int64_t>(scalarBytes(computedIn(element)), 1);
}

static bool isAlong(Value tensor, StringRef along) {
  return tensorOf(tensor).axisIndex(along) >= 0;
}

/// Returns the bytes that an operation needs beside its operands.
int64_t LiveBytes::beside(Operation &op) const {
  auto binary = llvm::dyn_cast<BinaryOp>(op);
  if (!binary || !llvm::isa<FloatType>(binary.getType()))
    return 0;
  const bool isExtreme = llvm::is_contained({BinaryKind::min, BinaryKind::max}, binary.getKind());
  const bool isConstant =
      binary.getLhs().getDefiningOp<ConstantOp>() || binary.getRhs().getDefiningOp<ConstantOp>();
  return isExtreme && !isConstant && !has.numbers ? 2 * bytesOf(binary.getType()) : 0;
}

/// Returns whether what a body computes is read once each, out of memory, and in four bytes: LLVM
/// then finishes one register's lanes before it begins the next one's, and few values live at once.
bool LiveBytes::isTreeOfLoads(Block &body, ArrayRef<Value> inputs) const {
  for (auto [argument, input] : llvm::zip(body.getArguments(), inputs))
    if (!isInMemory(input) || !(argument.use_empty() || argument.hasOneUse()))
      return false;
  return llvm::all_of(body, [&](Operation &op) {
    const bool isShared = llvm::any_of(op.getResults(), [](Value result) {
      return result.getType().isF64() ||
             (!result.getDefiningOp<LoadOp>() && !(result.use_empty() || result.hasOneUse()));
    });
    return !isShared && !llvm::isa<DrawOp>(op) && beside(op) == 0;
  });
}

/// Returns the bytes of an element whose inputs are those of the body's first arguments. An
/// argument lives from its first reader on, a result from where it is made.
int64_t LiveBytes::ofBody(Block &body, ArrayRef<Value> inputs, StringRef along) {
  if (isTreeOfLoads(body, inputs))
    return bytesOf(body.getTerminator()->getOperand(0).getType());
  llvm::DenseMap<Value, int64_t> size; // of what differs from lane to lane
  int64_t most = 0, made = 0;          // what other bodies make is there before this one begins
  Value before;
  for (auto [argument, input] : llvm::zip(body.getArguments(), inputs)) {
    if (!isAlong(input, along))
      continue;
    size[argument] = bytesOf(input.getType());
    if (input != before) // a window's neighbours are alike
      most = std::max(most, made + of(input, along));
    before = input;
    if (input.getDefiningOp<MapOp>() && !stored.inMemory.contains(input))
      made += size[argument];
  }
  llvm::DenseMap<Value, Operation *> last;
  for (Operation &op : body)
    for (Value operand : op.getOperands())
      last[operand] = &op;
  int64_t live = 0;
  llvm::DenseSet<Value> alive;
  auto begin = [&](Value value) {
    if (size.contains(value) && alive.insert(value).second)
      live += size[value];
  };
  for (Operation &op : body) {
    bool varies = false;
    int64_t widest = 1;
    for (Value operand : op.getOperands()) {
      begin(operand);
      varies |= size.contains(operand);
      if (size.contains(operand))
        widest = std::max(widest, size[operand]);
    }
    most = std::max(most, live + (varies ? beside(op) : 0));
    for (Value operand : op.getOperands())
      if (last[operand] == &op && alive.erase(operand))
        live -= size[operand];
    auto draw = llvm::dyn_cast<DrawOp>(op);
    if (varies || llvm::isa<LoadOp>(op) || (draw && draw.getElement()))
      for (Value result : op.getResults()) {
        // A condition is as wide as what was compared.
        size[result] = result.getType().isInteger(1) ? widest : bytesOf(result.getType());
        holdsDoubles |= result.getType().isF64();
        if (!result.use_empty())
          begin(result);
      }
    most = std::max(most, live);
  }
  return most;
}

int64_t LiveBytes::of(Value tensor, StringRef along) {
  if (auto found = known.find(tensor); found != known.end())
    return found->second;
  const int64_t bytes = isInMemory(tensor) ? bytesOf(tensor.getType()) : whenMade(tensor, along);
  known[tensor] = bytes;
  return bytes;
}

int64_t LiveBytes::whenMade(Value tensor, StringRef along) {
  Operation *op = tensor.getDefiningOp();
  const int64_t size = bytesOf(tensor.getType());
  if (!op)
    return size;
  if (auto map = llvm::dyn_cast<MapOp>(op))
    return ofBody(map.getBody().front(), SmallVector<Value>(map.getInputs()), along);
  if (auto window = llvm::dyn_cast<WindowOp>(op); window && !penstock::analysis::isWide(window)) {
    Block &body = window.getBody().front();
    const size_t count = body.getNumArguments() - static_cast<size_t>(tensorOf(tensor).getRank());
    return ofBody(body, SmallVector<Value>(count, window.getInput()), along);
  }
  int64_t most = size;
  for (Value operand : op->getOperands())
    if (llvm::isa<NamedTensorType>(operand.getType()))
      most = std::max(most, of(operand, along));
  if (auto stack = llvm::dyn_cast<StackOp>(op); stack && stack.getAxis() == stacked)
    most += size * static_cast<int64_t>(stack.getInputs().size());
  auto reduce = llvm::dyn_cast<ReduceOp>(op);
  if (reduce && llvm::is_contained({ReduceKind::argmin, ReduceKind::argmax}, reduce.getKind()))
    most += 3 * bytesOf(reduce.getValue().getType()); // the best, its place, and a comparison
  if (reduce && reduce.getKind() == ReduceKind::sum &&
      llvm::isa<FloatType>(computedIn(tensorOf(tensor).getElementType())))
    // The tree's sums that wait for their partners.
    most += size * llvm::Log2_64_Ceil(static_cast<uint64_t>(
                       std::clamp<int64_t>(reducedElements(reduce).value_or(32), 1, 32)));
  return most;
}

/// As many of `lanes` as registers hold, if so many bytes of each live at once.
static int64_t fitting(int64_t lanes, int64_t live, const penstock::lane::Features &has) {
  while (lanes > has.lanesOf(4) && lanes * live > has.registers * has.registerBytes)
    lanes /= 2;
  return lanes;
}

int64_t penstock::schedules::fewerLanes(int64_t lanes, ValueRange made, int64_t along,
                                        const StoredValues &stored,
                                        const penstock::lane::Features &has, bool onlyDoubles) {
  int64_t live = 0;
  bool holdsDoubles = false;
  for (Value value : made) {
    LiveBytes bytes(stored, has);
    live = std::max(live, bytes.whenMade(value, tensorOf(value).getAxes()[along].name));
    holdsDoubles |= bytes.holdsDoubles;
  }
  return onlyDoubles && !holdsDoubles ? lanes : fitting(lanes, live, has);
}

int64_t penstock::schedules::lanesTogether(int64_t lanes, ValueRange values, int64_t along,
                                           const StoredValues &stored,
                                           const penstock::lane::Features &has) {
  int64_t most = 0, made = 0;
  for (Value value : values) {
    LiveBytes bytes(stored, has);
    most = std::max(most, made + bytes.whenMade(value, tensorOf(value).getAxes()[along].name));
    made += bytesOf(value.getType());
  }
  return fitting(lanes, most, has);
}

int64_t penstock::schedules::lanesOfStack(int64_t lanes, Value tensor, StringRef stacked,
                                          int64_t along, const StoredValues &stored,
                                          const penstock::lane::Features &has) {
  LiveBytes bytes(stored, has);
  bytes.stacked = stacked;
  return fitting(lanes, bytes.whenMade(tensor, tensorOf(tensor).getAxes()[along].name), has);
}

static bool comparesOthersThanWords(MapOp map) {
  return map.getBody()
      .walk([](CompareOp op) {
        Type type = computedIn(op.getLhs().getType());
        return type.isInteger(1) || scalarBytes(type) == 4 ? WalkResult::advance()
                                                           : WalkResult::interrupt();
      })
      .wasInterrupted();
}

bool penstock::schedules::comparesWords(Value tensor, const StoredValues &stored) {
  llvm::SmallSetVector<Value, 4> conditions;
  conditions.insert(tensor);
  for (size_t i = 0; i < conditions.size(); ++i) {
    auto map = conditions[i].getDefiningOp<MapOp>();
    if (!map || stored.inMemory.contains(conditions[i]) || comparesOthersThanWords(map))
      return false;
    for (Value input : map.getInputs())
      if (tensorOf(input).getElementType().isInteger(1))
        conditions.insert(input);
  }
  return true;
}
