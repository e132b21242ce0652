// SPDX-License-Identifier: Apache-2.0
//
// Values that are read in another order than that of their rows.
#include "compiler/Schedules/MovedValues.h"
#include "compiler/Analysis/WindowMargins.h"
#include "compiler/Dialect/RowStreams.h"
#include "compiler/Dialect/SmallReduction.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::usualLaneAxis;

/// Operations for an element that cost more than to store it and to collect it from there.
static constexpr size_t manyOperations = 24;
/// Elements along an axis that are not worth lanes along it, and those of a result that are.
static constexpr int64_t fewElements = 8, manyElements = 1024;

/// Returns whether elements of `op` are made of windows', resampled or gathered ones at the same
/// places, or by many operations, as far as an arm of a choice goes.
static bool isCostly(Operation *op) {
  llvm::SetVector<Operation *> reached;
  reached.insert(op);
  size_t operations = 0;
  for (size_t next = 0; next < reached.size(); ++next) {
    if (auto map = llvm::dyn_cast<MapOp>(reached[next]))
      operations += map.getBody().front().getOperations().size();
    if (llvm::isa<WindowOp, GatherOp, ResampleOp>(reached[next]) || operations >= manyOperations)
      return true;
    if (auto choose = llvm::dyn_cast<ChooseOp>(reached[next]);
        choose && choose->getNumResults() == 1 && !choose->hasAttr("schedule"))
      for (Region &arm : choose.getArms())
        if (Operation *made = arm.front().getTerminator()->getOperand(0).getDefiningOp())
          reached.insert(made);
    if (!llvm::isa<MapOp, CastOp>(reached[next]) || reached[next]->hasAttr("schedule"))
      continue;
    for (Value operand : reached[next]->getOperands())
      if (Operation *inner = operand.getDefiningOp())
        reached.insert(inner);
  }
  return false;
}

/// Returns whether what lies side by side in a row of the input does so in the result.
static bool keepsRows(ViewOp op) {
  NamedTensorType from = tensorOf(op.getInput()), to = tensorOf(op.getResult());
  const auto lanes = static_cast<unsigned>(usualLaneAxis(to));
  const auto rows = static_cast<unsigned>(usualLaneAxis(from));
  AffineMap map = op.getMap();
  for (unsigned axis = 0; axis < map.getNumResults(); ++axis) {
    AffineExpr place = map.getResult(axis);
    if (axis != rows && place.isFunctionOfDim(lanes))
      return false;
    for (auto channel = lanes + 1; channel < map.getNumDims(); ++channel) // planes become pixels
      if (axis <= rows && place.isFunctionOfDim(channel))
        return false;
    if (axis != rows)
      continue;
    auto sum = llvm::dyn_cast<AffineBinaryOpExpr>(place);
    AffineExpr moved =
        sum && sum.getKind() == AffineExprKind::Add && sum.getRHS().isSymbolicOrConstant()
            ? sum.getLHS()
            : place;
    if (moved != getAffineDimExpr(lanes, op.getContext()))
      return false;
  }
  return true;
}

/// Returns whether a view reads all of its input, or nearly so.
static bool readsMost(ViewOp op) {
  NamedTensorType from = tensorOf(op.getInput()), to = tensorOf(op.getResult());
  if (from.getRank() < 2 || to.getRank() < 2)
    return false;
  if (from.isStatic() && to.isStatic())
    return 2 * to.numElements() >= from.numElements();
  return from.getRank() == to.getRank();
}

/// Returns whether loops over what reads `value` go through the axes at these places of it in their
/// order, as far as that is told by what stands between them and where it is stored.
static bool isReadInOrder(Value value, ArrayRef<int64_t> places) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (llvm::isa<ReturnOp>(user))
      return true;
    SmallVector<int64_t> inResult;
    if (auto view = llvm::dyn_cast<ViewOp>(user)) {
      for (int64_t place : places) {
        AffineExpr expr = view.getMap().getResult(static_cast<unsigned>(place));
        for (unsigned dim = 0; dim < view.getMap().getNumDims(); ++dim)
          if (expr.isFunctionOfDim(dim))
            inResult.push_back(dim);
      }
    } else if (llvm::isa<MapOp, CastOp, PadOp, ReduceOp>(user)) {
      for (int64_t place : places)
        inResult.push_back(
            tensorOf(user->getResult(0)).axisIndex(tensorOf(value).getAxes()[place].name));
    } else {
      return false;
    }
    return (inResult.empty() || inResult.front() >= 0) && llvm::is_sorted(inResult) &&
           isReadInOrder(user->getResult(0), inResult);
  });
}

/// Returns whether rows of several pictures are wanted in turn, of what has those of one at a time.
static bool changesPictures(ResampleOp op) {
  const int64_t rows = canReadRows(op) ? tensorOf(op.getResult()).axisIndex(op.getAxis()) : 0;
  return rows > 0 && canStreamRows(op.getInput().getDefiningOp<ResampleOp>()) &&
         !isReadInOrder(op.getResult(), llvm::to_vector(llvm::seq<int64_t>(0, rows + 1)));
}

/// Returns the op behind a value that lies in other rows than what it reads, so that lanes collect
/// one by one; null where there is none before what is stored.
static Operation *scatteredBehind(Value value) {
  for (Operation *op = value.getDefiningOp();
       op && !op->hasAttr("schedule") && llvm::isa<ViewOp, PadOp, CastOp>(op);
       op = op->getOperand(0).getDefiningOp())
    if (auto view = llvm::dyn_cast<ViewOp>(op); view ? !keepsRows(view) : llvm::isa<PadOp>(op))
      return op;
  return nullptr;
}

/// Returns the choice that a value is, as far as views, borders and conversions make it; null where
/// it is none, or stored.
static ChooseOp choiceBehind(Value value) {
  for (Operation *op = value.getDefiningOp(); op && !op->hasAttr("schedule");
       op = op->getOperand(0).getDefiningOp()) {
    if (auto choose = llvm::dyn_cast<ChooseOp>(op))
      return choose->getNumResults() == 1 ? choose : ChooseOp();
    if (!llvm::isa<ViewOp, PadOp, CastOp>(op))
      break;
  }
  return {};
}

/// Returns whether lanes would go along a few elements, such as channels, of many: a sum, minimum
/// and so on goes through all of them as one row where they lie as they are read.
static bool reducesShortRows(ReduceOp op) {
  NamedTensorType type = tensorOf(op.getValue());
  const int64_t last = type.getRank() - 1;
  return last > 0 && reducedElements(op).value_or(manyElements) >= manyElements &&
         llvm::is_contained(op.getOver().getAsValueRange<StringAttr>(),
                            StringRef(type.getAxes()[last].name)) &&
         type.getAxes()[last].isStatic() && type.getAxes()[last].extent < fewElements;
}

/// The ops behind what is made of scattered elements one by one.
static SmallVector<Operation *> allScatteredBehind(Value value) {
  llvm::SetVector<Value> values;
  values.insert(value);
  SmallVector<Operation *> found;
  for (size_t next = 0; next < values.size(); ++next) {
    Operation *made = values[next].getDefiningOp();
    if (Operation *scattered = scatteredBehind(values[next]))
      found.push_back(scattered);
    else if (made && llvm::isa<MapOp, CastOp>(made) && !made->hasAttr("schedule"))
      values.insert(made->operand_begin(), made->operand_end());
  }
  return found;
}

SmallVector<penstock::schedules::MovedValue> penstock::schedules::movedValues(KernelOp kernel) {
  llvm::MapVector<Operation *, StringRef> found;
  for (Operation &op : kernel.getBody().front()) {
    if (auto reduce = llvm::dyn_cast<ReduceOp>(op); reduce && reducesShortRows(reduce))
      for (Operation *scattered : allScatteredBehind(reduce.getValue()))
        found.insert({scattered, "rows of it are reduced, and its elements lie in others"});
    if (auto resample = llvm::dyn_cast<ResampleOp>(op); resample && changesPictures(resample))
      found.insert({resample, "rows of several pictures are read in turn"});
    if (llvm::isa<ResampleOp, WindowOp>(op)) {
      if (ChooseOp choose = choiceBehind(op.getOperand(0)))
        found.insert({choose, "each element is read many times, and a choice makes it"});
      Operation *scattered = scatteredBehind(op.getOperand(0));
      if (scattered && (llvm::isa<ResampleOp>(op) || llvm::isa<PadOp>(scattered)))
        found.insert({op.getOperand(0).getDefiningOp(),
                      "each element is read many times, and it lies in other rows"});
      continue;
    }
    if (auto map = llvm::dyn_cast<MapOp>(op)) {
      for (Value input : map.getInputs())
        if (Operation *scattered = isCostly(map) ? scatteredBehind(input) : nullptr)
          found.insert({scattered, "much is computed of it, and it lies in other rows"});
      continue;
    }
    auto view = llvm::dyn_cast<ViewOp>(op);
    if (!(view ? !keepsRows(view) && readsMost(view) : llvm::isa<PadOp>(op)))
      continue;
    Operation *made = op.getOperand(0).getDefiningOp();
    if (made && !made->hasAttr("schedule") && isCostly(made))
      found.insert({made, view ? StringRef("it is read across its rows")
                               : StringRef("a border is made of it")});
  }
  SmallVector<MovedValue> values;
  for (auto [made, reason] : found)
    values.push_back({made, reason});
  return values;
}
