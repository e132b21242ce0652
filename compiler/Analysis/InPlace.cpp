// SPDX-License-Identifier: Apache-2.0
//
// Kernels for a GPU that may store over what they read.
//
// A thread makes a box of elements: it loads what they are made of, then stores them. So every
// index at which an element of the box reads the input has to be one of the same box. Along an axis
// that a box has whole, any is; along others only the element's own.
#include "compiler/Analysis/InPlace.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace penstock::pipe;

namespace {

class Reads {
public:
  Reads(Value input, Value output) : input(input), type(tensorOf(output)) {
    auto vector = output.getDefiningOp()->getAttrOfType<DictionaryAttr>("vector");
    for (const Axis &axis : type.getAxes()) {
      auto count = vector ? vector.getAs<IntegerAttr>(axis.name) : IntegerAttr();
      counts.push_back(count ? count.getInt() : 1);
    }
  }

  /// Boxes leave no elements over, and begin where words do.
  bool areBoxesWhole() const {
    int64_t bytes = scalarBytes(type.getElementType());
    for (size_t axis = counts.size(); axis-- > 0;) {
      const int64_t extent = type.getAxes()[axis].extent;
      if (extent % counts[axis] != 0)
        return false;
      if (counts[axis] > 1 && counts[axis] < extent && bytes * counts[axis] % 16 != 0)
        return false;
      bytes *= extent;
    }
    return true;
  }

  /// Returns whether the elements of `value` that those of a box read, at `map` of their places,
  /// are made of nothing of the input but the box's own elements.
  bool areOwn(Value value, AffineMap map) {
    if (!isMadeOfInput(value))
      return true;
    if (value == input)
      return isOwn(map);
    if (!visited.insert({value, map}).second)
      return true; // it is looked at once: paths through what many share are exponentially many
    Operation *op = value.getDefiningOp();
    if (auto cast = llvm::dyn_cast<CastOp>(op))
      return areOwn(cast.getValue(), map);
    if (auto view = llvm::dyn_cast<ViewOp>(op))
      return view.getSymbols().empty() && areOwn(view.getInput(), view.getMap().compose(map));
    if (auto stack = llvm::dyn_cast<StackOp>(op)) {
      const AffineMap inner = map.getMinorSubMap(map.getNumResults() - 1);
      return llvm::all_of(stack.getInputs(), [&](Value part) { return areOwn(part, inner); });
    }
    if (auto choose = llvm::dyn_cast<ChooseOp>(op)) {
      const unsigned number = llvm::cast<OpResult>(value).getResultNumber();
      return llvm::all_of(choose.getArms(), [&](Region &arm) {
        return areOwn(arm.front().getTerminator()->getOperand(number), map);
      });
    }
    auto mapped = llvm::dyn_cast<MapOp>(op);
    if (!mapped || looksUpInput(mapped))
      return false;
    return llvm::all_of(mapped.getInputs(), [&](Value read) {
      SmallVector<AffineExpr> places; // axes of the domain are found by their names
      for (const Axis &axis : tensorOf(read).getAxes())
        places.push_back(map.getResult(
            static_cast<unsigned>(tensorOf(mapped.getResult()).axisIndex(axis.name))));
      return areOwn(read, AffineMap::get(map.getNumDims(), 0, places, map.getContext()));
    });
  }

private:
  bool isOwn(AffineMap map) const {
    for (auto [axis, place] : llvm::enumerate(map.getResults()))
      if (counts[axis] != type.getAxes()[axis].extent &&
          place != getAffineDimExpr(static_cast<unsigned>(axis), map.getContext()))
        return false;
    return true;
  }

  bool isMadeOfInput(Value value) {
    if (value == input)
      return true;
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (auto known = made.find(op); known != made.end())
      return known->second;
    bool found = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        found |= llvm::isa<NamedTensorType>(operand.getType()) && !found && isMadeOfInput(operand);
    });
    return made[op] = found;
  }
  bool looksUpInput(MapOp map) {
    bool found = false;
    map.getBody().walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        found |= llvm::isa<NamedTensorType>(operand.getType()) && isMadeOfInput(operand);
    });
    return found;
  }

  Value input;
  NamedTensorType type;
  SmallVector<int64_t> counts; ///< of a box
  llvm::DenseMap<Operation *, bool> made;
  llvm::DenseSet<std::pair<Value, AffineMap>> visited;
};

} // namespace

bool penstock::analysis::isInPlace(KernelOp kernel, int64_t input) {
  Block &body = kernel.getBody().front();
  auto outputs = body.getTerminator()->getOperands();
  auto schedule = kernel.getSchedule();
  if (outputs.size() != 1 || input >= inputsOf(kernel) || !outputs[0].getDefiningOp() ||
      !schedule || schedule->get("mapping") != StringAttr::get(kernel.getContext(), "grid") ||
      outputs[0].getType() != body.getArgument(static_cast<unsigned>(input)).getType() ||
      !tensorOf(outputs[0]).isStatic() || tensorOf(outputs[0]).getAxes().empty())
    return false;
  Reads reads(body.getArgument(static_cast<unsigned>(input)), outputs[0]);
  return reads.areBoxesWhole() &&
         reads.areOwn(outputs[0], AffineMap::getMultiDimIdentityMap(
                                      static_cast<unsigned>(tensorOf(outputs[0]).getRank()),
                                      kernel.getContext()));
}
