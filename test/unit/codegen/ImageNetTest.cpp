// SPDX-License-Identifier: Apache-2.0
//
// The flagship's kernels against the arithmetic of Pillow and torchvision,
// written out plainly here.

#include "runtime/abi/scalar.h"
#include "test/unit/codegen/JitModule.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace penstock;
using test::JitModule;
using test::TensorArg;

namespace {

struct Table {
  int64_t taps;
  std::vector<int32_t> weights, start;
};

/// Pillow's precompute_coeffs for the bilinear filter.
Table bilinearTable(int64_t in, int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double filterScale = std::max(scale, 1.0);
  Table table;
  table.taps = std::min<int64_t>(in, static_cast<int64_t>(std::floor(2 * filterScale)) + 1);
  for (int64_t o = 0; o < out; ++o) {
    const double center = (static_cast<double>(o) + 0.5) * scale;
    const auto first = std::max<int64_t>(static_cast<int64_t>(center - filterScale + 0.5), 0);
    const auto end = std::min<int64_t>(static_cast<int64_t>(center + filterScale + 0.5), in);
    std::vector<double> k(static_cast<size_t>(table.taps), 0.0);
    double sum = 0;
    const int64_t start = std::min(first, in - table.taps);
    for (int64_t x = first; x < end; ++x) {
      const double at = std::fabs((static_cast<double>(x) - center + 0.5) * (1.0 / filterScale));
      k[static_cast<size_t>(x - start)] = at < 1.0 ? 1.0 - at : 0.0;
      sum += at < 1.0 ? 1.0 - at : 0.0;
    }
    for (double &w : k)
      table.weights.push_back(static_cast<int32_t>(0.5 + (w / sum) * (1 << 22)));
    table.start.push_back(static_cast<int32_t>(start));
  }
  return table;
}

uint8_t roundedShift(int64_t sum) {
  return static_cast<uint8_t>(std::clamp<int64_t>((sum + (1 << 21)) >> 22, 0, 255));
}

std::string readInput(const char *name) {
  std::ifstream file(std::string(PENSTOCK_SOURCE_DIR) + "/test/lit/inputs/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Case {
  int level;
  int64_t height, width, top, left, rows, columns;
  bool flip;
};

class ImageNet : public testing::TestWithParam<int> {
protected:
  void SetUp() override {
    if (GetParam() > static_cast<int>(codegen::Target::host().level))
      GTEST_SKIP() << "this machine lacks x86-64-v" << GetParam();
    code = std::make_unique<JitModule>(readInput("imagenet-kernels.mlir"),
                                       codegen::Target{static_cast<codegen::CpuLevel>(GetParam())});
    ASSERT_TRUE(code->ok()) << code->errors();
  }
  void check(int64_t height, int64_t width, int64_t top, int64_t left, int64_t rows,
             int64_t columns, bool flip);

  std::unique_ptr<JitModule> code;
};

void ImageNet::check(int64_t height, int64_t width, int64_t top, int64_t left, int64_t rows,
                     int64_t columns, bool flip) {
  std::mt19937 random(static_cast<unsigned>(height * 31 + width + columns));
  std::vector<uint8_t> image(static_cast<size_t>(height * width * 3) + 64);
  for (uint8_t &byte : image)
    byte = static_cast<uint8_t>(random());
  const Table w = bilinearTable(columns, 224), h = bilinearTable(rows, 224);

  std::vector<int32_t> weightsW(w.weights.size() + 16), startW(224 + 16),
      weightsH(h.weights.size() + 16), startH(224 + 16);
  ASSERT_EQ(code->run("weights_w",
                      {TensorArg::of(weightsW, {224, w.taps}), TensorArg::of(startW, {224})}, 2,
                      {columns, w.taps, flip ? -1 : 1, flip ? 223 : 0}),
            0);
  ASSERT_EQ(code->run("weights_h",
                      {TensorArg::of(weightsH, {224, h.taps}), TensorArg::of(startH, {224})}, 2,
                      {rows, h.taps}),
            0);
  for (int64_t o = 0; o < 224; ++o) {
    const int64_t from = flip ? 223 - o : o;
    ASSERT_EQ(startW[static_cast<size_t>(o)], w.start[static_cast<size_t>(from)]) << o;
    for (int64_t k = 0; k < w.taps; ++k)
      ASSERT_EQ(weightsW[static_cast<size_t>(o * w.taps + k)],
                w.weights[static_cast<size_t>(from * w.taps + k)])
          << o << " " << k;
  }

  std::vector<uint16_t> result(3 * 224 * 224 + 32);
  ASSERT_EQ(
      code->run("pixels",
                {TensorArg::of(image, {height, width, 3}), TensorArg::of(weightsW, {224, w.taps}),
                 TensorArg::of(startW, {224}), TensorArg::of(weightsH, {224, h.taps}),
                 TensorArg::of(startH, {224}), TensorArg::of(result, {3, 224, 224})},
                1, {top, left, rows, columns}),
      0);
  std::vector<uint8_t> wide(static_cast<size_t>(rows * 224 * 3));
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < 224; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        int64_t sum = 0;
        for (int64_t k = 0; k < w.taps; ++k)
          sum += int64_t{weightsW[static_cast<size_t>(x * w.taps + k)]} *
                 image[static_cast<size_t>(
                     ((y + top) * width + left + startW[static_cast<size_t>(x)] + k) * 3 + c)];
        wide[static_cast<size_t>((y * 224 + x) * 3 + c)] = roundedShift(sum);
      }
  const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t y = 0; y < 224; ++y)
      for (int64_t x = 0; x < 224; ++x) {
        int64_t sum = 0;
        for (int64_t k = 0; k < h.taps; ++k)
          sum +=
              int64_t{weightsH[static_cast<size_t>(y * h.taps + k)]} *
              wide[static_cast<size_t>(((startH[static_cast<size_t>(y)] + k) * 224 + x) * 3 + c)];
        const float value =
            (static_cast<float>(roundedShift(sum)) / 255.0f - mean[c]) / deviation[c];
        ASSERT_EQ(result[static_cast<size_t>((c * 224 + y) * 224 + x)], scalar::toHalf(value))
            << c << " " << y << " " << x;
      }
}

TEST_P(ImageNet, ShrinksACrop) { check(375, 500, 20, 31, 300, 401, true); }
TEST_P(ImageNet, EnlargesASmallCrop) { check(120, 130, 3, 5, 80, 97, false); }
TEST_P(ImageNet, TakesOnePixel) { check(3, 3, 1, 1, 1, 1, false); }
TEST_P(ImageNet, ShrinksALot) { check(1000, 1400, 0, 0, 1000, 1400, true); }
TEST_P(ImageNet, KeepsTheSize) { check(224, 224, 0, 0, 224, 224, false); }

INSTANTIATE_TEST_SUITE_P(Levels, ImageNet, testing::Values(2, 3, 4, 5));

} // namespace
