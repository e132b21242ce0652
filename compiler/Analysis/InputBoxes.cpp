// SPDX-License-Identifier: Apache-2.0
//
// Which boxes of a kernel's inputs a value reads.
//
// An axis of what is read moves with one axis of the result at most, in one direction, so that the
// ends of a box tell the ends of the other.
#include "compiler/Analysis/InputBoxes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::BoxStep;
using penstock::analysis::InputBox;
using penstock::analysis::InputBoxes;

using Axes = std::optional<SmallVector<int64_t>>;

static bool isTensor(Value value) { return llvm::isa<NamedTensorType>(value.getType()); }

static Axes axesOfView(ViewOp op) {
  SmallVector<int64_t> axes;
  for (AffineExpr expr : op.getMap().getResults()) {
    int64_t along = -1;
    bool isPlain = true;
    for (unsigned dim = 0; dim < op.getMap().getNumDims(); ++dim) {
      if (!expr.isFunctionOfDim(dim))
        continue;
      isPlain &= along < 0;
      along = static_cast<int64_t>(dim);
    }
    expr.walk([&](AffineExpr part) { isPlain &= part.getKind() != AffineExprKind::Mod; });
    if (!isPlain)
      return std::nullopt;
    axes.push_back(along);
  }
  return axes;
}

static SmallVector<int64_t> sameAxes(Value value) {
  return llvm::to_vector(llvm::seq<int64_t>(0, tensorOf(value).getRank()));
}

/// By axis of the operand, what `BoxStep` says.
static Axes axesRead(Operation *op, Value read) {
  return llvm::TypeSwitch<Operation *, Axes>(op)
      .Case([&](ViewOp view) { return axesOfView(view); })
      .Case([&](CastOp) { return sameAxes(read); })
      .Case([&](MapOp map) -> Axes {
        SmallVector<int64_t> axes;
        for (const Axis &axis : tensorOf(read).getAxes())
          axes.push_back(tensorOf(map.getResult()).axisIndex(axis.name));
        return axes;
      })
      .Case<PadOp, WindowOp>([&](auto typed) -> Axes {
        return typed.getBorder() == Border::wrap ? Axes() : Axes(sameAxes(read));
      })
      .Case([&](ResampleOp resample) -> Axes {
        if (read == resample.getInput())
          return sameAxes(read);
        SmallVector<int64_t> axes(tensorOf(read).getRank(), -1);
        axes[0] = tensorOf(resample.getResult()).axisIndex(resample.getAxis());
        return axes;
      })
      .Default([](Operation *) { return Axes(); });
}

namespace {
/// The box of a value on the way, and whether it can be told.
struct Reached : InputBox {
  bool isTold = true;
};

class Walk {
public:
  Walk(Value value, llvm::function_ref<bool(Operation *)> isStored)
      : first(value), isStored(isStored) {}

  InputBoxes run() {
    Reached &own = reached[first];
    const int64_t rank = tensorOf(first).getRank();
    for (int64_t axis = 0; axis < rank; ++axis)
      own.movesWith.emplace_back(rank, false)[axis] = true;
    for (Operation *op = first.getDefiningOp(); op; op = op->getPrevNode())
      for (Value result : op->getResults())
        if (reached.contains(result) && (result == first || !isStored(op)))
          visit(*op, result);
    InputBoxes boxes;
    for (auto &[value, state] : reached) {
      if (value.getDefiningOp() || !state.isTold)
        continue;
      boxes.inputs[value] = state;
    }
    for (BoxStep &step : steps) {
      Operation *made = step.read.getDefiningOp();
      if (reached[step.read].isTold && !(made && (isStored(made) || llvm::isa<ConstantOp>(made))))
        boxes.steps.push_back(std::move(step));
    }
    return boxes;
  }

private:
  void visit(Operation &op, Value result) {
    const Reached state = reached[result];
    for (Value operand : op.getOperands())
      if (isTensor(operand))
        read(op, state, operand);
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (inner != &op && isTensor(operand))
          loaded(op, state, *inner, operand);
    });
  }

  /// Notes a body's loads: values tell their indices, clamped to the tensor, so all of it counts.
  void loaded(Operation &op, const Reached &state, Operation &inner, Value operand) {
    Reached &to = reached[operand];
    const int64_t rank = tensorOf(operand).getRank();
    to.isTold &= state.isTold && llvm::isa<LoadOp>(inner) && !operand.getDefiningOp();
    to.isReadOften = to.isTable = true;
    to.movesWith.resize(rank, SmallVector<bool>(tensorOf(first).getRank(), false));
    if (to.isTold)
      steps.push_back({&op, operand, SmallVector<int64_t>(rank, -1)});
  }

  void read(Operation &op, const Reached &state, Value operand) {
    Reached &to = reached[operand];
    const Axes axes = axesRead(&op, operand);
    to.isTold &= state.isTold && axes.has_value();
    if (!to.isTold)
      return;
    to.isReadOften |= state.isReadOften || llvm::isa<ResampleOp, WindowOp>(op);
    to.movesWith.resize(axes->size(), SmallVector<bool>(tensorOf(first).getRank(), false));
    for (auto [moves, axis] : llvm::zip(to.movesWith, *axes))
      for (size_t own = 0; axis >= 0 && own < moves.size(); ++own)
        moves[own] = moves[own] || state.movesWith[axis][own];
    steps.push_back({&op, operand, *axes});
  }

  Value first;
  llvm::function_ref<bool(Operation *)> isStored;
  llvm::MapVector<Value, Reached> reached;
  SmallVector<BoxStep> steps;
};
} // namespace

InputBoxes penstock::analysis::inputBoxes(Value value,
                                          llvm::function_ref<bool(Operation *)> isStored) {
  auto isNone = [](const Axis &axis) { return axis.isStatic() && axis.extent == 0; };
  if (llvm::any_of(llvm::cast<NamedTensorType>(value.getType()).getAxes(), isNone))
    return {};
  return Walk(value, isStored).run();
}
