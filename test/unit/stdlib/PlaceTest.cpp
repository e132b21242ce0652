// SPDX-License-Identifier: Apache-2.0
//
// Ranks in groups, scatter and filters, against tables by hand.
#include "test/unit/stdlib/OneSample.h"
#include <cmath>

using namespace penstock::reference;
using Reals = std::vector<double>;

namespace {

const std::map<std::string, Field> row = {
    {"g", tensorOf<int>(DType::i64, {"k"}, {7}, {1, 0, 1, -1, 7, 1, 0})},
    {"r", tensorOf<int>(DType::i64, {"k"}, {7}, {0, 0, 1, 0, 0, 2, 1})},
    {"v", tensorOf<double>(DType::f32, {"k"}, {7}, {1, 2, 3, 4, 5, NAN, -6})},
    {"w", tensorOf<int>(DType::u8, {"k", "c"}, {7, 2},
                        {200, 1, 2, 3, 100, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
    {"x", tensorOf<double>(DType::f32, {"t"}, {4}, {1, 0, 0, 2})}};

Reals ofRow(const std::string &ops, const std::string &type) {
  OneSample p;
  const std::string fields = "%g = pipe.field %row \"g\" : !pipe.tensor<i64[k=7]>\n"
                             "%p = pipe.field %row \"r\" : !pipe.tensor<i64[k=7]>\n"
                             "%v = pipe.field %row \"v\" : !pipe.tensor<f32[k=7]>\n"
                             "%w = pipe.field %row \"w\" : !pipe.tensor<u8[k=7, c=2]>\n"
                             "%x = pipe.field %row \"x\" : !pipe.tensor<f32[t=4]>\n";
  return reals(p.tensor(fields + ops, type, row));
}

Reals scattered(const std::string &kind) {
  const std::string two = "!pipe.tensor<f32[m=2]>";
  return ofRow("%b = pipe.constant dense<[10.0, 20.0]> : tensor<2xf32> -> " + two +
                   "\n%r = pipe.scatter " + kind + " %b by %v along \"k\" over [\"m\"] at (%g) : " +
                   two + ", !pipe.tensor<f32[k=7]>, !pipe.tensor<i64[k=7]> -> " + two,
               two);
}

TEST(ReferencePlaces, ranksCountWithinGroups) {
  EXPECT_EQ(ofRow("%ranks = pipe.rank_by %g along \"k\" : !pipe.tensor<i64[k=7]> -> "
                  "!pipe.tensor<i64[k=7]>\n%r = pipe.cast value %ranks : !pipe.tensor<i64[k=7]> -> "
                  "!pipe.tensor<i32[k=7]>",
                  "!pipe.tensor<i32[k=7]>"),
            (Reals{0, 0, 1, -1, -1, 2, 1})); // there is no group 7 of 7 elements
}

TEST(ReferencePlaces, scatterCombinesInOrderAndLeavesOutWhatLiesOutside) {
  const Reals sums = scattered("sum");
  EXPECT_EQ(sums[0], 6);
  EXPECT_TRUE(std::isnan(sums[1]));
  EXPECT_EQ(scattered("max"), (Reals{10, 20}));
  EXPECT_EQ(scattered("min"), (Reals{-6, 1}));
  EXPECT_EQ(scattered("first"), (Reals{2, 1}));
}

TEST(ReferencePlaces, scatterTakesSeveralPlacesAndWraps) {
  const std::string type = "!pipe.tensor<u8[m=2, c=2]>";
  const std::string base = "%b = pipe.constant dense<0> : tensor<2x2xui8> -> " + type + "\n";
  EXPECT_EQ(ofRow(base + "%r = pipe.scatter sum %b by %w along \"k\" over [\"m\"] at (%g) : " +
                      type + ", !pipe.tensor<u8[k=7, c=2]>, !pipe.tensor<i64[k=7]> -> " + type,
                  type),
            (Reals{13, 15, 309 - 256, 15}));
  const std::string grid = "!pipe.tensor<u8[m=2, q=2, c=2]>";
  EXPECT_EQ(ofRow("%b = pipe.constant dense<0> : tensor<2x2x2xui8> -> " + grid +
                      "\n%r = pipe.scatter first %b by %w along \"k\" over [\"m\", \"q\"] at (%g, "
                      "%p) : " +
                      grid +
                      ", !pipe.tensor<u8[k=7, c=2]>, !pipe.tensor<i64[k=7]>, "
                      "!pipe.tensor<i64[k=7]> -> " +
                      grid,
                  grid),
            (Reals{2, 3, 11, 12, 200, 1, 100, 4}));
}

Reals filtered(const std::string &above, size_t many, const std::string &below, size_t few) {
  const auto side = [](const char *name, const std::string &numbers, size_t count) {
    const std::string n = std::to_string(count);
    return std::string(name) + " = pipe.constant dense<[" + numbers + "]> : tensor<" + n +
           "xf64> -> !pipe.tensor<f64[j=" + n + "]>\n";
  };
  return ofRow(
      side("%above", above, many) + side("%below", below, few) +
          "%r = pipe.filter %x along \"t\" by %above over %below : !pipe.tensor<f32[t=4]>, "
          "!pipe.tensor<f64[j=" +
          std::to_string(many) + "]>, !pipe.tensor<f64[j=" + std::to_string(few) +
          "]> -> !pipe.tensor<f32[t=4]>",
      "!pipe.tensor<f32[t=4]>");
}

TEST(ReferencePlaces, filtersBeginInSilenceAndAreDividedByTheFirstNumber) {
  EXPECT_EQ(filtered("4.0", 1, "2.0", 1), (Reals{2, 0, 0, 4}));
  EXPECT_EQ(filtered("1.0, 0.5, 0.25", 3, "1.0", 1), (Reals{1, 0.5, 0.25, 2}));
  EXPECT_EQ(filtered("2.0", 1, "2.0, -1.0", 2), (Reals{1, 0.5, 0.25, 2.125}));
  EXPECT_EQ(filtered("1.0, 1.0", 2, "1.0, 0.0, 0.5", 3), (Reals{1, 1, -0.5, 1.5}));
}

} // namespace
