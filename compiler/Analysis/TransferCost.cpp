// SPDX-License-Identifier: Apache-2.0
//
// The costs of a transfer level.
#include "compiler/Analysis/TransferCost.h"
#include "compiler/Analysis/PointBody.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

/// Typical photos are 4:2:0: six samples for four pixels.
static constexpr double samplesOfElement = 0.5;
/// The share of upsampling and colour conversion in decoding to pixels (docs/rationale/device.md).
static constexpr double behindPlanes = 0.18;

double CutCosts::bytes() const {
  double sum = 0;
  for (const auto &[value, bytes] : crossing)
    sum += bytes;
  return sum;
}

namespace {

/// The costs of one sample.
class SampleCost {
public:
  SampleCost(ModuleOp module, TypicalSample &sample, CutCosts &costs)
      : symbols(module), sample(sample), costs(costs) {}
  void count(Block &block);

private:
  void decode(DecodeOp op);
  void launch(LaunchOp op);
  void output(OutputOp op);
  /// A tensor is needed on the GPU.
  void need(Value tensor);
  void needPlanes(DecodeOp op);
  double operationsIn(Block &block);
  double operationsOf(Operation &op);
  /// Bytes of a decode's region, or of all of another tensor.
  double bytesOf(Value tensor);
  bool isOnGpu(Value tensor) { return onGpu.contains(tensor.getDefiningOp()); }

  SymbolTable symbols;
  TypicalSample &sample;
  CutCosts &costs;
  llvm::DenseSet<Operation *> onGpu; ///< launches
  llvm::DenseSet<Value> crossed;
};

} // namespace

//===--- what crosses ------------------------------------------------------===//

double SampleCost::bytesOf(Value tensor) {
  auto decode = tensor.getDefiningOp<DecodeOp>();
  if (!decode || !decode.getOver())
    return sample.bytesOf(tensor);
  const auto type = llvm::cast<NamedTensorType>(tensor.getType());
  const auto over = decode.getOver()->getAsValueRange<StringAttr>();
  const size_t count = size_t(llvm::range_size(over));
  double bytes = static_cast<double>(scalarBytes(type.getElementType()));
  for (size_t axis = 0; axis < type.getAxes().size(); ++axis) {
    const auto found = llvm::find(over, type.getAxes()[axis].name);
    const auto at = static_cast<unsigned>(std::distance(over.begin(), found));
    const double all = sample.extentOf(tensor, axis);
    std::optional<int64_t> low, high;
    if (found != over.end()) {
      low = sample.integerOf(decode.getRegion()[at]);
      high = sample.integerOf(decode.getRegion()[static_cast<unsigned>(at + count)]);
    }
    bytes *= low && high ? std::clamp(static_cast<double>(*high - *low), 0.0, all) : all;
  }
  return bytes;
}

void SampleCost::need(Value tensor) {
  tensor = sample.chosen(tensor);
  if (auto peer = tensor.getDefiningOp<PeerOp>())
    return need(peer.getValue()); // of another sample, which costs what this one does
  if (auto peers = tensor.getDefiningOp<PeersOp>())
    return need(peers.getValue());
  if (isOnGpu(tensor) ||
      !llvm::isa_and_present<LaunchOp, DecodeOp, FieldOp>(tensor.getDefiningOp()) ||
      !crossed.insert(tensor).second)
    return;
  auto decode = tensor.getDefiningOp<DecodeOp>();
  if (decode && decode.getPlanes())
    needPlanes(decode);
  else
    costs.crossing[tensor] += bytesOf(tensor);
}

void SampleCost::needPlanes(DecodeOp op) {
  const double elements = bytesOf(op); // three of a pixel, whose chroma is upsampled once
  auto kernel = symbols.lookup<KernelOp>(*op.getPlanes());
  auto map =
      llvm::cast<MapOp>(kernel.getBody().front().getTerminator()->getOperand(0).getDefiningOp());
  costs.crossing[op] += samplesOfElement * elements;
  costs.gpuOperations += elements / 3 * (1 + static_cast<double>(costOf(map.getBody().front())));
  costs.gpuBytes += (1 + samplesOfElement) * elements;
}

void SampleCost::output(OutputOp op) {
  if (!llvm::isa<NamedTensorType>(op.getValue().getType()))
    return;
  const Value tensor = sample.chosen(op.getValue());
  if (op.getPlacement() == Place::gpu)
    need(tensor);
  else if (isOnGpu(tensor))
    costs.bytesBack += sample.bytesOf(tensor);
}

//===--- work --------------------------------------------------------------===//

void SampleCost::decode(DecodeOp op) {
  const auto type = llvm::cast<NamedTensorType>(op.getType());
  const double elements = bytesOf(op) / static_cast<double>(scalarBytes(type.getElementType()));
  costs.decoded += elements;
  costs.inPlanes += op.getPlanes() ? elements : 0;
}

/// Of an op of a kernel, in units of an f32 addition.
double SampleCost::operationsOf(Operation &op) {
  if (op.getNumResults() == 0 || !llvm::isa<NamedTensorType>(op.getResult(0).getType()))
    return 0;
  const double made = sample.elementsOf(op.getResult(0));
  double read = 0;
  for (Value operand : op.getOperands())
    if (llvm::isa<NamedTensorType>(operand.getType()))
      read = std::max(read, sample.elementsOf(operand));
  double each = 1; // of an element
  for (Region &region : op.getRegions())
    each += static_cast<double>(costOf(region.front()));
  auto extentAlong = [&](Value tensor, StringRef name) {
    const int64_t at = llvm::cast<NamedTensorType>(tensor.getType()).axisIndex(name);
    return at < 0 ? 1.0 : sample.extentOf(tensor, static_cast<size_t>(at));
  };
  auto sorting = [&] { return read * 4 * std::log2(read + 2); };
  return llvm::TypeSwitch<Operation *, double>(&op)
      .Case([&](ConstantOp) { return 0.0; })
      .Case([&](ResampleOp resample) {
        return made * (2 * sample.extentOf(resample.getWeights(), 1) + 2);
      })
      .Case(
          [&](ContractOp contract) { return made * 2 * sample.extentOf(contract.getMatrix(), 0); })
      .Case([&](FftOp fft) {
        return read * 5 * std::log2(extentAlong(fft.getValue(), fft.getAxis()) + 2);
      })
      .Case([&](SortOp) { return sorting(); })
      .Case([&](GroupOp) { return sorting(); })
      .Case([&](GatherOp) { return made * (each + 16); })
      .Case([&](ChooseOp choose) { return operationsIn(sample.armOf(choose)); })
      .Case([&](RepeatOp repeat) {
        const auto bound = static_cast<int64_t>(repeat.getBound());
        const int64_t turns = sample.integerOf(repeat.getCount()).value_or(bound);
        return static_cast<double>(std::clamp<int64_t>(turns, 0, bound)) *
               operationsIn(repeat.getBody().front());
      })
      .Default([&](Operation *other) {
        switch (inputAccessOf(other).value_or(InputAccess::own)) {
        case InputAccess::moved:
          return 0.0;
        case InputAccess::joined:
          return made;
        case InputAccess::once:
        case InputAccess::often:
          return read + made * each;
        case InputAccess::nothing:
        case InputAccess::own:
          return made * each;
        }
        return made;
      });
}

double SampleCost::operationsIn(Block &block) {
  double sum = 0;
  for (Operation &op : block) {
    sample.run(op);
    sum += operationsOf(op);
  }
  return sum;
}

void SampleCost::launch(LaunchOp op) {
  auto kernel = symbols.lookup<KernelOp>(op.getKernel());
  const bool gpu = isOfGpu(kernel);
  if (gpu)
    onGpu.insert(op);
  if (op.getGuard() && sample.integerOf(op.getGuard()).value_or(1) == 0)
    return;
  const double times = op.getOnce() ? 1 / sample.samplesOfBatch() : 1;
  sample.enter(kernel, op);
  const double operations = times * operationsIn(kernel.getBody().front());
  (gpu ? costs.gpuOperations : costs.hostOperations) += operations;
  if (!gpu) {
    costs.hostKernels += times;
    return;
  }
  for (Value tensor : op.getTensors()) {
    need(tensor);
    costs.gpuBytes += times * bytesOf(sample.chosen(tensor));
  }
  for (Value result : op.getResults())
    costs.gpuBytes += times * sample.bytesOf(result);
}

void SampleCost::count(Block &block) {
  for (Operation &op : block)
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](DecodeOp found) { decode(found); })
        .Case([&](LaunchOp found) { launch(found); })
        .Case([&](OutputOp found) { output(found); })
        .Case([&](BatchOp batch) { count(batch.getBody().front()); });
}

CutCosts costsOf(ModuleOp module, const TypicalData &data, int samples) {
  CutCosts costs;
  for (int number = 0; number < samples; ++number) {
    TypicalSample sample(module, data, number);
    costs.batch = sample.samplesOfBatch();
    for (auto pipeline : module.getOps<PipelineOp>())
      SampleCost(module, sample, costs).count(pipeline.getBody().front());
  }
  for (double *sum : {&costs.bytesBack, &costs.decoded, &costs.inPlanes, &costs.hostOperations,
                      &costs.gpuOperations, &costs.gpuBytes, &costs.hostKernels})
    *sum /= samples;
  for (auto &[value, bytes] : costs.crossing)
    bytes /= samples;
  costs.launches = launchesOf(module);
  return costs;
}

int64_t launchesOf(ModuleOp module) {
  SymbolTable symbols(module);
  int64_t alone = 0;
  llvm::DenseSet<uint64_t> groups;
  llvm::DenseSet<StringAttr> planes;
  module.walk([&](DecodeOp decode) {
    if (const auto kernel = decode.getPlanesAttr())
      planes.insert(kernel.getAttr());
  });
  module.walk([&](LaunchOp launch) {
    if (const auto group = launch.getGroup())
      groups.insert(*group);
    else
      alone += isOfGpu(symbols.lookup<KernelOp>(launch.getKernel()));
  });
  return alone + static_cast<int64_t>(groups.size() + planes.size());
}

//===--- time --------------------------------------------------------------===//

CutTimes timesOf(const CutCosts &costs, const MachineRates &rates) {
  CutTimes times;
  times.host = ((costs.decoded - behindPlanes * costs.inPlanes) / rates.decoded +
                costs.hostOperations / rates.hostOperations) /
               rates.threads;
  // There and back at once.
  times.bus = std::max(costs.bytes(), costs.bytesBack) / rates.busBytes;
  times.gpu =
      (std::max(costs.gpuOperations / rates.gpuOperations, costs.gpuBytes / rates.gpuBytes) +
       static_cast<double>(costs.launches) * rates.launch / costs.batch) /
      rates.gpuShare;
  return times;
}

size_t bestOf(ArrayRef<CutTimes> levels) {
  double fastest = levels.front().slowest();
  for (const CutTimes &times : levels)
    fastest = std::min(fastest, times.slowest());
  size_t best = levels.size();
  for (size_t number = 0; number < levels.size(); ++number)
    if (levels[number].slowest() <= fastest * 1.02 &&
        (best == levels.size() || levels[number].gpu < levels[best].gpu))
      best = number;
  return best;
}

} // namespace penstock::analysis
