// SPDX-License-Identifier: Apache-2.0
//
// What numbers a kernel's scalars and elements can be.
#include "compiler/Analysis/ValueRanges.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::analysis;

static Type elementOf(Value value) {
  auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
  return type ? type.getElementType() : value.getType();
}

/// The numbers of its type; of what is no number nothing is known.
static Interval ofType(Value value) {
  Type element = elementOf(value);
  return llvm::isa<IntegerType>(element) ? rangeOfType(element) : Interval();
}

/// Halves are for storage: what is computed of them is rounded to them, more than is known here.
static bool isStored(Value value) { return value.getType().isF16() || value.getType().isBF16(); }

static Interval ofConstant(ConstantOp op) {
  if (auto number = llvm::dyn_cast<FloatAttr>(op.getValue()))
    return std::isnan(number.getValueAsDouble()) ? Interval()
                                                 : Interval::constant(number.getValueAsDouble());
  auto number = llvm::dyn_cast<IntegerAttr>(op.getValue());
  if (!number || !llvm::isa<IntegerType>(number.getType()))
    return ofType(op.getResult());
  Type type = elementOf(op.getResult());
  return whole(isUnsigned(type) || type.isSignlessInteger(1)
                   ? static_cast<double>(number.getValue().getZExtValue())
                   : static_cast<double>(number.getValue().getSExtValue()));
}

Interval ValueRanges::of(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  const Interval range = find(value);
  known[value] = range;
  return range;
}

Interval ValueRanges::find(Value value) {
  if (auto argument = llvm::dyn_cast<BlockArgument>(value))
    return findArgument(argument);
  return findOperation(value.getDefiningOp(), llvm::cast<OpResult>(value));
}

/// Of a body the arguments are elements of inputs, or neighbours, and then coordinates.
Interval ValueRanges::findArgument(BlockArgument argument) {
  Operation *op = argument.getOwner()->getParentOp();
  if (!llvm::isa<MapOp, WindowOp>(op))
    return ofType(argument);
  ArrayRef<Axis> axes = tensorOf(op->getResult(0)).getAxes();
  const size_t number = argument.getArgNumber(),
               elements = argument.getOwner()->getNumArguments() - axes.size();
  if (number < elements)
    return llvm::isa<MapOp>(op) ? of(op->getOperand(static_cast<unsigned>(number))) : padded(op);
  const Axis &axis = axes[number - elements];
  return axis.isStatic() ? Interval::of(0, std::max(static_cast<double>(axis.extent) - 1, 0.0))
                         : ofType(argument);
}

/// Elements, and what stands beside them.
Interval ValueRanges::padded(Operation *op) {
  auto window = llvm::dyn_cast<WindowOp>(op);
  Value input = window ? window.getInput() : llvm::cast<PadOp>(op).getInput(),
        fill = window ? window.getFill() : llvm::cast<PadOp>(op).getFill();
  return hull(of(input), fill ? of(fill) : Interval::constant(0));
}

Interval ValueRanges::ofBody(Block &body, unsigned number) {
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults())
      if (!llvm::isa<NamedTensorType>(result.getType()))
        (void)of(result);
  return of(body.getTerminator()->getOperand(number));
}

Interval ValueRanges::findOperation(Operation *op, OpResult result) {
  auto either = [&](ValueRange values) {
    std::optional<Interval> all;
    for (Value value : values)
      all = all ? hull(*all, of(value)) : of(value);
    return all.value_or(ofType(result));
  };
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case([&](ConstantOp constant) { return ofConstant(constant); })
      .Case([&](CastOp cast) {
        return rangeOfCast(cast.getMode(), elementOf(cast.getValue()), elementOf(result),
                           of(cast.getValue()));
      })
      .Case([&](UnaryOp unary) {
        return isStored(result)
                   ? Interval()
                   : rangeOfUnary(unary.getKind(), result.getType(), of(unary->getOperand(0)));
      })
      .Case([&](BinaryOp binary) {
        const Interval a = of(binary.getLhs()), c = of(binary.getRhs());
        if (isStored(result))
          return Interval();
        return llvm::isa<FloatType>(result.getType())
                   ? rangeOfFloats(binary.getKind(), result.getType(), a, c)
                   : rangeOfIntegers(binary.getKind(), result.getType(), a, c)
                         .value_or(ofType(result));
      })
      .Case([&](SelectOp select) { return either(select->getOperands().drop_front()); })
      .Case([&](LoadOp load) { return hull(of(load.getTensor()), Interval::constant(0)); })
      .Case([&](ViewOp view) { return of(view.getInput()); })
      .Case([&](PadOp pad) { return padded(pad); })
      .Case([&](PlaceOp place) { return hull(of(place.getPatch()), of(place.getBase())); })
      .Case<MapOp, WindowOp>([&](auto map) { return ofBody(map.getBody().front(), 0); })
      .Case<ConcatOp, StackOp>([&](auto join) { return either(join.getInputs()); })
      .Case([&](ChooseOp choose) {
        std::optional<Interval> all;
        for (Region &arm : choose.getArms()) {
          const Interval one = ofBody(arm.front(), result.getResultNumber());
          all = all ? hull(*all, one) : one;
        }
        return all.value_or(ofType(result));
      })
      .Default([&](Operation *) { return ofType(result); });
}

double penstock::analysis::largestAdded(ReduceOp op) {
  if (op.getKind() == ReduceKind::count)
    return 1;
  const Interval range = ValueRanges().of(op.getValue());
  return std::max({1.0, std::abs(range.low), std::abs(range.high)});
}

int64_t penstock::analysis::addedIn32Bits(ReduceOp op) {
  return static_cast<int64_t>(0x7FFFFFFF / largestAdded(op));
}
