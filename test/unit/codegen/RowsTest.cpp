// SPDX-License-Identifier: Apache-2.0
//
// Two-pass resampling row by row, against plain loops: every level, 1 to 4
// channels, widths about the blocks, few and many taps, both directions.

#include "test/unit/codegen/JitModule.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace penstock;
using test::JitModule;
using test::TensorArg;

namespace {

struct Axis {
  int64_t in, out, taps;
  std::vector<int32_t> weights, start;
};

/// Taps as a filter of `scale` would have them, some of them zero or negative,
/// so that results leave the range of a byte.
Axis axisOf(int64_t in, int64_t out, int64_t taps, bool mirrored, std::mt19937 &random) {
  Axis axis{in, out, std::min(taps, in), {}, {}};
  for (int64_t o = 0; o < out; ++o) {
    const int64_t from = mirrored ? out - 1 - o : o;
    const int64_t center = (2 * from + 1) * in / (2 * out);
    axis.start.push_back(
        static_cast<int32_t>(std::clamp<int64_t>(center - axis.taps / 2, 0, in - axis.taps)));
    std::vector<int32_t> row(static_cast<size_t>(axis.taps), 0);
    int32_t rest = 1 << 22;
    // Zeros in front and behind, as at the borders of an axis.
    const auto first = static_cast<int64_t>(random() % 4 == 0 && axis.taps > 1);
    const auto last = axis.taps - static_cast<int64_t>(random() % 2 == 0 && axis.taps > 2);
    for (int64_t k = first; k < last; ++k) {
      const int32_t share = (1 << 19) / static_cast<int32_t>(axis.taps); // sums stay below 2^31
      const int32_t weight =
          k + 1 == last ? rest
                        : static_cast<int32_t>(random() % static_cast<unsigned>(8 * share)) - share;
      row[static_cast<size_t>(k)] = weight;
      rest -= weight;
    }
    axis.weights.insert(axis.weights.end(), row.begin(), row.end());
  }
  axis.weights.resize(axis.weights.size() + 16);
  axis.start.resize(axis.start.size() + 16);
  return axis;
}

uint8_t rounded(int64_t sum) {
  return static_cast<uint8_t>(std::clamp<int64_t>((sum + (1 << 21)) >> 22, 0, 255));
}

class Rows : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    if (GetParam() > static_cast<int>(codegen::Target::host().level))
      GTEST_SKIP() << "this machine lacks level " << GetParam();
  }
  void compile(int64_t channels, int64_t height, int64_t width);
  /// From `in[0]` rows of `in[1]` columns, with `taps` along each.
  void check(const int64_t (&in)[2], const int64_t (&taps)[2], bool mirrored);

  std::unique_ptr<JitModule> code;
  int64_t channels = 0, out[2] = {};
};

std::string kernelText(int64_t channels, int64_t height, int64_t width) {
  std::ostringstream text;
  const std::string c = ", c=" + std::to_string(channels) + "]>";
  const std::string h = std::to_string(height), w = std::to_string(width);
  const std::string image = "!pipe.tensor<u8[h=?, w=?" + c,
                    wide = "!pipe.tensor<u8[h=?, w=" + w + c;
  const std::string result = "!pipe.tensor<u8[h=" + h + ", w=" + w + c;
  const std::string tableW = "!pipe.tensor<i32[w=" + w + ", k=?]>, !pipe.tensor<i32[w=" + w + "]>";
  const std::string tableH = "!pipe.tensor<i32[h=" + h + ", k=?]>, !pipe.tensor<i32[h=" + h + "]>";
  text << "pipe.kernel @rows \"pixels\" {\n^bb0(%x: " << image << ", %w: !pipe.tensor<i32[w=" << w
       << ", k=?]>, %s: !pipe.tensor<i32[w=" << w << "]>, %v: !pipe.tensor<i32[h=" << h
       << ", k=?]>, %t: !pipe.tensor<i32[h=" << h << "]>, %rows: i64):\n"
       << "  %0 = pipe.resample pillow %x along \"w\" with %w, %s sizes(%rows) : " << image << ", "
       << tableW << " -> " << wide
       << "\n  %1 = pipe.resample pillow %0 along \"h\" with %v, %t : " << wide << ", " << tableH
       << " -> " << result << "\n  pipe.return %1 : " << result << "\n}\n";
  return text.str();
}

void Rows::compile(int64_t count, int64_t height, int64_t width) {
  channels = count;
  out[0] = height;
  out[1] = width;
  code = std::make_unique<JitModule>(kernelText(channels, height, width),
                                     codegen::Target{static_cast<codegen::CpuLevel>(GetParam())});
  ASSERT_TRUE(code->ok()) << code->errors();
}

void Rows::check(const int64_t (&in)[2], const int64_t (&taps)[2], bool mirrored) {
  std::mt19937 random(static_cast<unsigned>(channels * 1000 + in[1] + out[1]));
  Axis h = axisOf(in[0], out[0], taps[0], mirrored, random),
       w = axisOf(in[1], out[1], taps[1], mirrored, random);
  std::vector<uint8_t> image(static_cast<size_t>(in[0] * in[1] * channels) + 64);
  for (uint8_t &byte : image) // extremes often, so that results are clamped
    byte = random() % 3 ? static_cast<uint8_t>(random()) : static_cast<uint8_t>(random() % 2 * 255);
  std::vector<uint8_t> result(static_cast<size_t>(out[0] * out[1] * channels) + 64);
  ASSERT_EQ(code->run("rows",
                      {TensorArg::of(image, {in[0], in[1], channels}),
                       TensorArg::of(w.weights, {out[1], w.taps}), TensorArg::of(w.start, {out[1]}),
                       TensorArg::of(h.weights, {out[0], h.taps}), TensorArg::of(h.start, {out[0]}),
                       TensorArg::of(result, {out[0], out[1], channels})},
                      1, {in[0]}),
            0);
  std::vector<uint8_t> wide(static_cast<size_t>(in[0] * out[1] * channels));
  auto at = [](auto &values, int64_t index) -> auto & {
    return values[static_cast<size_t>(index)];
  };
  for (int64_t y = 0; y < in[0]; ++y)
    for (int64_t i = 0; i < out[1] * channels; ++i) {
      int64_t sum = 0;
      const int64_t x = i / channels, c = i % channels;
      for (int64_t k = 0; k < w.taps; ++k)
        sum += int64_t{at(w.weights, x * w.taps + k)} *
               at(image, (y * in[1] + at(w.start, x) + k) * channels + c);
      at(wide, y * out[1] * channels + i) = rounded(sum);
    }
  for (int64_t y = 0; y < out[0]; ++y)
    for (int64_t i = 0; i < out[1] * channels; ++i) {
      int64_t sum = 0;
      for (int64_t k = 0; k < h.taps; ++k)
        sum += int64_t{at(h.weights, y * h.taps + k)} *
               at(wide, (at(h.start, y) + k) * out[1] * channels + i);
      ASSERT_EQ(at(result, y * out[1] * channels + i), rounded(sum))
          << channels << " channels, row " << y << ", column " << i / channels << ", channel "
          << i % channels;
    }
}

// The number of steps, and whether the taps of neighbouring lanes lie in one
// window, is found when running: one kernel has code for all of them.
TEST_P(Rows, EveryFormAndChannelCount) {
  for (int64_t count = 1; count <= 4; ++count) {
    compile(count, 33, 65);
    check({20, 30}, {2, 2}, false);
    check({50, 97}, {4, 6}, true);
    check({120, 140}, {11, 13}, false);
    check({90, 700}, {5, 9}, true);
    check({7, 9}, {7, 4}, true);
  }
}
TEST_P(Rows, FewerColumnsThanLanes) {
  compile(3, 3, 1);
  check({9, 12}, {3, 5}, false);
  compile(1, 5, 3);
  check({1, 1}, {1, 1}, true);
}

INSTANTIATE_TEST_SUITE_P(Levels, Rows, testing::Values(2, 3, 4, 5));

} // namespace
