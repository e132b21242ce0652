//===- RequiredRegions.cpp - what is needed of every value ----------------===//

#include "compiler/Analysis/RequiredRegions.h"
#include "compiler/Analysis/IntervalArithmetic.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

RequiredRegions::RequiredRegions(PipelineOp pipeline, OpBuilder &builder) : builder(builder) {
  visitBlock(pipeline.getBody().front());
}

void RequiredRegions::visitBlock(Block &block) {
  for (Operation &op : llvm::reverse(block))
    visit(&op);
}

/// The numbers of a whole axis.
static Interval numbers(Value value, int64_t axis, Interval interval, OpBuilder &builder,
                        ScalarBuilder &scalars) {
  if (!interval.isWhole())
    return interval;
  return {scalars.constant(0), extentValue(builder, value.getLoc(), value, axis)};
}

//===--- union over users and over arms -------------------------------------===//

static Value both(ScalarBuilder &scalars, Value a, Value b) {
  return a && b && a != b ? scalars.logicalAnd(a, b) : a ? a : b;
}

void RequiredRegions::need(Value tensor, const Box &box) { add(tensor, {box, when, byPeer}); }

void RequiredRegions::needWhole(Value tensor) { need(tensor, Box(tensorOf(tensor).getRank())); }

void RequiredRegions::add(Value tensor, const Need &more) {
  auto [at, fresh] = needs.insert({tensor, more});
  if (fresh)
    return;
  Need &mine = at->second;
  ScalarBuilder scalars(builder, tensor.getLoc());
  // Where only one of the two is read, the union is that one.
  auto refined = [&](Value whole, Value a, Value b) {
    if (mine.when == more.when)
      return whole;
    if (more.when)
      whole = scalars.select(more.when, whole, a);
    return mine.when ? scalars.select(mine.when, whole, b) : whole;
  };
  for (auto [axis, interval] : llvm::enumerate(mine.box)) {
    const Interval &other = more.box[axis];
    const bool covered = (interval.isWhole() && (other.isWhole() || !mine.when)) ||
                         (other.isWhole() && !more.when) ||
                         (mine.when == more.when && (interval.isWhole() || other.isWhole()));
    if (covered) {
      interval = {};
      continue;
    }
    const auto [low, high] = numbers(tensor, axis, interval, builder, scalars);
    const auto [lower, higher] = numbers(tensor, axis, other, builder, scalars);
    interval = {low == lower ? low : refined(scalars.min(low, lower), low, lower),
                high == higher ? high : refined(scalars.max(high, higher), high, higher)};
  }
  if (mine.when != more.when)
    mine.when = mine.when && more.when ? scalars.binary(BinaryKind::bit_or, mine.when, more.when)
                                       : Value();
  mine.byPeer |= more.byPeer;
}

bool RequiredRegions::isKnown(Value scalar) const {
  Operation *op = scalar.getDefiningOp();
  return op && op->getBlock() == builder.getInsertionBlock() &&
         op->isBeforeInBlock(&*builder.getInsertionPoint());
}

Need RequiredRegions::chosen(ChooseOp choose, ArrayRef<const Need *> arms, Value tensor) {
  ScalarBuilder scalars(builder, choose.getLoc());
  const Need &first = **llvm::find_if(arms, [](const Need *arm) { return arm; });
  Need result;
  const bool always =
      llvm::all_of(arms, [](const Need *arm) { return arm && !arm->when && !arm->byPeer; });
  if (!always)
    for (auto [number, arm] : llvm::enumerate(arms)) {
      if (!arm)
        continue;
      Value runs = scalars.isArm(choose.getIndex(), number, arms.size());
      Value reads = both(scalars, runs, arm->when);
      result.when =
          result.when ? scalars.binary(BinaryKind::bit_or, result.when, reads) : reads;
    }
  result.when = both(scalars, when, result.when);
  result.byPeer = byPeer;
  for (size_t axis = 0; axis < first.box.size(); ++axis) {
    if (llvm::all_of(arms, [&](const Need *arm) { return !arm || arm->box[axis].isWhole(); })) {
      result.box.push_back({});
      continue;
    }
    SmallVector<Value> low, high;
    for (const Need *arm : arms) {
      const Interval interval =
          numbers(tensor, axis, (arm ? *arm : first).box[axis], builder, scalars);
      low.push_back(interval.low);
      high.push_back(interval.high);
    }
    result.box.push_back({scalars.selectByIndex(choose.getIndex(), low),
                          scalars.selectByIndex(choose.getIndex(), high)});
  }
  return result;
}

// Inside an arm, conditions are those of the sample given that the arm runs;
// they get the arm's own when the arm is left.
void RequiredRegions::visitArms(ChooseOp choose) {
  const Value outerWhen = when;
  const bool outerPeer = byPeer;
  llvm::MapVector<Value, SmallVector<const Need *>> found;
  SmallVector<llvm::MapVector<Value, Need>> arms;
  llvm::MapVector<Value, Need> outer = std::move(needs);
  for (Region &arm : choose.getArms()) {
    needs.clear();
    when = {};
    byPeer = false;
    for (auto [i, value] : llvm::enumerate(arm.front().getTerminator()->getOperands()))
      if (auto wanted = outer.find(choose.getResult(i)); wanted != outer.end())
        need(value, wanted->second.box);
    visitBlock(arm.front());
    arms.push_back(std::move(needs));
  }
  needs = std::move(outer);
  when = outerWhen;
  byPeer = outerPeer;
  for (auto [number, arm] : llvm::enumerate(arms))
    for (auto &[tensor, wanted] : arm) {
      auto &entry = found[tensor];
      entry.resize(arms.size());
      entry[number] = &wanted;
    }
  const bool decided = isKnown(choose.getIndex());
  for (auto &[tensor, entry] : found) {
    const bool peers = llvm::any_of(entry, [](const Need *arm) { return arm && arm->byPeer; });
    if (decided && !peers) {
      add(tensor, chosen(choose, entry, tensor));
      continue;
    }
    for (const Need *arm : entry)
      if (arm)
        add(tensor, {arm->box, peers ? Value() : when, peers || byPeer});
  }
}

//===--- what each op reads --------------------------------------------------===//

Box RequiredRegions::viewed(ViewOp view, const Box &box) {
  ScalarBuilder scalars(builder, view.getLoc());
  SmallVector<Interval> dims;
  for (auto [axis, interval] : llvm::enumerate(box))
    dims.push_back(numbers(view.getResult(), axis, interval, builder, scalars));
  if (!llvm::all_of(view.getSymbols(), [&](Value symbol) { return isKnown(symbol); }))
    return Box(view.getMap().getNumResults());
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
  const Need *found = nullptr;
  when = {};
  byPeer = false;
  for (Value result : op->getResults())
    if (const Need *wanted = needOf(result)) {
      // Of several results, those that are read together with the first.
      when = !found || when == wanted->when ? wanted->when : Value();
      byPeer |= wanted->byPeer;
      found = found ? found : wanted;
    }
  if (!found && op->getNumResults() != 0 && isPure(op))
    return; // nothing reads it
  const bool whole = !found && op->getNumResults() == 1 &&
                     llvm::isa<NamedTensorType>(op->getResult(0).getType());
  const Box box = found ? found->box : Box(whole ? tensorOf(op->getResult(0)).getRank() : 0);
  // Tables that a region reads at computed indices, and what the body of a
  // repeat reads: its scalars differ from iteration to iteration.
  if (!llvm::isa<ChooseOp>(op)) {
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    if (op->walk([](Operation *inner) {
            return classOf(inner) == OpClass::peer ? WalkResult::interrupt() : WalkResult::advance();
          }).wasInterrupted()) {
      when = {};
      byPeer = true;
    }
    for (Value value : captured)
      if (llvm::isa<NamedTensorType>(value.getType()))
        needWhole(value);
  }
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
        Box result;
        for (int64_t own : gather.readAt())
          result.push_back(own < 0 ? Interval() : box[own]);
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
      .Case([&](ChooseOp choose) { visitArms(choose); })
      .Case<YieldOp>([](auto) {})
      .Default([&](Operation *other) {
        for (Value operand : other->getOperands())
          if (llvm::isa<NamedTensorType>(operand.getType()))
            needWhole(operand);
      });
}

} // namespace penstock::analysis
