//===- RequiredRegions.cpp - what is needed of every value ----------------===//

#include "compiler/Analysis/RequiredRegions.h"
#include "compiler/Analysis/IntervalArithmetic.h"
#include "compiler/Analysis/OpClass.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

static NamedTensorType tensorOf(Value value) {
  return llvm::cast<NamedTensorType>(value.getType());
}

RequiredRegions::RequiredRegions(PipelineOp pipeline, OpBuilder &builder) : builder(builder) {
  visitBlock(pipeline.getBody().front());
}

void RequiredRegions::visitBlock(Block &block) {
  for (Operation &op : llvm::reverse(block))
    visit(&op);
}

void RequiredRegions::need(Value tensor, const Box &box) {
  auto [at, fresh] = boxes.try_emplace(tensor, box);
  if (fresh)
    return;
  ScalarBuilder scalars(builder, tensor.getLoc());
  for (auto [mine, other] : llvm::zip(at->second, box)) {
    if (mine.isWhole())
      continue;
    if (other.isWhole())
      mine = {};
    else if (mine.low != other.low || mine.high != other.high)
      mine = {mine.low == other.low ? mine.low : scalars.min(mine.low, other.low),
              mine.high == other.high ? mine.high : scalars.max(mine.high, other.high)};
  }
}

void RequiredRegions::needWhole(Value tensor) { need(tensor, Box(tensorOf(tensor).getRank())); }

/// The numbers of a whole axis.
static Interval numbers(Value value, int64_t axis, Interval interval, OpBuilder &builder,
                        ScalarBuilder &scalars) {
  if (!interval.isWhole())
    return interval;
  return {scalars.constant(0), extentValue(builder, value.getLoc(), value, axis)};
}

Box RequiredRegions::viewed(ViewOp view, const Box &box) {
  ScalarBuilder scalars(builder, view.getLoc());
  SmallVector<Interval> dims;
  for (auto [axis, interval] : llvm::enumerate(box))
    dims.push_back(numbers(view.getResult(), axis, interval, builder, scalars));
  Box result;
  for (auto [axis, expr] : llvm::enumerate(view.getMap().getResults())) {
    auto dim = llvm::dyn_cast<AffineDimExpr>(expr);
    const bool same =
        dim && extentOf(view.getInput(), axis) == extentOf(view.getResult(), dim.getPosition());
    if (same && box[dim.getPosition()].isWhole())
      result.push_back({});
    else
      result.push_back(intervalOf(expr, dims, view.getSymbols(), scalars));
  }
  return result;
}

Interval RequiredRegions::padded(PadOp pad, int64_t axis, Interval wanted) {
  const bool bounded = pad.getBorder() == Border::constant || pad.getBorder() == Border::edge;
  Value low;
  for (auto [name, value] : llvm::zip(pad.getOver().getAsRange<StringAttr>(), pad.getLow()))
    if (tensorOf(pad.getInput()).axisIndex(name) == axis)
      low = value;
  if (!low)
    return wanted;
  if (wanted.isWhole() || !bounded)
    return {};
  ScalarBuilder scalars(builder, pad.getLoc());
  Value extent = extentValue(builder, pad.getLoc(), pad.getInput(), axis);
  Value zero = scalars.constant(0), one = scalars.constant(1);
  Value first = scalars.sub(wanted.low, low);
  Value end = scalars.sub(wanted.high, low);
  if (pad.getBorder() == Border::edge) // the edge is read from outside too
    return {scalars.max(scalars.min(first, scalars.sub(extent, one)), zero),
            scalars.min(scalars.max(end, one), extent)};
  return {scalars.min(scalars.max(first, zero), extent),
          scalars.min(scalars.max(end, zero), extent)};
}

Interval RequiredRegions::widened(Value input, int64_t axis, Interval wanted, int64_t below,
                                  int64_t above) {
  if (wanted.isWhole())
    return {};
  ScalarBuilder scalars(builder, input.getLoc());
  Value extent = extentValue(builder, input.getLoc(), input, axis);
  return {scalars.max(scalars.add(wanted.low, scalars.constant(below)), scalars.constant(0)),
          scalars.min(scalars.add(wanted.high, scalars.constant(above)), extent)};
}

/// Half the width of a filter at scale 1, in input elements.
static double supportOf(Filter filter) {
  switch (filter) {
  case Filter::nearest:
    return 0.0;
  case Filter::box:
    return 0.5;
  case Filter::bilinear:
  case Filter::hamming:
    return 1.0;
  case Filter::bicubic:
    return 2.0;
  case Filter::lanczos:
    return 3.0;
  }
  llvm_unreachable("not a filter");
}

// The first tap of output o is max(trunc((o + 0.5) * scale - support + 0.5), 0)
// and rises with o; windows that would leave the input move left, to in - taps.
// So the taps of lo ..< hi lie in min(first(lo), in - taps) ..< first(hi - 1) +
// taps. One element more on each side covers the rounding of this f64
// arithmetic against that of pipe.weights.
Interval RequiredRegions::resampled(ResampleOp op, Interval wanted) {
  // Through the views that moved to the tables.
  Value start = op.getStart();
  SmallVector<ViewOp> views;
  while (auto view = start.getDefiningOp<ViewOp>()) {
    views.push_back(view);
    start = view.getInput();
  }
  auto weights = start.getDefiningOp<WeightsOp>();
  if (!weights)
    return {};
  ScalarBuilder scalars(builder, op.getLoc());
  for (ViewOp view : views) {
    // A mirrored table is still the whole table.
    const bool covers = extentOf(view.getInput(), 0) == extentOf(view.getResult(), 0);
    if (wanted.isWhole() && covers)
      continue;
    Interval dim = numbers(view.getResult(), 0, wanted, builder, scalars);
    wanted = intervalOf(view.getMap().getResult(0), dim, view.getSymbols(), scalars);
  }
  if (wanted.isWhole())
    return {};
  Type f64 = builder.getF64Type();
  auto number = [&](double value) -> Value {
    return builder.create<ConstantOp>(op.getLoc(), f64, builder.getF64FloatAttr(value));
  };
  Value one = scalars.constant(1), zero = scalars.constant(0);
  Value in = weights.getIn();
  Value scale =
      scalars.binary(BinaryKind::div, scalars.cast(in, f64), scalars.cast(weights.getOut(), f64));
  Value widening = weights.getAntialias() ? scalars.max(scale, number(1.0)) : number(1.0);
  Value support = scalars.mul(widening, number(supportOf(weights.getFilter())));
  Value taps = builder.create<TapsOp>(op.getLoc(), builder.getI64Type(), weights.getFilter(), in,
                                      weights.getOut(), weights.getAntialias());
  auto first = [&](Value output) {
    Value center = scalars.mul(scalars.add(scalars.cast(output, f64), number(0.5)), scale);
    Value at = scalars.add(scalars.sub(center, support), number(0.5));
    return scalars.max(scalars.cast(at, builder.getI64Type()), zero);
  };
  Value low = scalars.sub(scalars.min(first(wanted.low), scalars.sub(in, taps)), one);
  Value high = scalars.add(scalars.add(first(scalars.sub(wanted.high, one)), taps), one);
  return {scalars.max(low, zero), scalars.min(high, in)};
}

void RequiredRegions::visit(Operation *op) {
  if (auto batch = llvm::dyn_cast<BatchOp>(op))
    return visitBlock(batch.getBody().front());
  if (!touchesTensors(op))
    return;
  // Tables that a region reads at computed indices, and what the body of a
  // repeat reads: its scalars differ from iteration to iteration.
  if (!llvm::isa<ChooseOp>(op)) {
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    for (Value value : captured)
      if (llvm::isa<NamedTensorType>(value.getType()))
        needWhole(value);
  }
  const Box *found = op->getNumResults() == 0 ? nullptr : boxOf(op->getResult(0));
  const Box box = found ? *found : Box();
  const bool single = op->getNumResults() == 1;
  if (single && !found && isPure(op))
    return; // nothing reads it
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ViewOp view) { need(view.getInput(), viewed(view, box)); })
      .Case([&](CastOp cast) { need(cast.getValue(), box); })
      .Case([&](PadOp pad) {
        Box result;
        for (auto [axis, interval] : llvm::enumerate(box))
          result.push_back(padded(pad, axis, interval));
        need(pad.getInput(), result);
      })
      .Case([&](MapOp map) {
        for (Value input : map.getInputs()) {
          Box result;
          for (const Axis &axis : tensorOf(input).getAxes())
            result.push_back(box[tensorOf(map).axisIndex(axis.name)]);
          need(input, result);
        }
      })
      .Case([&](WindowOp window) {
        const bool bounded =
            window.getBorder() == Border::constant || window.getBorder() == Border::edge;
        Box result = box;
        for (auto [i, name] : llvm::enumerate(window.getOver().getAsRange<StringAttr>())) {
          const int64_t axis = tensorOf(window).axisIndex(name);
          // Reflected elements may lie further inside than the neighbourhood.
          result[axis] = bounded ? widened(window.getInput(), axis, box[axis],
                                           std::min<int64_t>(window.getLow()[i], 0),
                                           std::max<int64_t>(window.getHigh()[i], 0))
                                 : Interval();
        }
        need(window.getInput(), result);
      })
      .Case([&](ResampleOp resample) {
        const int64_t axis = tensorOf(resample).axisIndex(resample.getAxis());
        Box result = box;
        result[axis] = resampled(resample, box[axis]);
        need(resample.getInput(), result);
        needWhole(resample.getWeights());
        needWhole(resample.getStart());
      })
      .Case([&](GatherOp gather) {
        Box result = box;
        for (auto name : gather.getOver().getAsRange<StringAttr>())
          result[tensorOf(gather).axisIndex(name)] = {};
        need(gather.getInput(), result);
      })
      .Case([&](StackOp stack) {
        for (Value input : stack.getInputs())
          need(input, Box(llvm::drop_begin(box)));
      })
      .Case([&](ConcatOp concat) {
        Box result = box;
        result[tensorOf(concat).axisIndex(concat.getAxis())] = {};
        for (Value input : concat.getInputs())
          need(input, result);
      })
      .Case([&](PlaceOp place) {
        need(place.getBase(), box);
        Box result = box;
        for (auto name : place.getOver().getAsRange<StringAttr>())
          result[tensorOf(place).axisIndex(name)] = {};
        need(place.getPatch(), result);
      })
      .Case([&](ReduceOp reduce) {
        Box result;
        for (const Axis &axis : tensorOf(reduce.getValue()).getAxes()) {
          const int64_t kept = tensorOf(reduce).axisIndex(axis.name);
          result.push_back(kept < 0 ? Interval() : box[kept]);
        }
        need(reduce.getValue(), result);
      })
      .Case([&](ChooseOp choose) {
        for (Region &arm : choose.getArms()) {
          Operation *yield = arm.front().getTerminator();
          for (auto [i, value] : llvm::enumerate(yield->getOperands()))
            if (const Box *wanted = boxOf(choose.getResult(i)))
              need(value, *wanted);
          visitBlock(arm.front());
        }
      })
      .Case<YieldOp>([](auto) {})
      .Default([&](Operation *other) {
        for (Value operand : other->getOperands())
          if (llvm::isa<NamedTensorType>(operand.getType()))
            needWhole(operand);
      });
}

} // namespace penstock::analysis
