// SPDX-License-Identifier: Apache-2.0
//
// Which rows a tile of output rows reads.
#include "compiler/Analysis/RowRegions.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::RowRegions;

/// The axis of a view's input that moves with `axis` of the view, in one direction, and with no
/// other.
static std::optional<int64_t> viewedAxis(ViewOp op, int64_t axis) {
  std::optional<int64_t> found;
  for (auto [number, expr] : llvm::enumerate(op.getMap().getResults())) {
    if (!expr.isFunctionOfDim(static_cast<unsigned>(axis)))
      continue;
    bool isPlain = !found;
    for (unsigned dim = 0; dim < op.getMap().getNumDims(); ++dim)
      isPlain &= static_cast<int64_t>(dim) == axis || !expr.isFunctionOfDim(dim);
    expr.walk([&](AffineExpr part) { isPlain &= part.getKind() != AffineExprKind::Mod; });
    if (!isPlain)
      return std::nullopt;
    found = static_cast<int64_t>(number);
  }
  return found;
}

static bool isOver(ArrayAttr over, NamedTensorType type, int64_t axis) {
  return llvm::any_of(over.getAsRange<StringAttr>(),
                      [&](StringAttr name) { return type.axisIndex(name) == axis; });
}

/// The axis of `read` whose rows `op` reads for rows along `axis` of its result, if it can be told
/// which; `isSame`: the same.
static std::optional<int64_t> axisRead(Operation *op, int64_t axis, Value read, bool &isSame) {
  const Axis &named = tensorOf(op->getResult(0)).getAxes()[axis];
  auto byName = [&](Value) -> std::optional<int64_t> {
    const int64_t found = tensorOf(read).axisIndex(named.name);
    return found < 0 ? std::nullopt : std::optional(found);
  };
  auto bordered = [&](auto typed) -> std::optional<int64_t> {
    if (!isOver(typed.getOver(), tensorOf(read), axis))
      return axis;
    isSame = false;
    return typed.getBorder() == Border::wrap ? std::nullopt : std::optional(axis);
  };
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](ViewOp view) {
        auto found = viewedAxis(view, axis);
        isSame &= found && view.getMap().getResult(static_cast<unsigned>(*found)) ==
                               getAffineDimExpr(static_cast<unsigned>(axis), op->getContext());
        return found;
      })
      .Case([&](CastOp) { return axis; })
      .Case([&](MapOp) { return byName(read); })
      .Case([&](ReduceOp) { return byName(read); })
      .Case([&](PadOp pad) { return bordered(pad); })
      .Case([&](WindowOp window) { return bordered(window); })
      .Case([&](ResampleOp resample) -> std::optional<int64_t> {
        isSame &= tensorOf(read).axisIndex(resample.getAxis()) != axis;
        return read == resample.getInput() ? std::optional(axis) : std::nullopt;
      })
      .Case([&](ConcatOp concat) -> std::optional<int64_t> {
        return tensorOf(read).axisIndex(concat.getAxis()) == axis ? std::nullopt
                                                                  : std::optional(axis);
      })
      .Case([&](StackOp) -> std::optional<int64_t> {
        return axis == 0 ? std::nullopt : std::optional(axis - 1);
      })
      .Default([](Operation *) { return std::nullopt; });
}

namespace {
/// Which rows of a value row i of an output reads.
struct Moved {
  bool isMoved = false; ///< others than row i
  bool isKnown = true;  ///< as windows tell:
  int64_t low = 0;      ///< i + low ..= i + high
  int64_t high = 0;
};

/// Adds a window's reach: rows mirrored at an edge are no farther away than others.
static Moved windowed(Operation &op, int64_t axis, Moved by) {
  auto window = llvm::dyn_cast<WindowOp>(op);
  by.isMoved = true;
  by.isKnown &= window != nullptr;
  if (!window)
    return by;
  for (auto [place, name] : llvm::enumerate(window.getOver().getAsRange<StringAttr>()))
    if (tensorOf(window.getResult()).axisIndex(name) == axis) {
      by.low += std::min<int64_t>(window.getLow()[place], 0);
      by.high += std::max<int64_t>(window.getHigh()[place], 0);
    }
  return by;
}

class Finder {
public:
  Finder(KernelOp kernel, StringRef axis, llvm::function_ref<bool(Operation *)> isStored)
      : kernel(kernel), axis(axis), isStored(isStored) {}

  std::optional<RowRegions> run() {
    Block &body = kernel.getBody().front();
    for (Operation &op : body)
      if (!noteDependence(op))
        return std::nullopt;
    for (Value value : llvm::cast<ReturnOp>(body.getTerminator()).getValues()) {
      if (!dependent.contains(value))
        continue;
      const int64_t found = tensorOf(value).axisIndex(axis);
      if (found < 0 || !need(value, found))
        return std::nullopt;
      if (!regions.outputs.empty() &&
          extentOf(value, found) !=
              extentOf(regions.outputs.front().first, regions.outputs.front().second))
        return std::nullopt;
      regions.outputs.insert({value, found});
    }
    for (Operation &op : llvm::reverse(body))
      if (!visit(op))
        return std::nullopt;
    for (Operation &op : body)
      if (op.getNumResults() > 0 && isStored(&op)) {
        const Moved by = moved.lookup(op.getResult(0));
        if (!by.isMoved)
          regions.same.insert(op.getResult(0));
        regions.isKnown &= by.isKnown;
        regions.around = std::max(regions.around, by.high - by.low);
        auto rows = needed.find(op.getResult(0));
        if (rows == needed.end())
          return std::nullopt;
        regions.stored.insert({op.getResult(0), rows->second});
        regions.isSame &= regions.same.contains(op.getResult(0));
      }
    return std::move(regions);
  }

private:
  static bool isTensor(Value value) { return llvm::isa<NamedTensorType>(value.getType()); }

  /// What the arms of a choice give, for one of its results.
  static SmallVector<Value> yieldsOf(ChooseOp choose, unsigned number) {
    SmallVector<Value> yields;
    for (Region &arm : choose.getArms())
      yields.push_back(arm.front().getTerminator()->getOperand(number));
    return yields;
  }

  /// False where elements are read in an order that nobody can tell.
  bool noteDependence(Operation &op) {
    if (auto choose = llvm::dyn_cast<ChooseOp>(op); choose && op.getNumResults() == 1) {
      for (Region &arm : choose.getArms())
        for (Operation &inner : arm.front().without_terminator())
          if (!noteDependence(inner) || isStored(&inner))
            return false;
      if (llvm::any_of(yieldsOf(choose, 0), [&](Value value) { return dependent.contains(value); }))
        dependent.insert(choose.getResult(0));
      return true;
    }
    bool reads =
        llvm::any_of(op.getOperands(), [&](Value value) { return dependent.contains(value); });
    bool isTold = true;
    op.walk([&](Operation *inner) {
      if (inner == &op || !llvm::any_of(inner->getOperands(),
                                        [&](Value value) { return dependent.contains(value); }))
        return;
      isTold = false; // a body that loads elements, an arm of a choice
    });
    if (!llvm::any_of(op.getResults(), isTensor))
      return isTold && (!reads || llvm::isa<ReturnOp>(op));
    if (reads || isStored(&op))
      for (Value result : op.getResults())
        dependent.insert(result);
    return isTold;
  }

  bool need(Value value, int64_t rows) {
    return needed.insert({value, rows}).first->second == rows;
  }

  bool visit(Operation &op) {
    auto found = op.getNumResults() == 1 ? needed.find(op.getResult(0)) : needed.end();
    if (found == needed.end())
      return true;                      // nothing reads it, or nothing of it is stored
    const int64_t rows = found->second; // what operands need moves what is found
    if (auto choose = llvm::dyn_cast<ChooseOp>(op))
      return visitArms(choose, rows);
    for (Value operand : op.getOperands()) {
      if (!isTensor(operand) || !dependent.contains(operand))
        continue;
      bool isSame = true;
      auto read = axisRead(&op, rows, operand, isSame);
      if (!read || !need(operand, *read))
        return false;
      if (!isSame && llvm::isa<ChooseOp>(op.getParentOp()))
        return false; // rows of one arm and of another may be far apart
      const Moved before = moved.lookup(op.getResult(0));
      const Moved by = isSame ? before : windowed(op, rows, before);
      Moved &all = moved[operand];
      all = {all.isMoved || by.isMoved, all.isKnown && by.isKnown, std::min(all.low, by.low),
             std::max(all.high, by.high)};
      regions.steps.push_back({&op, rows, operand, *read});
    }
    return true;
  }

  /// Any arm may be the one that is taken.
  bool visitArms(ChooseOp choose, int64_t rows) {
    const Moved own = moved.lookup(choose.getResult(0));
    for (Value value : yieldsOf(choose, 0)) {
      if (!dependent.contains(value))
        continue;
      if (!need(value, rows))
        return false;
      Moved &all = moved[value];
      all = {all.isMoved || own.isMoved, all.isKnown && own.isKnown, std::min(all.low, own.low),
             std::max(all.high, own.high)};
      regions.steps.push_back({choose, rows, value, rows});
    }
    for (Region &arm : choose.getArms())
      for (Operation &inner : llvm::reverse(arm.front().without_terminator()))
        if (!visit(inner))
          return false;
    return true;
  }

  KernelOp kernel;
  StringRef axis;
  llvm::function_ref<bool(Operation *)> isStored;
  llvm::DenseSet<Value> dependent; ///< on what is stored
  llvm::DenseMap<Value, int64_t> needed;
  llvm::DenseMap<Value, Moved> moved;
  RowRegions regions;
};
} // namespace

std::optional<RowRegions>
penstock::analysis::rowRegions(KernelOp kernel, StringRef axis,
                               llvm::function_ref<bool(Operation *)> isStored) {
  return Finder(kernel, axis, isStored).run();
}
