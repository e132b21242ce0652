// SPDX-License-Identifier: Apache-2.0
//
// Maps of one byte as tables, and sums of a pixel's bytes as dot products: the
// bits of the arithmetic they stand for.

#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

using namespace penstock;
using test::JitModule;
using test::TensorArg;

namespace {

class ByteTables : public test::AtLevel {};

constexpr size_t kHeight = 40, kWidth = 50;
constexpr float kFactors[] = {0.0f, 0.3f, 1.0f, 1.37f, -0.4f, 1e30f};

std::vector<uint8_t> someBytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  uint32_t state = 12345;
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

uint8_t scaled(uint8_t byte, float factor) {
  return static_cast<uint8_t>(
      std::max(0.0f, std::min(255.0f, static_cast<float>(byte) * factor + 0.5f)));
}

/// The steps of scaled() from %NAME to %NAMEs.
std::string scale(const std::string &name, const std::string &factor) {
  return "%" + name + "0 = pipe.cast value %" + name + " : ui8 -> f32\n%" + name +
         "1 = pipe.binary mul %" + name + "0, " + factor + " : f32\n%" + name +
         "2 = pipe.binary add %" + name + "1, %half : f32\n%" + name + "3 = pipe.binary min %" +
         name + "2, %top : f32\n%" + name + "4 = pipe.binary max %" + name + "3, %zero : f32\n%" +
         name + "s = pipe.cast value %" + name + "4 : f32 -> ui8\n";
}
const char *const kNumbers = "%top = pipe.constant 2.550000e+02 : f32 -> f32\n"
                             "%half = pipe.constant 5.000000e-01 : f32 -> f32\n"
                             "%zero = pipe.constant 0.000000e+00 : f32 -> f32\n";

/// Weighted sums of scaled channels, columns forwards or backwards. The image ends
/// where its vector does.
TEST_P(ByteTables, SumOfChannels) {
  const std::array<int, 3> weights[] = {
      {19595, 38471, 7471}, {77, 150, 29}, {-5, 1, 0}, {32512, -65535, -32768}};
  for (auto w : weights)
    for (const char *column : {"d1", "-d1 + 49"}) {
      SCOPED_TRACE(std::to_string(w[0]) + " " + column);
      std::string views, sum;
      for (int c = 0; c < 3; ++c) {
        const std::string n = std::to_string(c);
        views += "%v" + n + " = pipe.view %x by affine_map<(d0, d1) -> (d0, " + column + ", " + n +
                 ")> [] : !pipe.tensor<u8[h=40, w=50, c=3]> -> !pipe.tensor<u8[h=40, w=50]>\n";
        sum += scale(std::string(1, static_cast<char>('p' + c)), "%f") + "%i" + n +
               " = pipe.cast value %" + static_cast<char>('p' + c) + "s : ui8 -> i32\n%w" + n +
               " = pipe.constant " + std::to_string(w[static_cast<size_t>(c)]) +
               " : i32 -> i32\n%m" + n + " = pipe.binary mul %i" + n + ", %w" + n + " : i32\n";
      }
      auto code = compile(
          "pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<u8[h=40, w=50, c=3]>, %f: f32):\n" +
          views +
          "%0 = pipe.map (%v0, %v1, %v2) : (!pipe.tensor<u8[h=40, w=50]>, !pipe.tensor<u8[h=40, "
          "w=50]>, "
          "!pipe.tensor<u8[h=40, w=50]>) -> !pipe.tensor<i32[h=40, w=50]> {\n"
          "^bb0(%p: ui8, %q: ui8, %r: ui8, %h: i64, %w: i64):\n" +
          kNumbers + sum +
          "%round = pipe.constant 32769 : i32 -> i32\n%a0 = pipe.binary add %m0, %m1 : i32\n"
          "%a1 = pipe.binary add %a0, %m2 : i32\n%a2 = pipe.binary add %a1, %round : i32\n"
          "pipe.yield %a2 : i32\n}\npipe.return %0 : !pipe.tensor<i32[h=40, w=50]>\n}\n");
      for (float factor : kFactors) {
        std::vector<uint8_t> x = someBytes(kHeight * kWidth * 3);
        std::vector<int32_t> y(kHeight * kWidth + 1, 7);
        ASSERT_EQ(code->run("k", {TensorArg::of(x, {40, 50, 3}), TensorArg::of(y, {40, 50})}, 1,
                            {test::asSlot(static_cast<double>(factor))}),
                  0);
        for (size_t i = 0; i < kHeight * kWidth; ++i) {
          const size_t from = *column == 'd' ? i : i / kWidth * kWidth + kWidth - 1 - i % kWidth;
          int32_t expected = 32769;
          for (size_t c = 0; c < 3; ++c)
            expected += w[c] * scaled(x[3 * from + c], factor);
          ASSERT_EQ(y[i], expected) << i << " by " << factor;
        }
        ASSERT_EQ(y.back(), 7) << "wrote behind the end";
      }
    }
}

/// Bytes that are no pixels, in rows that lie apart.
TEST_P(ByteTables, PlainBytes) {
  auto code = compile(
      std::string(
          "pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<u8[h=40, w=50]>, %f: f32):\n"
          "%0 = pipe.map (%x) : (!pipe.tensor<u8[h=40, w=50]>) -> !pipe.tensor<u8[h=40, w=50]> {\n"
          "^bb0(%p: ui8, %h: i64, %w: i64):\n") +
      kNumbers + scale("p", "%f") +
      "pipe.yield %ps : ui8\n}\npipe.return %0 : !pipe.tensor<u8[h=40, w=50]>\n}\n");
  for (float factor : kFactors) {
    std::vector<uint8_t> x = someBytes(kHeight * (kWidth + 5)), y(kHeight * kWidth);
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {40, 50}, 5), TensorArg::of(y, {40, 50})}, 1,
                        {test::asSlot(static_cast<double>(factor))}),
              0);
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], scaled(x[i / kWidth * (kWidth + 5) + i % kWidth], factor))
          << i << " by " << factor;
  }
}

/// A table is no older than what it depends on: the factor of each iteration.
TEST_P(ByteTables, OneForEachIteration) {
  auto code = compile(
      std::string("pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<u8[h=40, w=50]>, %n: i64):\n"
                  "%0 = pipe.repeat %n bound 4 (%x) : (!pipe.tensor<u8[h=40, w=50]>) -> "
                  "!pipe.tensor<u8[h=40, w=50]> {\n"
                  "^bb0(%i: i64, %now: !pipe.tensor<u8[h=40, w=50]>):\n"
                  "%number = pipe.cast value %i : i64 -> f32\n%ninth = pipe.constant 8.999999e-01 "
                  ": f32 -> f32\n"
                  "%sum = pipe.binary add %number, %ninth : f32\n"
                  "%one = pipe.map () : () -> !pipe.tensor<f32[]> {\npipe.yield %sum : f32\n}\n"
                  "%m = pipe.map (%now, %one) : (!pipe.tensor<u8[h=40, w=50]>, "
                  "!pipe.tensor<f32[]>) -> !pipe.tensor<u8[h=40, w=50]> {\n"
                  "^bb0(%p: ui8, %f: f32, %h: i64, %w: i64):\n") +
      kNumbers + scale("p", "%f") +
      "pipe.yield %ps : ui8\n}\npipe.yield %m : !pipe.tensor<u8[h=40, w=50]>\n}\n"
      "pipe.return %0 : !pipe.tensor<u8[h=40, w=50]>\n}\n");
  std::vector<uint8_t> x = someBytes(kHeight * kWidth), y(kHeight * kWidth);
  for (int n : {1, 2, 3}) {
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {40, 50}), TensorArg::of(y, {40, 50})}, 1, {n}), 0);
    for (size_t i = 0; i < y.size(); ++i) {
      uint8_t expected = x[i];
      for (int each = 0; each < n; ++each)
        expected = scaled(expected, static_cast<float>(each) + 0.8999999f);
      ASSERT_EQ(y[i], expected) << i << " after " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, ByteTables, testing::Values(3, 4, 5));

} // namespace
