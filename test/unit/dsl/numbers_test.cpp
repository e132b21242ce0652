// SPDX-License-Identifier: Apache-2.0
//
// Numbers that come as text: what parameters of each type take.

#include "dsl/AST/Numbers.h"
#include <gtest/gtest.h>

using namespace penstock::dsl;

namespace {

double valueOf(const char *type, const char *text) {
  std::optional<Number> number = parseNumber(type, text);
  return number ? number->value : -12345;
}

bool refuses(const char *type, const char *text) { return !parseNumber(type, text); }

TEST(Numbers, IntegersHaveNoFractionAndNoUnit) {
  EXPECT_EQ(parseNumber("int", " 1_000 ")->whole, 1000);
  EXPECT_EQ(parseNumber("int", "-7")->whole, -7);
  EXPECT_EQ(parseNumber("int", "9223372036854775807")->whole, INT64_MAX);
  for (const char *text :
       {"", "1.5", "1e3", "5%", "few", "0x10", "9223372036854775808", "1 2", "--1"})
    EXPECT_TRUE(refuses("int", text)) << text;
}

TEST(Numbers, IntegersStayWithinTheirType) {
  EXPECT_EQ(parseNumber("u8", "255")->whole, 255);
  EXPECT_EQ(parseNumber("i8", "-128")->whole, -128);
  for (auto [type, text] : {std::pair{"u8", "256"},
                            {"u8", "-1"},
                            {"i8", "128"},
                            {"i16", "32768"},
                            {"u16", "65536"},
                            {"i32", "2147483648"}})
    EXPECT_TRUE(refuses(type, text)) << type << " " << text;
}

TEST(Numbers, FloatsTakeSharesToo) {
  EXPECT_EQ(valueOf("f32", "0.5"), 0.5);
  EXPECT_EQ(valueOf("f64", "-1e-6"), -1e-6);
  EXPECT_EQ(valueOf("f64", "2E+3"), 2000);
  EXPECT_EQ(valueOf("ratio", "25%"), 0.25);
  EXPECT_TRUE(refuses("f64", "5ms"));
  EXPECT_TRUE(refuses("f64", "half"));
}

TEST(Numbers, FloatsStayFinite) {
  EXPECT_EQ(valueOf("f16", "65519"), 65519);
  EXPECT_EQ(valueOf("bf16", "-3.39e38"), -3.39e38);
  EXPECT_EQ(valueOf("f32", "3.4028235e38"), 3.4028235e38);
  EXPECT_EQ(valueOf("f64", "1.79e308"), 1.79e308);
  for (auto [type, text, end] : {std::tuple{"f16", "65520", "f16, which ends at 65504"},
                                 {"f16", "-7e4", "f16, which ends at 65504"},
                                 {"bf16", "3.4e38", "bf16, which ends at 3.39e38"},
                                 {"f32", "1e39", "f32, which ends at 3.4e38"},
                                 {"f32", "1e400", "f32, which ends at 3.4e38"},
                                 {"f64", "1e309", "f64, which ends at 1.8e308"},
                                 {"duration", "1e308min", "f64, which ends at 1.8e308"},
                                 {"int", "9223372036854775808", "64 bits"}}) {
    EXPECT_TRUE(refuses(type, text)) << type << " " << text;
    EXPECT_EQ(exceeded(type, text), end);
  }
  for (auto [type, text] :
       {std::pair{"u8", "300"}, {"int", "few"}, {"f32", "1e-400"}, {"f32", "half"}, {"f64", "1"}})
    EXPECT_EQ(exceeded(type, text), "") << type << " " << text;
}

TEST(Numbers, UnitsAreOfTheKindOfTheType) {
  EXPECT_EQ(valueOf("duration", "25ms"), 0.025);
  EXPECT_EQ(valueOf("frequency", "16kHz"), 16000);
  EXPECT_EQ(valueOf("angle", "-3deg"), -3);
  EXPECT_EQ(valueOf("length", "1.5mm"), 0.0015);
  for (auto [type, text] : {std::pair{"angle", "10ms"},
                            {"angle", "10"},
                            {"duration", "5deg"},
                            {"duration", "5 fortnights"}})
    EXPECT_TRUE(refuses(type, text)) << type << " " << text;
}

TEST(Numbers, EachTypeSaysWhatItTakes) {
  EXPECT_EQ(describeValues("u8"), "a whole number from 0 to 255");
  EXPECT_EQ(describeValues("i16"), "a whole number from -32768 to 32767");
  EXPECT_EQ(describeValues("angle"), "a number with a unit, such as `3deg`");
  EXPECT_EQ(describeValues("bool"), "`true` or `false`");
}

} // namespace
