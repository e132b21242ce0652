// SPDX-License-Identifier: Apache-2.0
//
// Tap tables of resampling filters against Pillow's precompute_coeffs, which
// takes its sines from libm.

#include "runtime/abi/scalar.h"
#include "test/unit/codegen/JitModule.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace penstock;
using test::JitModule;
using test::TensorArg;

namespace {

struct Filter {
  const char *name;
  double support;
  double (*value)(double);
};

double sinc(double x) { return x == 0 ? 1 : std::sin(x * M_PI) / (x * M_PI); }
double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }
double hamming(double x) {
  x = std::fabs(x);
  if (x == 0 || x >= 1)
    return x == 0;
  x *= M_PI;
  return std::sin(x) / x * (0.54f + 0.46f * std::cos(x));
}
double bicubic(double x) {
  x = std::fabs(x);
  if (x < 1)
    return ((-0.5 + 2) * x - (-0.5 + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
}

/// The weights of all output elements as Pillow has them: those of element o
/// start at input element `first[o]`.
void pillow(const Filter &filter, int64_t in, int64_t out, std::vector<int64_t> &first,
            std::vector<std::vector<int32_t>> &weights, bool antialias = true) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double filterscale = scale < 1 || !antialias ? 1 : scale,
               support = filter.support * filterscale;
  for (int64_t o = 0; o < out; ++o) {
    const double center = (static_cast<double>(o) + 0.5) * scale;
    const auto low = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const auto high = std::min(static_cast<int64_t>(center + support + 0.5), in);
    std::vector<double> k;
    double sum = 0;
    for (int64_t x = low; x < high; ++x) {
      k.push_back(filter.value((static_cast<double>(x) - center + 0.5) * (1.0 / filterscale)));
      sum += k.back();
    }
    first.push_back(low);
    weights.emplace_back();
    for (double w : k) {
      if (sum != 0)
        w /= sum;
      weights.back().push_back(
          static_cast<int32_t>((w < 0 ? -0.5 : 0.5) + w * (1 << scalar::weightBits)));
    }
  }
}

TEST(Weights, EqualPillowsToTheLastOf22Bits) {
  for (const Filter filter : {Filter{"lanczos", 3, lanczos}, Filter{"hamming", 1, hamming},
                              Filter{"bicubic", 2, bicubic}}) {
    JitModule code("pipe.kernel @k \"pixels\" {\n^bb0(%in: i64, %out: i64, %taps: i64):\n"
                   "%w, %s = pipe.weights " +
                   std::string(filter.name) +
                   " %in to %out antialias(true) sizes(%out, %taps, %out)"
                   " : !pipe.tensor<i32[w=?, k=?]>, !pipe.tensor<i32[w=?]>\n"
                   "pipe.return %w, %s : !pipe.tensor<i32[w=?, k=?]>, !pipe.tensor<i32[w=?]>\n}\n");
    ASSERT_TRUE(code.ok()) << code.errors();
    uint64_t state = 7;
    auto below = [&](uint64_t n) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return static_cast<int64_t>((state >> 33) % n);
    };
    for (int64_t pair = 0; pair < 40 * 40 + 60; ++pair) {
      // All pairs of small sizes, then some large ones.
      const bool small = pair < 40 * 40;
      const int64_t in = small ? 1 + pair / 40 : 1 + below(5000),
                    out = small ? 1 + pair % 40 : 1 + below(500);
      const double scale = std::max(static_cast<double>(in) / static_cast<double>(out), 1.0);
      const int64_t taps =
          std::min(in, static_cast<int64_t>(std::ceil(filter.support * scale)) * 2 + 1);
      std::vector<int32_t> w(static_cast<size_t>(out * taps) + 16),
          s(static_cast<size_t>(out) + 16);
      ASSERT_EQ(code.run("k", {TensorArg::of(w, {out, taps}), TensorArg::of(s, {out})}, 2,
                         {in, out, taps}),
                0);
      std::vector<int64_t> first;
      std::vector<std::vector<int32_t>> expected;
      pillow(filter, in, out, first, expected);
      for (size_t o = 0; o < expected.size(); ++o) {
        ASSERT_GE(s[o], 0);
        ASSERT_LE(s[o] + taps, in);
        for (int64_t k = 0; k < taps; ++k) {
          const int64_t number = s[o] + k - first[o];
          const bool inside = number >= 0 && number < static_cast<int64_t>(expected[o].size());
          ASSERT_EQ(w[o * static_cast<size_t>(taps) + static_cast<size_t>(k)],
                    inside ? expected[o][static_cast<size_t>(number)] : 0)
              << filter.name << " " << in << " to " << out << ", element " << o << ", tap " << k;
        }
      }
    }
  }
}

/// So that the products of a GPU can take them apart into 16 bits and a byte
/// (codegen/cuda/penstock.cuh, pst_weigh).
TEST(Weights, HaveTwentyFourBits) {
  const Filter filters[] = {
      {"box", 0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0; }},
      {"bilinear", 1, [](double x) { return std::max(1 - std::fabs(x), 0.0); }},
      {"hamming", 1, hamming},
      {"bicubic", 2, bicubic},
      {"lanczos", 3, lanczos}};
  int32_t largest = 0;
  for (const Filter &filter : filters)
    for (int64_t in = 1; in <= 40; ++in)
      for (int64_t out = 1; out <= 120; ++out)
        for (bool antialias : {true, false}) {
          std::vector<int64_t> first;
          std::vector<std::vector<int32_t>> weights;
          pillow(filter, in, out, first, weights, antialias);
          for (const std::vector<int32_t> &row : weights)
            for (int32_t weight : row)
              largest = std::max(largest, std::abs(weight));
        }
  EXPECT_LT(largest, 1 << 23);
  EXPECT_GT(largest, 1 << 22); // those of filters with negative lobes exceed 1
}

/// No window is wider, also where its ends lie next to a whole number.
TEST(Weights, HaveTapsForTheWholeSupport) {
  for (const auto &[filter, support] : {std::pair{"box", 0.5}, std::pair{"bilinear", 1.0},
                                        std::pair{"bicubic", 2.0}, std::pair{"lanczos", 3.0}}) {
    JitModule code(
        "pipe.kernel @k \"setup\" {\n%in = pipe.entry 9 : i64\n%out = pipe.entry 10 : "
        "i64\n%taps = pipe.taps " +
        std::string(filter) +
        " %in to %out antialias(true)\npipe.set_entry 11, %taps : i64\npipe.return\n}\n");
    ASSERT_TRUE(code.ok()) << code.errors();
    std::vector<std::pair<int64_t, int64_t>> sizes = {
        {100, 50}, {100, 333}, {5000, 7}, {1 << 20, 3}};
    for (int64_t in = 1; in < 90; ++in)
      for (int64_t out = 1; out < 90; ++out)
        sizes.emplace_back(in, out);
    for (const auto &[in, out] : sizes) {
      std::vector<int64_t> block(16);
      block[9] = in, block[10] = out;
      ASSERT_EQ(code.runBlock("k", block), 0);
      const double step = static_cast<double>(in) / static_cast<double>(out),
                   width = support * std::max(step, 1.0);
      int64_t widest = 0;
      for (int64_t o = 0; o < out; ++o) {
        const double center = (static_cast<double>(o) + 0.5) * step;
        const auto low = std::max<int64_t>(static_cast<int64_t>(center - width + 0.5), 0);
        const auto high = std::min(static_cast<int64_t>(center + width + 0.5), in);
        widest = std::max(widest, high - low);
      }
      EXPECT_GE(block[11], widest) << filter << " " << in << " to " << out;
      EXPECT_LE(block[11], std::min(in, static_cast<int64_t>(std::floor(2 * width)) + 1))
          << filter << " " << in << " to " << out;
    }
  }
}

} // namespace
