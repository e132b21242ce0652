// SPDX-License-Identifier: Apache-2.0
//
// The table of scalar semantics.
//
// Each rule of docs/scalars.md, with the cases at which
// processors and languages differ.
#include "runtime/abi/scalar.h"
#include <gtest/gtest.h>

using namespace penstock::scalar;

namespace {

constexpr int32_t min32 = std::numeric_limits<int32_t>::min();
constexpr int32_t max32 = std::numeric_limits<int32_t>::max();
constexpr int64_t min64 = std::numeric_limits<int64_t>::min();
constexpr int64_t max64 = std::numeric_limits<int64_t>::max();
const double nan64 = std::numeric_limits<double>::quiet_NaN();
const double inf64 = std::numeric_limits<double>::infinity();

/// Bits, so that -0 and NaN compare.
uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }
uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

TEST(ScalarInteger, arithmeticWraps) {
  EXPECT_EQ(add<uint8_t>(200, 100), 44);
  EXPECT_EQ(sub<uint8_t>(1, 2), 255);
  EXPECT_EQ(mul<uint16_t>(65535, 65535), 1);
  EXPECT_EQ(add<int8_t>(127, 1), -128);
  EXPECT_EQ(add<int32_t>(max32, 1), min32);
  EXPECT_EQ(sub<int32_t>(min32, 1), max32);
  EXPECT_EQ(mul<int32_t>(65536, 65536), 0);
  EXPECT_EQ(add<int64_t>(max64, 1), min64);
  EXPECT_EQ(mul<int64_t>(min64, -1), min64);
  EXPECT_EQ(neg<int64_t>(min64), min64);
  EXPECT_EQ(penstock::scalar::abs<int32_t>(min32), min32);
  EXPECT_EQ(penstock::scalar::abs<int16_t>(-7), 7);
  EXPECT_EQ(neg<uint8_t>(1), 255);
}

TEST(ScalarInteger, divisionTruncatesAndIsTotal) {
  EXPECT_EQ(penstock::scalar::div<int32_t>(-7, 2), -3);
  EXPECT_EQ(penstock::scalar::div<int32_t>(7, -2), -3);
  EXPECT_EQ(penstock::scalar::div<int32_t>(7, 0), 0);
  EXPECT_EQ(penstock::scalar::div<int32_t>(min32, -1), min32);
  EXPECT_EQ(penstock::scalar::div<int64_t>(min64, -1), min64);
  EXPECT_EQ(penstock::scalar::div<int8_t>(-128, -1), -128);
  EXPECT_EQ(penstock::scalar::div<uint8_t>(250, 7), 35);
}

TEST(ScalarInteger, remainderHasTheDividendsSignAndIsTotal) {
  EXPECT_EQ(rem<int32_t>(-7, 2), -1);
  EXPECT_EQ(rem<int32_t>(7, -2), 1);
  EXPECT_EQ(rem<int32_t>(7, 0), 0);
  EXPECT_EQ(rem<int32_t>(min32, -1), 0);
  EXPECT_EQ(rem<int64_t>(min64, -1), 0);
  EXPECT_EQ(rem<uint16_t>(65535, 256), 255);
}

TEST(ScalarInteger, shiftCountsAreMasked) {
  EXPECT_EQ(shl<uint8_t>(1, 8), 1);
  EXPECT_EQ(shl<uint8_t>(255, 1), 254);
  EXPECT_EQ(shl<int32_t>(1, 33), 2);
  EXPECT_EQ(shl<int32_t>(1, -1), min32);
  EXPECT_EQ(shl<int64_t>(1, 64), 1);
  EXPECT_EQ(shr<int8_t>(-128, 9), -64);
  EXPECT_EQ(shr<uint8_t>(128, 9), 64);
  EXPECT_EQ(shr<int32_t>(-1, 31), -1);
  EXPECT_EQ(shr<int64_t>(min64, 63), -1);
}

TEST(ScalarInteger, castsKeepLowBitsOrSaturate) {
  EXPECT_EQ((wrap<uint8_t>(int32_t{-1})), 255);
  EXPECT_EQ((wrap<int8_t>(int32_t{200})), -56);
  EXPECT_EQ((wrap<int64_t>(uint8_t{200})), 200);
  EXPECT_EQ((wrap<uint16_t>(int8_t{-1})), 65535);
  EXPECT_EQ((saturate<uint8_t>(int32_t{-1})), 0);
  EXPECT_EQ((saturate<uint8_t>(int32_t{256})), 255);
  EXPECT_EQ((saturate<int8_t>(uint8_t{200})), 127);
  EXPECT_EQ((saturate<int16_t>(int64_t{min64})), -32768);
  EXPECT_EQ((saturate<int32_t>(int64_t{max64})), max32);
  EXPECT_EQ((saturate<int64_t>(int64_t{max64})), max64);
}

TEST(ScalarFloat, minAndMaxPreferTheNumberAndOrderZeros) {
  EXPECT_EQ(penstock::scalar::min(nan64, 1.0), 1.0);
  EXPECT_EQ(penstock::scalar::min(1.0, nan64), 1.0);
  EXPECT_EQ(penstock::scalar::max(nan64, -inf64), -inf64);
  EXPECT_TRUE(std::isnan(penstock::scalar::min(nan64, nan64)));
  EXPECT_TRUE(std::isnan(penstock::scalar::max(nan64, nan64)));
  for (auto [a, b] : {std::pair{0.0, -0.0}, {-0.0, 0.0}}) {
    EXPECT_EQ(bits(penstock::scalar::min(a, b)), bits(-0.0));
    EXPECT_EQ(bits(penstock::scalar::max(a, b)), bits(0.0));
  }
  EXPECT_EQ(penstock::scalar::min(-1.0f, 2.0f), -1.0f);
  EXPECT_EQ(penstock::scalar::max<int8_t>(-1, 2), 2);
}

TEST(ScalarFloat, divisionIsIeee) {
  EXPECT_EQ(penstock::scalar::div(1.0, 0.0), inf64);
  EXPECT_EQ(penstock::scalar::div(1.0, -0.0), -inf64);
  EXPECT_TRUE(std::isnan(penstock::scalar::div(0.0, 0.0)));
  EXPECT_EQ(rem(5.5, 2.0), 1.5);
  EXPECT_EQ(rem(-5.5, 2.0), -1.5);
  EXPECT_EQ(bits(rem(-4.0, 2.0)), bits(-0.0));
  EXPECT_TRUE(std::isnan(rem(1.0, 0.0)));
}

TEST(ScalarFloat, noSubnormalIsFlushed) {
  volatile float tiny = 0x1p-149f, half = 0.5f;
  EXPECT_EQ(bits(add<float>(tiny, 0.0f)), 1u);
  EXPECT_EQ(bits(mul<float>(0x1p-126f, half)), 0x00400000u);
}

template <typename T> void expectRounds(T input, T even, T away) {
  EXPECT_EQ(bits(penstock::scalar::round(input)), bits(even)) << input;
  EXPECT_EQ(bits(roundAway(input)), bits(away)) << input;
}

TEST(ScalarFloat, roundIsHalfToEven) {
  expectRounds(0.5, 0.0, 1.0);
  expectRounds(1.5, 2.0, 2.0);
  expectRounds(2.5, 2.0, 3.0);
  expectRounds(-0.5, -0.0, -1.0);
  expectRounds(-1.5, -2.0, -2.0);
  expectRounds(-2.5, -2.0, -3.0);
  expectRounds(-0.2, -0.0, -0.0);
  expectRounds(-0.0, -0.0, -0.0);
  expectRounds(0x1p52 + 1, 0x1p52 + 1, 0x1p52 + 1);
  expectRounds(0x1p51 + 0.5, 0x1p51, 0x1p51 + 1);
  expectRounds(0.49999999999999994, 0.0, 0.0);
  expectRounds(inf64, inf64, inf64);
  expectRounds(8388609.0f, 8388609.0f, 8388609.0f);
  expectRounds(4194304.5f, 4194304.0f, 4194305.0f);
  EXPECT_TRUE(std::isnan(penstock::scalar::round(nan64)));
}

TEST(ScalarFloat, toIntegerTruncatesSaturatesAndTakesNanToZero) {
  EXPECT_EQ((floatToInt<int32_t>(-1.9)), -1);
  EXPECT_EQ((floatToInt<uint8_t>(-0.9)), 0);
  EXPECT_EQ((floatToInt<uint8_t>(-1.0)), 0);
  EXPECT_EQ((floatToInt<uint8_t>(255.9f)), 255);
  EXPECT_EQ((floatToInt<uint8_t>(256.0f)), 255);
  EXPECT_EQ((floatToInt<int8_t>(-128.9)), -128);
  EXPECT_EQ((floatToInt<int8_t>(-129.0)), -128);
  EXPECT_EQ((floatToInt<int32_t>(2147483647.0f)), max32);
  EXPECT_EQ((floatToInt<int32_t>(-2147483904.0f)), min32);
  EXPECT_EQ((floatToInt<int64_t>(0x1p63)), max64);
  EXPECT_EQ((floatToInt<int64_t>(-0x1p63)), min64);
  EXPECT_EQ((floatToInt<int64_t>(0x1.fffffffffffffp62)), 0x7FFFFFFFFFFFFC00);
  EXPECT_EQ((floatToInt<int64_t>(inf64)), max64);
  EXPECT_EQ((floatToInt<int16_t>(-inf64)), -32768);
  EXPECT_EQ((floatToInt<int64_t>(nan64)), 0);
  EXPECT_EQ((floatToInt<uint16_t>(std::numeric_limits<float>::quiet_NaN())), 0);
}

TEST(ScalarFloat, canonicalNan) {
  EXPECT_EQ(bits(canonicalNan<float>()), 0x7FC00000u);
  EXPECT_EQ(bits(canonicalNan<double>()), 0x7FF8000000000000u);
}

} // namespace
