// SPDX-License-Identifier: Apache-2.0
//
// Class R, against tables by hand.
#include "test/unit/stdlib/OneSample.h"
#include <cmath>

using namespace penstock::reference;
using Reals = std::vector<double>;

namespace {

const double inf = INFINITY;
const std::map<std::string, Field> row = {
    {"x", tensorOf<int>(DType::u8, {"h", "w"}, {2, 3}, {1, 2, 253, 4, 2, 6})},
    {"f", tensorOf<double>(DType::f32, {"w"}, {5}, {0.0, NAN, -0.0, 2, -1})},
    {"z", tensorOf<double>(DType::f32, {"w"}, {4}, {0.0, -0.0, 0.0, -0.0})},
    {"b", tensorOf<int>(DType::boolean, {"w"}, {5}, {1, 0, 0, 1, 1})},
    {"k", tensorOf<int>(DType::i32, {"w", "d"}, {5, 2}, {3, 1, 0, 0, 3, 1, 9, 9, 0, 0})}};

Reals reduced(const std::string &kind, const std::string &field, const std::string &in,
              const std::string &over, const std::string &out) {
  OneSample p;
  return reals(p.tensor("%x = pipe.field %row \"" + field + "\" : " + in + "\n%r = pipe.reduce " +
                            kind + " %x over [" + over + "] : " + in + " -> " + out,
                        out, row));
}

TEST(ReferenceReduce, integersWrapAndKeepTheOtherAxes) {
  const std::string x = "!pipe.tensor<u8[h=2, w=3]>";
  EXPECT_EQ(reduced("sum", "x", x, "\"w\"", "!pipe.tensor<u8[h=2]>"), (Reals{0, 12}));
  EXPECT_EQ(reduced("min", "x", x, "\"h\"", "!pipe.tensor<u8[w=3]>"), (Reals{1, 2, 6}));
  EXPECT_EQ(reduced("max", "x", x, "\"h\", \"w\"", "!pipe.tensor<u8[]>"), Reals{253});
  EXPECT_EQ(reduced("argmax", "x", x, "\"w\", \"h\"", "!pipe.tensor<i64[]>"), Reals{2});
  EXPECT_EQ(reduced("argmin", "x", x, "\"h\"", "!pipe.tensor<i64[w=3]>"), (Reals{0, 0, 1}));
}

TEST(ReferenceReduce, floatsPassOverNan) {
  const std::string f = "!pipe.tensor<f32[w=5]>", one = "!pipe.tensor<f32[]>";
  EXPECT_EQ(reduced("min", "f", f, "\"w\"", one), Reals{-1});
  EXPECT_EQ(reduced("max", "f", f, "\"w\"", one), Reals{2});
  EXPECT_TRUE(std::isnan(reduced("sum", "f", f, "\"w\"", one)[0]));
  EXPECT_EQ(reduced("argmin", "f", f, "\"w\"", "!pipe.tensor<i64[]>"), Reals{4});
}

TEST(ReferenceReduce, theSmallestOfZerosIsTheNegativeOne) {
  const std::string z = "!pipe.tensor<f32[w=4]>", one = "!pipe.tensor<i64[]>";
  EXPECT_EQ(reduced("argmin", "z", z, "\"w\"", one), Reals{1});
  EXPECT_EQ(reduced("argmax", "z", z, "\"w\"", one), Reals{0});
}

TEST(ReferenceReduce, boolsCount) {
  const std::string b = "!pipe.tensor<bool[w=5]>";
  EXPECT_EQ(reduced("any", "b", b, "\"w\"", "!pipe.tensor<bool[]>"), Reals{1});
  EXPECT_EQ(reduced("all", "b", b, "\"w\"", "!pipe.tensor<bool[]>"), Reals{0});
  EXPECT_EQ(reduced("count", "b", b, "\"w\"", "!pipe.tensor<i64[]>"), Reals{3});
}

TEST(ReferenceReduce, ofNoElements) {
  OneSample p;
  const auto empty = [&](const std::string &kind, const std::string &element,
                         const std::string &out) {
    return reals(p.tensor("%e = pipe.constant 0 : i64 -> i64 %o = pipe.constant 0" +
                              std::string(element[0] == 'f' ? ".0 : f32 -> f32" : " : i8 -> i8") +
                              " %x = pipe.map () sizes(%e) : () -> !pipe.tensor<" + element +
                              "[w=?]> {\n^bb0(%w: i64): pipe.yield %o : " + element +
                              "\n}\n%r = pipe.reduce " + kind + " %x over [\"w\"] : !pipe.tensor<" +
                              element + "[w=?]> -> !pipe.tensor<" + out + "[]>",
                          "!pipe.tensor<" + out + "[]>", row))[0];
  };
  EXPECT_EQ(empty("sum", "f32", "f32"), 0);
  EXPECT_EQ(empty("min", "f32", "f32"), inf);
  EXPECT_EQ(empty("max", "f32", "f32"), -inf);
  EXPECT_EQ(empty("min", "i8", "i8"), 127);
  EXPECT_EQ(empty("max", "i8", "i8"), -128);
  EXPECT_EQ(empty("argmin", "f32", "i64"), 0);
}

// 2^24 in lane 0 swallows a one in the same lane, but not the ones of others.
TEST(ReferenceReduce, floatSumsHave32LanesAndATree) {
  std::vector<double> elements(70, 0);
  elements[0] = 0x1p24;
  elements[32] = 1; // lane 0 again: lost
  elements[64] = 1; // lost
  elements[1] = 1;  // lane 1
  elements[17] = 1; // lane 17, added to lane 1 first: 2 survives
  OneSample p;
  const std::string in = "!pipe.tensor<f32[w=70]>";
  EXPECT_EQ(reals(p.tensor(
                "%x = pipe.field %row \"x\" : " + in +
                    " %r = pipe.reduce sum %x over [\"w\"] : " + in + " -> !pipe.tensor<f32[]>",
                "!pipe.tensor<f32[]>", {{"x", tensorOf(DType::f32, {"w"}, {70}, elements)}})),
            Reals{0x1p24 + 2});
}

TEST(ReferenceReduce, scans) {
  OneSample p;
  const auto scanned = [&](const std::string &kind, const std::string &factor) {
    return reals(p.tensor("%x = pipe.field %row \"x\" : !pipe.tensor<u8[h=2, w=3]>\n"
                          "%f = pipe.cast value %x : !pipe.tensor<u8[h=2, w=3]> -> "
                          "!pipe.tensor<f64[h=2, w=3]>\n"
                          "%factor = pipe.constant 0.5 : f64 -> f64\n"
                          "%r = pipe.scan " +
                              kind + " %f along \"w\" " + factor +
                              " : !pipe.tensor<f64[h=2, w=3]> -> !pipe.tensor<f64[h=2, w=3]>",
                          "!pipe.tensor<f64[h=2, w=3]>", row));
  };
  EXPECT_EQ(scanned("sum", ""), (Reals{1, 3, 256, 4, 6, 12}));
  EXPECT_EQ(scanned("max", ""), (Reals{1, 2, 253, 4, 4, 6}));
  EXPECT_EQ(scanned("recurrence", "factor(%factor)"), (Reals{1, 2.5, 254.25, 4, 4, 8}));
}

TEST(ReferenceReduce, aRunningMaximumIsNanUntilThereIsANumber) {
  OneSample p;
  const Reals found =
      reals(p.tensor("%f = pipe.constant dense<[0x7FC00000, 2.0, 1.0]> : tensor<3xf32> -> "
                     "!pipe.tensor<f32[w=3]>\n%r = pipe.scan max %f along \"w\" : "
                     "!pipe.tensor<f32[w=3]> -> !pipe.tensor<f32[w=3]>",
                     "!pipe.tensor<f32[w=3]>", row));
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_EQ(found[1], 2);
  EXPECT_EQ(found[2], 2);
}

TEST(ReferenceReduce, histogramCountsKeysInside) {
  OneSample p;
  EXPECT_EQ(reals(p.tensor("%x = pipe.field %row \"x\" : !pipe.tensor<u8[h=2, w=3]>\n"
                           "%r = pipe.histogram %x over [\"w\"] : !pipe.tensor<u8[h=2, w=3]> -> "
                           "!pipe.tensor<i32[h=2, bin=5]>",
                           "!pipe.tensor<i32[h=2, bin=5]>", row)),
            (Reals{0, 1, 1, 0, 0, 0, 0, 1, 0, 1}));
}

TEST(ReferenceReduce, contractMultipliesByAMatrix) {
  OneSample p;
  EXPECT_EQ(reals(p.tensor(
                "%v = pipe.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> -> "
                "!pipe.tensor<f32[t=2, c=2]>\n"
                "%m = pipe.constant dense<[[1.0, 0.0, 10.0], [0.0, 1.0, 100.0]]> : tensor<2x3xf32> "
                "-> !pipe.tensor<f32[c=2, d=3]>\n"
                "%r = pipe.contract %v by %m : !pipe.tensor<f32[t=2, c=2]>, "
                "!pipe.tensor<f32[c=2, d=3]> -> !pipe.tensor<f32[t=2, d=3]>",
                "!pipe.tensor<f32[t=2, d=3]>")),
            (Reals{1, 2, 210, 3, 4, 430}));
}

TEST(ReferenceReduce, compactKeepsWhatTheMaskSelects) {
  OneSample p;
  const std::string ops = "%f = pipe.field %row \"f\" : !pipe.tensor<f32[w=5]>\n"
                          "%b = pipe.field %row \"b\" : !pipe.tensor<bool[w=5]>\n"
                          "%c, %m = pipe.compact %f along \"w\" where %b : !pipe.tensor<f32[w=5]>, "
                          "!pipe.tensor<bool[w=5]> -> !pipe.tensor<f32[w=5]>, "
                          "!pipe.tensor<i64[]>\n";
  EXPECT_EQ(reals(p.tensor(ops + "%r = pipe.cast value %c : !pipe.tensor<f32[w=5]> -> "
                                 "!pipe.tensor<i32[w=5]>",
                           "!pipe.tensor<i32[w=5]>", row)),
            (Reals{0, 2, -1, 0, 0}));
  EXPECT_EQ(reals(p.tensor(ops + "%r = pipe.cast value %m : !pipe.tensor<i64[]> -> "
                                 "!pipe.tensor<i32[]>",
                           "!pipe.tensor<i32[]>", row)),
            Reals{3});
}

TEST(ReferenceReduce, groupsStandInTheOrderOfTheirFirstElement) {
  const auto group = [&](const std::string &limit, const std::string &mask,
                         const std::string &shown, const std::string &type) {
    OneSample p;
    return reals(p.tensor(
        "%k = pipe.field %row \"k\" : !pipe.tensor<i32[w=5, d=2]>\n"
        "%b = pipe.field %row \"b\" : !pipe.tensor<bool[w=5]>\n"
        "%slot, %first, %count = pipe.group %k along \"w\" " +
            (mask.empty() ? "" : "where " + mask + " ") + "limit " + limit +
            " : !pipe.tensor<i32[w=5, d=2]>" + (mask.empty() ? "" : ", !pipe.tensor<bool[w=5]>") +
            " -> !pipe.tensor<i64[w=5]>, !pipe.tensor<i64[m=4]>, "
            "!pipe.tensor<i64[]>\n%r = pipe.cast value " +
            shown + " : !pipe.tensor<i64" + type + "> -> !pipe.tensor<i32" + type + ">",
        "!pipe.tensor<i32" + type + ">", row));
  };
  EXPECT_EQ(group("9", "", "%slot", "[w=5]"), (Reals{0, 1, 0, 2, 1}));
  EXPECT_EQ(group("9", "", "%first", "[m=4]"), (Reals{0, 1, 3, 0}));
  EXPECT_EQ(group("9", "", "%count", "[]"), Reals{3});
  EXPECT_EQ(group("1", "", "%slot", "[w=5]"), (Reals{0, -1, 0, -1, -1}));
  EXPECT_EQ(group("1", "", "%count", "[]"), Reals{1});
  EXPECT_EQ(group("9", "%b", "%slot", "[w=5]"), (Reals{0, -1, -1, 1, 2}));
  EXPECT_EQ(group("9", "%b", "%first", "[m=4]"), (Reals{0, 3, 4, 0}));
}

TEST(ReferenceReduce, groupsAreReducedEachByItself) {
  const auto reduced = [&](const std::string &kind, const std::string &from,
                           const std::string &to) {
    OneSample p;
    return reals(p.tensor(
        "%x = pipe.field %row \"f\" : !pipe.tensor<f32[w=5]>\n%b = pipe.field %row \"b\" : "
        "!pipe.tensor<bool[w=5]>\n%g = pipe.constant dense<[1, 0, 1, -1, 3]> : tensor<5xi64> -> "
        "!pipe.tensor<i64[w=5]>\n%r = pipe.reduce_by " +
            kind + " " + from + " along \"w\" by %g : !pipe.tensor<" + to.substr(0, to.find(' ')) +
            "[w=5]>, !pipe.tensor<i64[w=5]> -> !pipe.tensor<" + to.substr(to.find(' ') + 1) +
            "[m=3]>",
        "!pipe.tensor<" + to.substr(to.find(' ') + 1) + "[m=3]>", row));
  };
  // Elements of no group of the result are left out; group 0 has nothing but NaN, group 2 nothing.
  const Reals most = reduced("max", "%x", "f32 f32");
  EXPECT_TRUE(std::isnan(most[0]));
  EXPECT_EQ(most[1], 0);
  EXPECT_EQ(most[2], -inf);
  EXPECT_EQ(reduced("min", "%x", "f32 f32")[2], inf);
  EXPECT_TRUE(std::isnan(reduced("sum", "%x", "f32 f32")[0]));
  EXPECT_EQ(reduced("sum", "%x", "f32 f32")[1], 0);
  EXPECT_EQ(reduced("count", "%b", "bool i64"), (Reals{0, 1, 0}));
  EXPECT_EQ(reduced("all", "%b", "bool bool"), (Reals{0, 0, 1}));
  // Places of the whole axis; of NaNs alone the first, of nothing 0.
  EXPECT_EQ(reduced("argmin", "%x", "f32 i64"), (Reals{1, 2, 0}));
  EXPECT_EQ(reduced("argmax", "%x", "f32 i64"), (Reals{1, 0, 0}));
}

TEST(ReferenceReduce, sortIsStableWithNanLastAndZerosApart) {
  OneSample p;
  EXPECT_EQ(reals(p.tensor("%f = pipe.field %row \"f\" : !pipe.tensor<f32[w=5]>\n"
                           "%r = pipe.sort %f along \"w\" : !pipe.tensor<f32[w=5]> -> "
                           "!pipe.tensor<i64[w=5]>",
                           "!pipe.tensor<i64[w=5]>", row)),
            (Reals{4, 2, 0, 3, 1}));
}

// Against the sum that defines it, for lengths of every kind of factor.
TEST(ReferenceReduce, theTransformIsTheSumOfTurns) {
  for (const int n : {1, 2, 3, 4, 5, 6, 8, 9, 12, 15, 16, 17, 19, 20, 22, 30, 34}) {
    std::vector<double> x;
    for (int i = 0; i < n; ++i)
      x.push_back(std::sin(i * i + 0.3) * 10);
    const std::string in = "!pipe.tensor<f64[t=" + std::to_string(n) + "]>",
                      out = "!pipe.tensor<f64[freq=" + std::to_string(n / 2 + 1) + ", part=2]>";
    OneSample p;
    const Reals found = reals(p.tensor("%x = pipe.field %row \"x\" : " + in +
                                           "\n%r = pipe.fft %x along \"t\" : " + in + " -> " + out,
                                       out, {{"x", tensorOf(DType::f64, {"t"}, {n}, x)}}));
    for (int f = 0; f <= n / 2; ++f) {
      double re = 0, im = 0;
      for (int i = 0; i < n; ++i) {
        re += x[size_t(i)] * std::cos(2 * M_PI * (i * f % n) / n);
        im -= x[size_t(i)] * std::sin(2 * M_PI * (i * f % n) / n);
      }
      EXPECT_NEAR(found[size_t(2 * f)], re, 1e-12) << n << " " << f;
      EXPECT_NEAR(found[size_t(2 * f + 1)], im, 1e-12) << n << " " << f;
    }
  }
}

} // namespace
