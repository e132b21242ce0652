// SPDX-License-Identifier: Apache-2.0
//
// F16 and bf16 against a slow definition.
//
// The slow definition: the representable value nearest to the number, and of
// two the one whose last bit is 0; found by searching all of them.
#include "runtime/abi/random.h"
#include "runtime/abi/scalar.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

using namespace penstock::scalar;

namespace {

/// A format by its numbers of bits; `infinity` is the first pattern past the
/// finite ones.
struct Format {
  int exponentBits, mantissaBits;
  uint16_t nan;

  uint16_t infinity() const {
    return static_cast<uint16_t>(((1 << exponentBits) - 1) << mantissaBits);
  }

  /// The value of a positive finite pattern; of `infinity`, the value that the
  /// next step would have, as IEEE 754 rounds.
  double value(uint16_t pattern) const {
    const int bias = (1 << (exponentBits - 1)) - 1;
    const int exponent = pattern >> mantissaBits;
    const int mantissa = pattern & ((1 << mantissaBits) - 1);
    return exponent == 0
               ? std::ldexp(mantissa, 1 - bias - mantissaBits)
               : std::ldexp(mantissa + (1 << mantissaBits), exponent - bias - mantissaBits);
  }

  uint16_t nearest(double number) const {
    if (number != number)
      return nan;
    const uint16_t sign = std::signbit(number) ? 0x8000 : 0;
    const double magnitude = std::fabs(number);
    if (magnitude >= value(infinity()))
      return sign | infinity();
    // The last pattern that is not above the number.
    uint16_t low = 0, high = infinity();
    while (high - low > 1) {
      const auto middle = static_cast<uint16_t>((low + high) / 2);
      (value(middle) <= magnitude ? low : high) = middle;
    }
    // Both differences are exact: neighbours share most bits.
    const double below = magnitude - value(low), above = value(high) - magnitude;
    return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
  }
};
constexpr Format half{5, 10, 0x7E00};
constexpr Format bfloat{8, 7, 0x7FC0};

TEST(ScalarStorage, everyHalfSurvivesTheWayToF32AndBack) {
  for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto stored = static_cast<uint16_t>(pattern);
    const bool isNan = (pattern & 0x7FFF) > 0x7C00;
    const float value = fromHalf(stored);
    ASSERT_EQ(toHalf(value), isNan ? 0x7E00 : stored) << pattern;
    if (!isNan && (pattern & 0x7FFF) != 0x7C00)
      ASSERT_EQ(std::fabs(static_cast<double>(value)), half.value(stored & 0x7FFF)) << pattern;
  }
}

TEST(ScalarStorage, everyBfloatSurvivesTheWayToF32AndBack) {
  for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto stored = static_cast<uint16_t>(pattern);
    const bool isNan = (pattern & 0x7FFF) > 0x7F80;
    ASSERT_EQ(toBfloat(fromBfloat(stored)), isNan ? 0x7FC0 : stored) << pattern;
  }
}

/// The numbers around every boundary between two patterns: the pattern itself,
/// the middle, and the f32 and f64 neighbours of both.
template <typename Check> void forEachEdge(const Format &format, Check check) {
  for (uint32_t pattern = 0; pattern < format.infinity(); ++pattern) {
    const double low = format.value(static_cast<uint16_t>(pattern));
    const double high = format.value(static_cast<uint16_t>(pattern + 1));
    for (double center : {low, (low + high) / 2})
      for (double number :
           {center, std::nextafter(center, INFINITY), std::nextafter(center, 0),
            static_cast<double>(std::nextafter(static_cast<float>(center), INFINITY)),
            static_cast<double>(std::nextafter(static_cast<float>(center), 0.0f))}) {
        check(number);
        check(-number);
      }
  }
}

TEST(ScalarStorage, halfRoundsF64OnceAroundEveryBoundary) {
  forEachEdge(half, [](double number) {
    ASSERT_EQ(toHalf(number), half.nearest(number)) << number;
    if (static_cast<double>(static_cast<float>(number)) == number)
      ASSERT_EQ(toHalf(static_cast<float>(number)), half.nearest(number)) << number;
  });
}

TEST(ScalarStorage, bfloatRoundsF64OnceAroundEveryBoundary) {
  forEachEdge(bfloat, [](double number) {
    ASSERT_EQ(toBfloat(number), bfloat.nearest(number)) << number;
    if (static_cast<double>(static_cast<float>(number)) == number)
      ASSERT_EQ(toBfloat(static_cast<float>(number)), bfloat.nearest(number)) << number;
  });
}

TEST(ScalarStorage, extremes) {
  EXPECT_EQ(toHalf(65519.0f), 0x7BFF);
  EXPECT_EQ(toHalf(65520.0f), 0x7C00);
  EXPECT_EQ(toHalf(-1e300), 0xFC00);
  EXPECT_EQ(toHalf(std::numeric_limits<double>::infinity()), 0x7C00);
  EXPECT_EQ(toHalf(-std::numeric_limits<double>::quiet_NaN()), 0x7E00);
  EXPECT_EQ(toHalf(std::bit_cast<float>(0xFFC12345u)), 0x7E00);
  EXPECT_EQ(toBfloat(1e300), 0x7F80);
  EXPECT_EQ(toBfloat(std::bit_cast<float>(0x7F800001u)), 0x7FC0);
  EXPECT_EQ(toHalf(-1e-300), 0x8000);
  EXPECT_EQ(toBfloat(-1e-300), 0x8000);
  EXPECT_EQ(toBfloat(0x1p-133f), 0x0001); // subnormals are kept
}

/// The f64 whose last bit remembers what an i64 lost.
TEST(ScalarStorage, integersGoThroughAnOddDouble) {
  EXPECT_EQ(oddDouble(0), 0.0);
  EXPECT_EQ(oddDouble((int64_t{1} << 53) - 1), 0x1p53 - 1);
  EXPECT_EQ(oddDouble((int64_t{1} << 62) + 1), 0x1p62 + 0x1p10);
  EXPECT_EQ(oddDouble(-(int64_t{1} << 62) - 1), -0x1p62 - 0x1p10);
  EXPECT_EQ(oddDouble(std::numeric_limits<int64_t>::min()), -0x1p63);
  // A tie of bf16 with one bit more: up, although the nearest f64 is the tie.
  const int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);
  EXPECT_EQ(toBfloat(oddDouble(tie)), 0x5E80);
  EXPECT_EQ(toBfloat(oddDouble(tie + 1)), 0x5E81);
  EXPECT_EQ(toBfloat(static_cast<double>(tie + 1)), 0x5E80);
}

} // namespace
