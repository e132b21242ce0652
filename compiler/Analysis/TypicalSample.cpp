// SPDX-License-Identifier: Apache-2.0
//
// A sample that is imagined, to learn what samples cost.
//
// Draws are drawn and branches taken, so that the mean over some samples has each arm as often as
// it runs, which no mean of draws would give.
#include "compiler/Analysis/TypicalSample.h"
#include "compiler/Dialect/Filters.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

//===--- numbers and attributes --------------------------------------------===//

static Attribute numberOf(Type type, double value) {
  if (auto real = llvm::dyn_cast<FloatType>(type)) {
    APFloat number(value);
    bool loses = false;
    number.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven, &loses);
    return FloatAttr::get(type, number);
  }
  if (!llvm::isa<IntegerType>(type) || std::isnan(value))
    return {};
  constexpr double most = 0x1p62; // far from where numbers overflow, whatever a text says
  return IntegerAttr::get(
      type, APInt(type.getIntOrFloatBitWidth(),
                  static_cast<uint64_t>(static_cast<int64_t>(std::clamp(value, -most, most)))));
}

/// More turns of a loop are not imagined: what it leaves is not known then.
static constexpr int64_t mostTurns = 1'000;

static std::optional<double> doubleOf(Attribute attribute) {
  if (auto real = llvm::dyn_cast_if_present<FloatAttr>(attribute))
    return real.getValueAsDouble();
  if (auto integer = llvm::dyn_cast_if_present<IntegerAttr>(attribute))
    return static_cast<double>(integer.getType().isUnsignedInteger()
                                   ? static_cast<int64_t>(integer.getValue().getZExtValue())
                                   : integer.getValue().getSExtValue());
  return std::nullopt;
}

Attribute TypicalSample::valueOf(Value scalar) const {
  if (Attribute value = known.lookup(scalar))
    return value;
  auto constant = scalar.getDefiningOp<ConstantOp>();
  return constant ? Attribute(constant.getValue()) : Attribute();
}

std::optional<int64_t> TypicalSample::integerOf(Value scalar) const {
  auto value = llvm::dyn_cast_if_present<IntegerAttr>(valueOf(scalar));
  if (!value)
    return std::nullopt;
  return isBool(value.getType()) ? int64_t(value.getValue().getBoolValue())
                                 : value.getValue().getSExtValue();
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), the upper 53 bits.
double TypicalSample::uniform() {
  uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  const auto drawn = static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  return isOpposite ? 1 - 0x1p-53 - drawn : drawn;
}

//===--- extents -----------------------------------------------------------===//

Value TypicalSample::chosen(Value tensor) const {
  while (auto which = tensor.getDefiningOp<SwitchOp>()) {
    const int64_t last = static_cast<int64_t>(which.getInputs().size()) - 1;
    tensor = which.getInputs()[static_cast<unsigned>(
        std::clamp<int64_t>(integerOf(which.getIndex()).value_or(0), 0, last))];
  }
  return tensor;
}

Block &TypicalSample::armOf(ChooseOp choose) const {
  const int64_t last = static_cast<int64_t>(choose.getArms().size()) - 1;
  return choose
      .getArms()[static_cast<unsigned>(
          std::clamp<int64_t>(integerOf(choose.getIndex()).value_or(0), 0, last))]
      .front();
}

/// Among the sizes of an op, that of an axis of one of its results.
static Value sizeOf(SizedOpInterface op, Value result, size_t axis) {
  size_t at = 0;
  for (Value other : op->getResults()) {
    auto type = llvm::dyn_cast<NamedTensorType>(other.getType());
    for (size_t i = 0; type && i < type.getAxes().size(); ++i) {
      if (type.getAxes()[i].isStatic())
        continue;
      if (other == result && i == axis)
        return at < op.getSizes().size() ? Value(op.getSizes()[at]) : Value();
      ++at;
    }
  }
  return {};
}

double TypicalSample::extentOf(Value tensor, size_t axis) const {
  tensor = chosen(tensor);
  const Axis &wanted = llvm::cast<NamedTensorType>(tensor.getType()).getAxes()[axis];
  if (wanted.isStatic())
    return static_cast<double>(wanted.extent);
  auto bounded = [&](double extent) {
    return wanted.bound < 0 ? extent : std::min(extent, static_cast<double>(wanted.bound));
  };
  if (auto found = extents.find(tensor); found != extents.end())
    return bounded(found->second[axis]);
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return bounded(data.extent);
  if (auto sized = llvm::dyn_cast<SizedOpInterface>(op))
    if (Value size = sizeOf(sized, tensor, axis))
      return bounded(static_cast<double>(
          std::max<int64_t>(0, integerOf(size).value_or(static_cast<int64_t>(data.extent)))));
  for (Value operand : op->getOperands())
    if (auto type = llvm::dyn_cast<NamedTensorType>(operand.getType()))
      if (const int64_t at = type.axisIndex(wanted.name); at >= 0)
        return bounded(extentOf(operand, static_cast<size_t>(at)));
  return bounded(data.extent);
}

double TypicalSample::elementsOf(Value tensor) const {
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  double elements = 1;
  for (size_t axis = 0; axis < type.getAxes().size(); ++axis)
    elements *= extentOf(tensor, axis);
  return elements;
}

double TypicalSample::bytesOf(Value tensor) const {
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  return elementsOf(tensor) * static_cast<double>(scalarBytes(type.getElementType()));
}

//===--- scalars -----------------------------------------------------------===//

Attribute TypicalSample::draw(DrawOp op) {
  SmallVector<double> arguments;
  for (Value value : op.getArgs()) {
    const auto number = doubleOf(valueOf(value));
    if (!number)
      return {};
    arguments.push_back(*number);
  }
  switch (op.getKind()) {
  case DrawKind::bits:
    return numberOf(op.getType(), std::ldexp(uniform() - 0.5, 63));
  case DrawKind::uniform:
    return numberOf(op.getType(), arguments[0] + uniform() * (arguments[1] - arguments[0]));
  case DrawKind::integer:
    return numberOf(op.getType(),
                    arguments[0] +
                        std::floor(uniform() * std::max(0.0, arguments[1] - arguments[0])));
  case DrawKind::permutation:
    return numberOf(op.getType(), std::floor(uniform() * std::max(0.0, arguments[0])));
  }
  return {};
}

Attribute TypicalSample::headerOf(ProbeOp op) const {
  const auto found = data.header.find((op.getMedia() + "." + op.getNumber()).str());
  return found == data.header.end() ? Attribute() : numberOf(op.getType(), found->second);
}

Attribute TypicalSample::loaded(LoadOp op) const {
  auto constant = op.getTensor().getDefiningOp<ConstantOp>();
  if (!constant)
    return {};
  auto elements = llvm::cast<DenseElementsAttr>(constant.getValue());
  SmallVector<uint64_t> at;
  for (auto [index, extent] : llvm::zip(op.getIndices(), elements.getType().getShape())) {
    const auto place = integerOf(index);
    if (!place || extent == 0)
      return {};
    at.push_back(static_cast<uint64_t>(std::clamp<int64_t>(*place, 0, extent - 1)));
  }
  return elements.getValues<Attribute>()[at];
}

void TypicalSample::search(SearchOp op) {
  Block &body = op.getBody().front();
  const int64_t tries = std::min(static_cast<int64_t>(op.getTries()), mostTurns);
  for (int64_t attempt = 0; attempt < tries; ++attempt) {
    known[body.getArgument(0)] = numberOf(body.getArgument(0).getType(), double(attempt));
    runAll(body);
    auto accept = llvm::cast<AcceptOp>(body.getTerminator());
    if (integerOf(accept.getCondition()).value_or(1) != 0) {
      for (auto [result, value] : llvm::zip(op.getResults(), accept.getValues()))
        known[result] = valueOf(value);
      return;
    }
  }
  Block &otherwise = op.getOtherwise().front();
  runAll(otherwise);
  for (auto [result, value] : llvm::zip(op.getResults(), otherwise.getTerminator()->getOperands()))
    known[result] = valueOf(value);
}

void TypicalSample::repeat(RepeatOp op) {
  Block &body = op.getBody().front();
  const int64_t bound = static_cast<int64_t>(op.getBound());
  const int64_t count = std::clamp<int64_t>(integerOf(op.getCount()).value_or(bound), 0, bound);
  if (count > mostTurns) {
    for (Value result : op.getResults())
      known.erase(result);
    return;
  }
  SmallVector<Attribute> carried;
  for (Value init : op.getInits())
    carried.push_back(valueOf(init));
  for (int64_t turn = 0; turn < count; ++turn) {
    known[body.getArgument(0)] = numberOf(body.getArgument(0).getType(), double(turn));
    for (auto [argument, value] : llvm::zip(body.getArguments().drop_front(), carried))
      known[argument] = value;
    runAll(body);
    for (auto [value, next] : llvm::zip(carried, body.getTerminator()->getOperands()))
      value = valueOf(next);
  }
  for (auto [result, value] : llvm::zip(op.getResults(), carried))
    known[result] = value;
}

void TypicalSample::fold(Operation &op) {
  SmallVector<Attribute> operands;
  for (Value operand : op.getOperands())
    operands.push_back(valueOf(operand));
  SmallVector<OpFoldResult> results;
  if (llvm::is_contained(operands, Attribute()) || failed(op.fold(operands, results)) ||
      results.size() != op.getNumResults()) {
    for (Value result : op.getResults())
      known.erase(result); // of the sample's last turn through a loop
    return;
  }
  for (auto [result, folded] : llvm::zip(op.getResults(), results))
    known[result] = llvm::isa<Attribute>(folded) ? llvm::cast<Attribute>(folded)
                                                 : valueOf(llvm::cast<Value>(folded));
}

void TypicalSample::run(Operation &op) {
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](ConstantOp) {})
      .Case([&](EntryOp entry) { known[entry] = entries.lookup(entry.getIndex()); })
      .Case([&](SetEntryOp entry) {
        if (Attribute value = valueOf(entry.getValue()))
          entries[entry.getIndex()] = value;
      })
      .Case([&](ParamOp param) { known[param] = param.getDefaultValue().value_or(Attribute()); })
      .Case([&](ProbeOp probe) { known[probe] = headerOf(probe); })
      .Case([&](LengthOp length) { known[length] = numberOf(length.getType(), data.rows); })
      .Case([&](RowIndexOp place) {
        known[place] = numberOf(place.getType(), std::floor(uniform() * data.rows));
      })
      .Case([&](FieldExtentOp extent) { known[extent] = numberOf(extent.getType(), data.extent); })
      .Case([&](ContextOp context) {
        known[context] = numberOf(context.getType(), context.getKind() == ContextKind::count
                                                         ? batch
                                                         : std::floor(uniform() * batch));
      })
      .Case([&](ExtentOp extent) {
        const int64_t axis =
            llvm::cast<NamedTensorType>(extent.getTensor().getType()).axisIndex(extent.getAxis());
        known[extent] = numberOf(extent.getType(), extentOf(extent.getTensor(), size_t(axis)));
      })
      .Case([&](DrawOp drawn) { known[drawn] = draw(drawn); })
      .Case([&](LoadOp load) { known[load] = loaded(load); })
      .Case([&](TapsOp taps) {
        const auto in = integerOf(taps.getIn()), out = integerOf(taps.getOut());
        known[taps] =
            in && out && *in > 0 && *out > 0
                ? numberOf(taps.getType(),
                           double(tapCount(taps.getFilter(), *in, *out, taps.getAntialias())))
                : Attribute();
      })
      .Case([&](SearchOp found) { search(found); })
      .Case([&](RepeatOp loop) {
        if (!touchesTensors(loop))
          repeat(loop);
      })
      .Case([&](ChooseOp choose) {
        if (touchesTensors(choose))
          return;
        Block &arm = armOf(choose);
        runAll(arm);
        for (auto [result, value] :
             llvm::zip(choose.getResults(), arm.getTerminator()->getOperands()))
          known[result] = valueOf(value);
      })
      .Case([&](BatchOp inner) {
        const auto size = integerOf(inner.getSize());
        batch = size && !inner.getBuckets() ? std::max(1.0, double(*size)) : data.batch;
        runAll(inner.getBody().front());
      })
      .Default([&](Operation *other) {
        if (other->getNumRegions() == 0 && !touchesTensors(other))
          fold(*other);
      });
}

void TypicalSample::runAll(Block &block) {
  for (Operation &op : block)
    run(op);
}

//===--- a sample ----------------------------------------------------------===//

TypicalSample::TypicalSample(ModuleOp module, const TypicalData &assumed, int number)
    : data(assumed), state(static_cast<uint64_t>(number / 2) << 32), isOpposite(number % 2),
      batch(assumed.batch) {
  // Values of the runtime go before select and setup; what the pipeline reads of them, after.
  auto runPipelines = [&] {
    for (auto pipeline : module.getOps<PipelineOp>())
      runAll(pipeline.getBody().front());
  };
  runPipelines();
  for (StringRef kind : {"select", "setup"})
    for (auto kernel : module.getOps<KernelOp>())
      if (kernel.getKind() == kind)
        runAll(kernel.getBody().front());
  runPipelines();
}

void TypicalSample::enter(KernelOp kernel, LaunchOp launch) {
  Block &body = kernel.getBody().front();
  SmallVector<SmallVector<double>> ofTensors;
  for (Value tensor : launch.getTensors()) {
    auto &axes = ofTensors.emplace_back();
    const auto type = llvm::cast<NamedTensorType>(tensor.getType());
    for (size_t axis = 0; axis < type.getAxes().size(); ++axis)
      axes.push_back(extentOf(tensor, axis));
  }
  for (auto [argument, axes] : llvm::zip(body.getArguments(), ofTensors))
    extents[argument] = axes;
  for (auto [argument, scalar] :
       llvm::zip(body.getArguments().drop_front(launch.getTensors().size()), launch.getScalars()))
    known[argument] = valueOf(scalar);
}

} // namespace penstock::analysis
