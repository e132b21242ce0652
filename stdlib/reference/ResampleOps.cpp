// SPDX-License-Identifier: Apache-2.0
//
// Taps, weights, one pass of a resampling.
//
// Pillow's `precompute_coeffs` and `ImagingResampleHorizontal_8bpc`, written
// down once more, tap by tap.
#include "runtime/abi/scalar.h"
#include "stdlib/reference/Arithmetic.h"
#include "stdlib/reference/Machine.h"
#include <cmath>
#include <numbers>

namespace penstock::reference {

static double supportOf(pipe::Filter filter) {
  switch (filter) {
  case pipe::Filter::nearest:
    return 0;
  case pipe::Filter::box:
    return 0.5;
  case pipe::Filter::bilinear:
  case pipe::Filter::hamming:
    return 1;
  case pipe::Filter::bicubic:
    return 2;
  case pipe::Filter::lanczos:
    return 3;
  }
  return 0;
}

static double sinc(double x) {
  if (x == 0.0)
    return 1.0;
  x *= std::numbers::pi;
  return scalar::sine(x) / x;
}

/// Pillow takes its sines from libm, whose last bits differ between machines.
static double weightAt(pipe::Filter filter, double x) {
  switch (filter) {
  case pipe::Filter::nearest:
    return 1;
  case pipe::Filter::box:
    return x > -0.5 && x <= 0.5 ? 1 : 0;
  case pipe::Filter::bilinear:
    x = std::fabs(x);
    return x < 1 ? 1 - x : 0;
  case pipe::Filter::hamming:
    x = std::fabs(x);
    if (x == 0)
      return 1;
    if (x >= 1)
      return 0;
    x *= std::numbers::pi;
    return scalar::sine(x) / x * (0.54f + 0.46f * scalar::sine(x, 1)); // f32 in Pillow too
  case pipe::Filter::bicubic: {
    const double a = -0.5;
    x = std::fabs(x);
    if (x < 1)
      return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
  }
  case pipe::Filter::lanczos:
    return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
  return 0;
}

static double filterScale(int64_t in, int64_t out, bool antialias) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  return antialias && scale > 1 ? scale : 1;
}

static int64_t tapCount(pipe::Filter filter, int64_t in, int64_t out, bool antialias) {
  if (filter == pipe::Filter::nearest)
    return 1;
  const double support = supportOf(filter) * filterScale(in, out, antialias);
  const double width = support + support, slack = static_cast<double>(in + 1) * scalar::tapSlack;
  return std::min(in, static_cast<int64_t>(std::ceil(width + slack)));
}

void runTaps(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::TapsOp>(self.op);
  const int64_t in = machine.integer(slot, op.getIn()), out = machine.integer(slot, op.getOut());
  if (in <= 0 || out <= 0)
    fault(op, "resamples " + std::to_string(in) + " elements to " + std::to_string(out));
  slot.values[self.results[0]] = intScalar(tapCount(op.getFilter(), in, out, op.getAntialias()));
}

void runWeights(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::WeightsOp>(self.op);
  Tensor weights = machine.blank(slot, op.getWeights());
  Tensor start = machine.blank(slot, op.getStart());
  const int64_t in = machine.integer(slot, op.getIn()), out = machine.integer(slot, op.getOut());
  if (in <= 0 || out <= 0)
    fault(op, "resamples " + std::to_string(in) + " elements to " + std::to_string(out));
  const int64_t taps = tapCount(op.getFilter(), in, out, op.getAntialias());
  if (weights.extents != std::vector<int64_t>{out, taps} || start.extents.front() != out)
    fault(op,
          "the results need the extents " + std::to_string(out) + " and " + std::to_string(taps));

  const double step = static_cast<double>(in) / static_cast<double>(out);
  const double scale = filterScale(in, out, op.getAntialias());
  const double support = supportOf(op.getFilter()) * scale;
  for (int64_t o = 0; o < out; ++o) {
    const double center = (static_cast<double>(o) + 0.5) * step;
    int64_t first = 0;
    std::vector<double> row;
    if (op.getFilter() == pipe::Filter::nearest) {
      first = std::min(static_cast<int64_t>(center), in - 1);
      row = {1};
    } else {
      first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
      const int64_t end = std::min(static_cast<int64_t>(center + support + 0.5), in);
      double sum = 0;
      for (int64_t k = 0; k < end - first; ++k) {
        row.push_back(weightAt(op.getFilter(),
                               (static_cast<double>(k + first) - center + 0.5) * (1 / scale)));
        sum += row.back();
      }
      if (sum != 0)
        for (double &weight : row)
          weight /= sum;
    }
    // Every window lies inside the input.
    const int64_t begin = std::min(first, in - taps);
    start.store(o, intScalar(begin, DType::i32));
    for (size_t k = 0; k < row.size(); ++k) {
      const int64_t at = o * taps + static_cast<int64_t>(k) + (first - begin);
      weights.store(at, weights.type == DType::f64
                            ? realScalar(row[k])
                            : intScalar(scalar::floatToInt<int32_t>(
                                            scalar::roundAway(row[k] * (1 << scalar::weightBits))),
                                        DType::i32));
    }
  }
  machine.set(slot, op.getWeights(), std::move(weights));
  machine.set(slot, op.getStart(), std::move(start));
}

//===--- one pass ----------------------------------------------------------===//

static Scalar pillowSum(const Tensor &input, std::vector<int64_t> &index, size_t axis,
                        const Tensor &weights, int64_t o) {
  int64_t sum = int64_t{1} << (scalar::weightBits - 1);
  for (int64_t k = 0; k < weights.extents[1]; ++k, ++index[axis])
    sum +=
        weights.load(o * weights.extents[1] + k).integer * input.load(input.offset(index)).integer;
  return intScalar(std::clamp<int64_t>(sum >> scalar::weightBits, 0, 255), DType::u8);
}

static Scalar exactSum(const Tensor &input, std::vector<int64_t> &index, size_t axis,
                       const Tensor &weights, int64_t o) {
  double sum = 0;
  for (int64_t k = 0; k < weights.extents[1]; ++k, ++index[axis])
    sum += weights.load(o * weights.extents[1] + k).real *
           cast(pipe::CastMode::value, input.load(input.offset(index)), DType::f64).real;
  if (!isFloat(input.type))
    sum = scalar::roundAway(sum);
  return cast(pipe::CastMode::value, realScalar(sum), input.type);
}

void runResample(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ResampleOp>(self.op);
  const Tensor &input = machine.tensor(slot, op.getInput());
  const Tensor &weights = machine.tensor(slot, op.getWeights());
  const Tensor &start = machine.tensor(slot, op.getStart());
  Tensor result = machine.blank(slot, op.getResult());
  const auto axis = static_cast<size_t>(input.axis(op.getAxis().str()));
  const bool pillow = op.getNumerics() == pipe::Numerics::pillow;
  for (size_t i = 0; i < input.extents.size(); ++i)
    if (result.extents[i] != (i == axis ? weights.extents[0] : input.extents[i]))
      fault(op, "the result has another extent along `" + input.axes[i] + "`");

  int64_t element = 0;
  forEachIndex(result.extents, [&](const std::vector<int64_t> &index) {
    const int64_t o = index[axis];
    std::vector<int64_t> from = index;
    from[axis] = start.load(o).integer;
    if (from[axis] < 0 || from[axis] + weights.extents[1] > input.extents[axis])
      fault(op, "element " + std::to_string(o) + " reads past the input");
    result.store(element++, pillow ? pillowSum(input, from, axis, weights, o)
                                   : exactSum(input, from, axis, weights, o));
  });
  machine.set(slot, op.getResult(), std::move(result));
}

} // namespace penstock::reference
