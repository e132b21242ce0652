// SPDX-License-Identifier: Apache-2.0
//
// Classes P, H and G: a region per element.
#include "stdlib/reference/Arithmetic.h"
#include "stdlib/reference/Machine.h"
#include <cmath>

namespace penstock::reference {

/// Puts the coordinates into the region's arguments from `first` on.
static void passIndex(Slot &slot, const Block &block, size_t first,
                      const std::vector<int64_t> &index) {
  for (size_t axis = 0; axis < index.size(); ++axis)
    slot.values[block.arguments[first + axis]] = intScalar(index[axis]);
}

//===--- map ---------------------------------------------------------------===//

void runMap(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::MapOp>(self.op);
  const Block &block = self.regions[0];
  Tensor result = machine.blank(slot, op.getResult());

  // Where each axis of an input stands in the result: broadcasting is by name.
  struct Input {
    TensorRef tensor;
    std::vector<size_t> axes;
  };
  std::vector<Input> inputs;
  for (mlir::Value value : op.getInputs()) {
    machine.tensor(slot, value);
    Input input{std::get<TensorRef>(machine.value(slot, value)), {}};
    for (size_t i = 0; i < input.tensor->axes.size(); ++i) {
      const int64_t axis = result.axis(input.tensor->axes[i]);
      if (axis < 0 || input.tensor->extents[i] != result.extents[static_cast<size_t>(axis)])
        fault(op, "an input has another extent along `" + input.tensor->axes[i] + "`");
      input.axes.push_back(static_cast<size_t>(axis));
    }
    inputs.push_back(std::move(input));
  }

  int64_t element = 0;
  forEachIndex(result.extents, [&](const std::vector<int64_t> &index) {
    if (slot.failed())
      return;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor &tensor = *inputs[i].tensor;
      int64_t from = 0;
      for (size_t axis = 0; axis < inputs[i].axes.size(); ++axis)
        from = from * tensor.extents[axis] + index[inputs[i].axes[axis]];
      slot.values[block.arguments[i]] = tensor.load(from);
    }
    passIndex(slot, block, inputs.size(), index);
    machine.run(block, slot);
    if (!slot.failed())
      result.store(element++, scalarIn(slot, block.results[0]));
  });
  machine.set(slot, op.getResult(), std::move(result));
}

//===--- window ------------------------------------------------------------===//

void runWindow(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::WindowOp>(self.op);
  const Block &block = self.regions[0];
  const Tensor &input = machine.tensor(slot, op.getInput());
  Tensor result = machine.blank(slot, op.getResult());
  if (result.extents != input.extents)
    fault(op, "the sizes differ from the input's extents");
  const std::vector<int64_t> over = axesOf(input, op.getOver());
  std::vector<int64_t> spans;
  for (auto [low, high] : llvm::zip(op.getLow(), op.getHigh()))
    spans.push_back(high - low + 1);
  const Scalar fill = op.getFill() ? machine.scalar(slot, op.getFill()) : Scalar();

  int64_t element = 0;
  forEachIndex(result.extents, [&](const std::vector<int64_t> &index) {
    size_t argument = 0;
    forEachIndex(spans, [&](const std::vector<int64_t> &neighbour) {
      std::vector<int64_t> from = index;
      bool outside = false;
      for (size_t k = 0; k < over.size(); ++k) {
        int64_t &i = from[static_cast<size_t>(over[k])];
        i = borderIndex(op.getBorder(), i + op.getLow()[k] + neighbour[k],
                        input.extents[static_cast<size_t>(over[k])]);
        outside |= i < 0;
      }
      slot.values[block.arguments[argument++]] = outside ? fill : input.load(input.offset(from));
    });
    passIndex(slot, block, argument, index);
    machine.run(block, slot);
    result.store(element++, scalarIn(slot, block.results[0]));
  });
  machine.set(slot, op.getResult(), std::move(result));
}

//===--- gather ------------------------------------------------------------===//

namespace {
/// One axis of a gather: elements first, first + 1, ... and where the
/// coordinate lies between them.
struct Taps {
  int64_t first;
  int count;
  double fraction;
};
} // namespace

static Taps tapsOf(pipe::Interpolation interpolation, double coordinate) {
  auto whole = [](double x) {
    return cast(pipe::CastMode::value, realScalar(std::floor(x)), DType::i64).integer;
  };
  if (interpolation == pipe::Interpolation::nearest)
    return {whole(coordinate), 1, 0};
  const double x = coordinate - 0.5;
  const double fraction = x - std::floor(x);
  // Far outside, so that the neighbours' numbers do not wrap around.
  const int64_t i = std::clamp<int64_t>(whole(x), INT64_MIN / 2, INT64_MAX / 2);
  if (interpolation == pipe::Interpolation::linear)
    return {i, 2, fraction};
  return {i - 1, 4, fraction};
}

static double blend(const double *v, const Taps &taps) {
  const double d = taps.fraction;
  if (taps.count == 1)
    return v[0];
  if (taps.count == 2)
    return v[0] + (v[1] - v[0]) * d;
  const double p2 = v[2] - v[0];
  const double p3 = 2 * (v[0] - v[1]) + v[2] - v[3];
  const double p4 = v[1] - v[0] - v[2] + v[3];
  return v[1] + d * (p2 + d * (p3 + d * p4));
}

namespace {
/// One element of a gather's result.
struct Sampler {
  const Tensor &input;
  pipe::Border border; // of the indices
  const std::vector<int64_t> &over;
  const std::vector<Taps> &taps;

  /// Interpolates along over[k], over[k + 1] ...; the last axis is innermost.
  double at(std::vector<int64_t> &index, size_t k) const {
    if (k == over.size())
      return toReal(input.load(input.offset(index)));
    const auto axis = static_cast<size_t>(over[k]);
    double values[4];
    for (int t = 0; t < taps[k].count; ++t) {
      index[axis] = borderIndex(border, taps[k].first + t, input.extents[axis]);
      values[t] = at(index, k + 1);
    }
    return blend(values, taps[k]);
  }

  static double toReal(const Scalar &value) {
    return isFloat(value.type) ? value.real : static_cast<double>(value.integer);
  }
};
} // namespace

void runGather(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::GatherOp>(self.op);
  const Block &block = self.regions[0];
  const Tensor &input = machine.tensor(slot, op.getInput());
  Tensor result = machine.blank(slot, op.getResult());
  const std::vector<int64_t> over = axesOf(input, op.getOver());
  const llvm::SmallVector<int64_t> readAt = op.readAt();
  const bool constant = op.getBorder() == pipe::Border::constant;
  const bool nearest = op.getInterpolation() == pipe::Interpolation::nearest;
  const Scalar fill = op.getFill() ? machine.scalar(slot, op.getFill()) : Scalar();
  if (input.count() == 0 && result.count() != 0 && !constant)
    fault(op, "samples a tensor without elements");

  int64_t element = 0;
  forEachIndex(result.extents, [&](const std::vector<int64_t> &index) {
    passIndex(slot, block, 0, index);
    machine.run(block, slot);
    std::vector<Taps> taps;
    bool outside = false;
    for (size_t k = 0; k < over.size(); ++k) {
      const double coordinate = scalarIn(slot, block.results[k]).real;
      const auto extent = static_cast<double>(input.extents[static_cast<size_t>(over[k])]);
      outside |= !(coordinate >= 0 && coordinate < extent);
      taps.push_back(tapsOf(op.getInterpolation(), coordinate));
    }
    if (constant && outside) {
      result.store(element++, fill);
      return;
    }
    // Under `constant` the neighbours of a coordinate inside move to the edge.
    Sampler sampler{input, constant ? pipe::Border::edge : op.getBorder(), over, taps};
    std::vector<int64_t> from;
    for (int64_t own : readAt)
      from.push_back(own < 0 ? 0 : index[static_cast<size_t>(own)]);
    if (nearest) {
      // Exact for every element type.
      for (size_t k = 0; k < over.size(); ++k) {
        const auto axis = static_cast<size_t>(over[k]);
        from[axis] = borderIndex(sampler.border, taps[k].first, input.extents[axis]);
      }
      result.store(element++, input.load(input.offset(from)));
      return;
    }
    result.store(element++,
                 cast(pipe::CastMode::value, realScalar(sampler.at(from, 0)), result.type));
  });
  machine.set(slot, op.getResult(), std::move(result));
}

} // namespace penstock::reference
