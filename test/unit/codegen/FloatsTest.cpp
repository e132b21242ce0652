// SPDX-License-Identifier: Apache-2.0
//
// Forms of float arithmetic that hold for some operands only: divisions by a constant
// as products, and minima, maxima and stored NaN by one instruction.

#include "compiler/Conversion/KernelToLoops/Vector/Reciprocal.h"
#include "runtime/abi/scalar.h"
#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace penstock;
using conversion::dividesExactly;
using conversion::Reciprocal;
using test::JitModule;
using test::TensorArg;

namespace {

size_t missesOf(float divisor) {
  const Reciprocal reciprocal(divisor);
  size_t misses = 0;
  for (int x = 1 << 23; x < 1 << 24; ++x)
    misses += reciprocal.divide(static_cast<float>(x)) != static_cast<float>(x) / divisor;
  return misses;
}

TEST(Reciprocals, AreDecidedWithoutTryingAll) {
  EXPECT_TRUE(dividesExactly(0.229f));
  EXPECT_EQ(missesOf(0.229f), 0u);
  // One significand of 2^23 rounds to the other side.
  EXPECT_FALSE(dividesExactly(0x1.cb5596p+0f));
  EXPECT_EQ(missesOf(0x1.cb5596p+0f), 1u);
}

TEST(Reciprocals, KeepWhatIsNoNumberBetween) {
  const float inf = std::numeric_limits<float>::infinity();
  for (float divisor : {0.225f, -0.224f, 3.0f, 255.0f, 1.7f}) {
    const Reciprocal reciprocal(divisor);
    for (float x : {inf, -inf, 0.0f, -0.0f, std::numeric_limits<float>::max()})
      EXPECT_EQ(std::bit_cast<uint32_t>(reciprocal.divide(x)), std::bit_cast<uint32_t>(x / divisor))
          << x << " / " << divisor;
    EXPECT_TRUE(std::isnan(reciprocal.divide(NAN)));
  }
}

TEST(Reciprocals, AreNotAskedOfExtremeDivisors) {
  for (float divisor : {0.0f, 0x1p-31f, 0x1p31f, std::numeric_limits<float>::infinity(), NAN})
    EXPECT_FALSE(dividesExactly(divisor)) << divisor;
}

/// The inverse modulo 2^64 of an odd number.
uint64_t inverseOf(uint64_t odd) {
  uint64_t x = odd;
  for (int i = 0; i < 6; ++i)
    x *= 2 - odd * x;
  return x;
}

/// x / c by products, as LaneQuotients.cpp has it.
float byProducts(float x, float c) {
  const float r = 1.0f / c, q = x * r;
  return std::fma(-std::fma(q, c, -x), r, q);
}

// Before the last rounding, the quotient is less than 2^-24 units of its last place away. Of
// significands a and c, a 2^s / c lies so near the middle m / 2 of two floats only where
// a 2^(s + 1) - m c is at most 3: these a are found for every c.
TEST(Reciprocals, GiveEveryQuotientNearTheMiddleOfTwo) {
  constexpr uint64_t least = 1 << 23, end = 1 << 24;
  size_t tried = 0, misses = 0;
  for (uint64_t c = least; c < end; ++c) {
    const int even = std::countr_zero(c);
    const uint64_t inverse = inverseOf(c >> even);
    for (const int64_t rest : {-3, -2, -1, 1, 2, 3})
      for (const int s : {23, 24}) {
        if (even > s || rest & ((int64_t(1) << even) - 1))
          continue;
        const uint64_t period = uint64_t(1) << (s + 1 - even);
        uint64_t m = (static_cast<uint64_t>(-(rest >> even)) * inverse) & (period - 1);
        if (m % 2 == 0)
          continue;
        for (; m < 2 * end; m += period) {
          const uint64_t a = (m * c + static_cast<uint64_t>(rest)) >> (s + 1);
          if (m < end || a < least || a >= end)
            continue;
          const auto x = static_cast<float>(a), y = static_cast<float>(c);
          ++tried;
          misses += byProducts(x, y) != x / y;
        }
      }
  }
  EXPECT_GT(tried, 10'000'000u);
  EXPECT_EQ(misses, 0u);
}

class Floats : public test::AtLevel {
protected:
  /// Compares `lines`, which make %y of %p and %q along w=37, with `f`.
  void check(const std::string &lines, const std::function<float(float, float)> &f);
};

/// All kinds of floats, with signalling NaN, and neighbours of what the tests subtract.
std::vector<float> someFloats() {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> all{0.0f,
                         -0.0f,
                         inf,
                         -inf,
                         NAN,
                         -NAN,
                         std::bit_cast<float>(0x7F800001u),
                         1e-40f,
                         -1e-40f,
                         3.4e38f,
                         -3.4e38f,
                         0.485f,
                         std::nextafter(0.485f, 1.0f),
                         std::nextafter(0.485f, 0.0f),
                         -0.485f,
                         1.0f,
                         -1.0f};
  all.push_back(9081371.0f); // by 0x1.cb5596p+0 as a product rounds to the other side
  for (uint32_t i = 0; i < 2000; ++i)
    all.push_back(std::bit_cast<float>(i * 0x20E4A7u + 77u));
  for (int i = 0; i < 300; ++i)
    all.push_back(static_cast<float>(i) / 255.0f);
  return all;
}

void Floats::check(const std::string &lines, const std::function<float(float, float)> &f) {
  auto code =
      compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<f32[w=37]>, %z: "
              "!pipe.tensor<f32[w=37]>):\n"
              "%0 = pipe.map (%x, %z) : (!pipe.tensor<f32[w=37]>, !pipe.tensor<f32[w=37]>) -> "
              "!pipe.tensor<f32[w=37]> {\n^bb0(%p: f32, %q: f32, %w: i64):\n" +
              lines + "\npipe.yield %y : f32\n}\npipe.return %0 : !pipe.tensor<f32[w=37]>\n}\n");
  const std::vector<float> all = someFloats();
  for (size_t shift : {0u, 1u, 2u, 5u, 100u})
    for (size_t at = 0; at < all.size(); at += 37) {
      std::vector<float> x(37 + 64), z(37 + 64), y(38, 7);
      for (size_t i = 0; i < 37; ++i) {
        x[i] = all[(at + i) % all.size()];
        z[i] = all[(at + i + shift) % all.size()];
      }
      ASSERT_EQ(code->run("k",
                          {TensorArg::of(x, {37}), TensorArg::of(z, {37}), TensorArg::of(y, {37})},
                          1),
                0);
      for (size_t i = 0; i < 37; ++i) {
        float expected = f(x[i], z[i]);
        if (std::isnan(expected))
          expected = scalar::canonicalNan<float>();
        ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(expected))
            << x[i] << " and " << z[i] << " give " << y[i] << ", not " << expected;
      }
    }
}

TEST_P(Floats, DivideDifferencesByConstants) {
  for (float divisor : {0.229f, -0.225f, 255.0f, 0.5f, 0x1.cb5596p+0f, 0x1p-40f}) {
    std::array<char, 32> number;
    std::snprintf(number.data(), number.size(), "0x%08X", std::bit_cast<uint32_t>(divisor));
    check("%m = pipe.constant 4.850000e-01 : f32 -> f32\n%s = pipe.constant " +
              std::string(number.data()) +
              " : f32 -> f32\n%d = pipe.binary sub %p, %m : f32\n%y = pipe.binary div %d, %s : f32",
          [&](float p, float) { return (p - 0.485f) / divisor; });
  }
}

// All 256, and in rows that end within a vector.
TEST_P(Floats, DivideBytesBy255) {
  for (long width : {256L, 37L}) {
    const std::string w = std::to_string(width);
    auto code = compile(
        "pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<u8[w=" + w +
        "]>, %f: f32):\n%0 = pipe.map (%x) : "
        "(!pipe.tensor<u8[w=" +
        w + "]>) -> !pipe.tensor<f32[w=" + w +
        "]> {\n^bb0(%p: ui8, %i: i64):\n"
        "%s = pipe.constant 2.550000e+02 : f32 -> f32\n%d = pipe.cast value %p : ui8 -> f32\n"
        "%y = pipe.binary div %d, %s : f32\npipe.yield %y : f32\n}\n"
        "pipe.return %0 : !pipe.tensor<f32[w=" +
        w + "]>\n}\n");
    std::vector<uint8_t> x(static_cast<size_t>(width));
    std::vector<float> y(x.size() + 1, 7);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<uint8_t>(i * 7);
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {width}), TensorArg::of(y, {width})}, 1,
                        {test::asSlot(1.0)}),
              0);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_EQ(y[i], static_cast<float>(x[i]) / 255.0f) << +x[i];
    EXPECT_EQ(y.back(), 7) << "wrote behind the end";
  }
}

// A factor of the sample may be any number, and what is stored of it has one NaN; a difference from
// a huge constant overflows. `scratch` keeps the terms in memory, as terms of the column are.
TEST_P(Floats, MultiplyBytesByAnyFactor) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::string byte = "!pipe.tensor<u8[w=37]>", real = "!pipe.tensor<f32[w=37]>";
  struct Case {
    const char *schedule, *text;
    float from;
  };
  for (const auto &[schedule, text, from] :
       {Case{"", "1.000000e+00", 1.0f}, Case{" {schedule = \"scratch\"}", "1.000000e+00", 1.0f},
        Case{"", "0xFF61B1E6", -3e38f}}) {
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + byte +
                        ", %f: f32):\n"
                        "%s = pipe.constant 2.550000e+02 : f32 -> f32\n%from = pipe.constant " +
                        text +
                        " : f32 -> f32\n"
                        "%q = pipe.map (%x) : (" +
                        byte + ") -> " + real +
                        " {\n^bb0(%p: ui8, %i: i64):\n"
                        "%d = pipe.cast value %p : ui8 -> f32\n%y = pipe.binary div %d, %s : "
                        "f32\npipe.yield %y : f32\n}\n"
                        "%t = pipe.map ()" +
                        schedule + " : () -> " + real +
                        " {\n^bb0(%i: i64):\n"
                        "%n = pipe.cast value %i : i64 -> f32\n%m = pipe.binary mul %n, %n : "
                        "f32\npipe.yield %m : f32\n}\n"
                        "%0 = pipe.map (%q, %t) : (" +
                        real + ", " + real + ") -> " + real +
                        " {\n^bb0(%p: f32, %n: f32, %i: i64):\n"
                        "%m = pipe.binary mul %f, %n : f32\n%v = pipe.binary sub %from, %m : f32\n"
                        "%y = pipe.binary mul %p, %v : f32\npipe.yield %y : f32\n}\n"
                        "pipe.return %0 : " +
                        real + "\n}\n");
    for (float factor :
         {0.3f, 1.0f, 0.25f, -0.0f, 1e-40f, 65536.0f, 65537.0f, -1e30f, 3e38f, inf, -inf, NAN})
      for (int first = 0; first < 256; first += 36) {
        std::vector<uint8_t> x(37);
        std::vector<float> y(38, 7);
        for (size_t i = 0; i < 37; ++i)
          x[i] = static_cast<uint8_t>(static_cast<size_t>(first) + i);
        ASSERT_EQ(code->run("k", {TensorArg::of(x, {37}), TensorArg::of(y, {37})}, 1,
                            {test::asSlot(static_cast<double>(factor))}),
                  0);
        for (size_t i = 0; i < 37; ++i) {
          const float n = static_cast<float>(i), square = n * n, product = factor * square;
          float expected = static_cast<float>(x[i]) / 255.0f * (from - product);
          if (std::isnan(expected))
            expected = scalar::canonicalNan<float>();
          ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(expected))
              << +x[i] << " at " << i << " by " << factor << " gives " << y[i] << ", not "
              << expected;
        }
        EXPECT_EQ(y.back(), 7) << "wrote behind the end";
      }
  }
}

// The range of elements in scratch is that of all values that were stored there.
TEST_P(Floats, KnowWhatScratchHolds) {
  const std::string byte = "!pipe.tensor<u8[w=37]>", real = "!pipe.tensor<f32[w=37]>";
  auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + byte + ", %z: " + byte +
                      "):\n"
                      "%t = pipe.map (%x, %z) {schedule = \"scratch\"} : (" +
                      byte + ", " + byte + ") -> " + real +
                      " {\n^bb0(%p: ui8, %q: ui8, %i: i64):\n%a = pipe.cast value %p : ui8 -> f32\n"
                      "%b = pipe.cast value %q : ui8 -> f32\n%c = pipe.binary sub %a, %b : f32\n"
                      "%y = pipe.binary mul %c, %a : f32\npipe.yield %y : f32\n}\n"
                      "%0 = pipe.map (%t) : (" +
                      real + ") -> " + byte +
                      " {\n^bb0(%p: f32, %i: i64):\n"
                      "%y = pipe.cast clamp %p : f32 -> ui8\npipe.yield %y : ui8\n}\n"
                      "pipe.return %0 : " +
                      byte + "\n}\n");
  std::vector<uint8_t> x(37), z(37), y(38, 7);
  for (size_t i = 0; i < 37; ++i) {
    x[i] = static_cast<uint8_t>(i * 7);
    z[i] = static_cast<uint8_t>(i * 7 + (i % 5) * 3 - 6);
  }
  ASSERT_EQ(
      code->run("k", {TensorArg::of(x, {37}), TensorArg::of(z, {37}), TensorArg::of(y, {37})}, 1),
      0);
  for (size_t i = 0; i < 37; ++i)
    EXPECT_EQ(+y[i], std::clamp((x[i] - z[i]) * x[i], 0, 255)) << i;
}

// A product loses bits of the tiny ones.
TEST_P(Floats, DivideAnything) {
  check("%s = pipe.constant 2.290000e-01 : f32 -> f32\n%y = pipe.binary div %p, %s : f32",
        [](float p, float) { return p / 0.229f; });
}

// One divisor for a row is a product where all are bounded, on any machine that a schedule says it
// of.
TEST_P(Floats, DivideRowsByOneEach) {
  auto code = compile(
      "pipe.kernel @k \"pixels\" schedule {level = " + std::to_string(GetParam()) +
      " : i64, reciprocals} {\n^bb0(%x: !pipe.tensor<f32[h=2, w=37]>, %s: "
      "!pipe.tensor<f32[h=2]>):\n%0 = pipe.map (%x, %s) : (!pipe.tensor<f32[h=2, w=37]>, "
      "!pipe.tensor<f32[h=2]>) -> !pipe.tensor<f32[h=2, w=37]> {\n^bb0(%p: f32, %q: f32, %h: i64, "
      "%w: i64):\n%y = pipe.binary div %p, %q : f32\npipe.yield %y : f32\n}\npipe.return %0 : "
      "!pipe.tensor<f32[h=2, w=37]>\n}\n");
  std::vector<float> all = someFloats(), bounded;
  for (float x : all)
    if (x == 0 || (std::fabs(x) >= 0x1p-60f && std::fabs(x) <= 0x1p60f))
      bounded.push_back(x);
  ASSERT_GT(bounded.size(), 500u);
  std::vector<float> oneBeyond = bounded; // one of a row, in every place
  for (size_t row = 0; (row + 1) * 37 <= oneBeyond.size(); ++row)
    oneBeyond[row * 37 + row % 37] = all[row * 31 % all.size()];
  const std::vector<float> divisors{0.229f,   -3.0f,   0.0f,           -0.0f,        INFINITY,
                                    NAN,      1e-40f,  1e38f,          7.0f,         49.0f,
                                    0x1p-60f, 0x1p60f, 0x1.fffffep-1f, 0x1.000002p0f};
  for (const std::vector<float> &from : {all, bounded, oneBeyond})
    for (size_t d = 0; d + 1 < divisors.size(); d += 2)
      for (size_t at = 0; at + 74 < from.size(); at += 74) {
        std::vector<float> x(from.begin() + static_cast<std::ptrdiff_t>(at),
                             from.begin() + static_cast<std::ptrdiff_t>(at) + 74),
            s{divisors[d], divisors[d + 1]}, y(74 + 64);
        x.resize(74 + 64);
        s.resize(64);
        ASSERT_EQ(
            code->run("k",
                      {TensorArg::of(x, {2, 37}), TensorArg::of(s, {2}), TensorArg::of(y, {2, 37})},
                      1),
            0);
        for (size_t i = 0; i < 74; ++i) {
          float expected = x[i] / s[i / 37];
          if (std::isnan(expected))
            expected = scalar::canonicalNan<float>();
          ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(expected))
              << x[i] << " / " << s[i / 37];
        }
      }
}

TEST_P(Floats, CompareLoadedAndComputedNumbers) {
  const std::string sums =
      "%zero = pipe.constant -0.000000e+00 : f32 -> f32\n%a = pipe.binary add %p, %zero : f32\n"
      "%b = pipe.binary add %q, %zero : f32\n";
  for (const char *kind : {"min", "max"}) {
    auto f = [&](float p, float q) {
      return *kind == 'm' && kind[1] == 'i' ? scalar::min(p, q) : scalar::max(p, q);
    };
    check(sums + "%y = pipe.binary " + kind + " %a, %b : f32", f);
    check(sums + "%n = pipe.binary " + kind + " %a, %b : f32\n%y = pipe.binary " + kind +
              " %n, %b : f32",
          f);
    check(std::string("%y = pipe.binary ") + kind + " %p, %q : f32", f);
    check("%a = pipe.binary sub %p, %q : f32\n%y = pipe.binary " + std::string(kind) +
              " %a, %q : f32",
          [&](float p, float q) { return f(p - q, q); });
  }
}

// Behind a difference whose zeros have one sign in the end, those of its operands do not matter.
TEST_P(Floats, ForgetTheSignsOfZerosThatNobodySees) {
  for (const char *kind : {"min", "max"}) {
    auto f = [&](float p, float q) {
      return kind[1] == 'i' ? scalar::min(p, q) : scalar::max(p, q);
    };
    const std::string extreme = std::string("%e = pipe.binary ") + kind + " %p, %q : f32\n",
                      zero = "%zero = pipe.constant 0.000000e+00 : f32 -> f32\n",
                      positive = "%y = pipe.binary max %d, %zero : f32";
    check(extreme + zero + "%d = pipe.binary sub %e, %q : f32\n" + positive,
          [&](float p, float q) { return scalar::max(f(p, q) - q, 0.0f); });
    check(extreme + zero + "%d = pipe.binary add %q, %e : f32\n" + positive,
          [&](float p, float q) { return scalar::max(q + f(p, q), 0.0f); });
    check(extreme + zero +
              "%o = pipe.binary min %q, %p : f32\n%d = pipe.binary sub %o, %e : f32\n" + positive,
          [&](float p, float q) { return scalar::max(scalar::min(q, p) - f(p, q), 0.0f); });
    check(extreme + zero + "%d = pipe.binary sub %zero, %e : f32\n" + positive,
          [&](float p, float q) { return scalar::max(0 - f(p, q), 0.0f); });
    // A number for all lanes.
    check(zero + "%e = pipe.binary " + kind + " %zero, %zero : f32\n" +
              "%d = pipe.binary sub %p, %e : f32\n%n = pipe.binary " + kind +
              " %d, %q : f32\n%y = pipe.binary max %n, %zero : f32",
          [&](float p, float q) { return scalar::max(f(p, q), 0.0f); });
    // Where they are seen, they are kept.
    check(extreme + "%y = pipe.binary sub %e, %q : f32",
          [&](float p, float q) { return f(p, q) - q; });
    check(extreme + zero +
              "%d = pipe.binary add %e, %q : f32\n%y = pipe.binary min %d, %zero : f32",
          [&](float p, float q) { return scalar::min(f(p, q) + q, 0.0f); });
  }
}

// Which NaN a file has is seen neither in what is stored nor as another type's bits.
TEST_P(Floats, TakeHalvesWithAnyNan) {
  const std::vector<uint16_t> halves{0x0000, 0x8000, 0x7C00, 0x7C01, 0x7FFF, 0xFE01,
                                     0xFF80, 0x0001, 0x7F80, 0x7F81, 0xFF81, 0xFFC0,
                                     0x3C00, 0xFC00, 0x7BFF, 0x7E00, 0x7FC0};
  for (const auto &[type, infinity, nan] :
       {std::tuple{"f16", 0x7C00, 0x7E00}, {"bf16", 0x7F80, 0x7FC0}}) {
    const std::string half = std::string("!pipe.tensor<") + type + "[w=17]>",
                      bits = "!pipe.tensor<i16[w=17]>";
    auto cast = [](const std::string &name, const std::string &in, const std::string &from,
                   const std::string &to) {
      return name + " = pipe.map (" + in + ") : (!pipe.tensor<" + from +
             "[w=17]>) -> !pipe.tensor<" + to + "[w=17]> {\n^bb0(%p: " + from +
             ", %w: i64):\n%c = pipe.cast bits %p : " + from + " -> " + to +
             "\npipe.yield %c : " + to + "\n}\n";
    };
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + half + ", %b: " + bits + "):\n" +
                        cast("%s", "%x", type, "i16") + cast("%t", "%b", "i16", type) +
                        "pipe.return %x, %s, %t : " + half + ", " + bits + ", " + half + "\n}\n");
    std::vector<uint16_t> in(halves), same(64), shown(64), made(64);
    in.resize(64);
    auto tensor = [](auto &of) { return TensorArg::of(of, {17}); };
    ASSERT_EQ(
        code->run("k", {tensor(in), tensor(in), tensor(same), tensor(shown), tensor(made)}, 2), 0);
    for (size_t i = 0; i < halves.size(); ++i) {
      const int expected = (halves[i] & 0x7FFF) > infinity ? nan : halves[i];
      EXPECT_EQ(same[i], expected) << type;
      EXPECT_EQ(shown[i], expected) << type;
      EXPECT_EQ(made[i], expected) << type;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Floats, testing::Values(2, 3, 4, 5));

} // namespace
