// SPDX-License-Identifier: Apache-2.0
//
// Class I, against tables by hand.
#include "test/unit/stdlib/OneSample.h"

using namespace penstock::reference;
using Reals = std::vector<double>;

namespace {

const std::map<std::string, Field> row = {
    {"x", tensorOf<int>(DType::u8, {"h", "w"}, {2, 3}, {1, 2, 3, 4, 5, 6})},
    {"v", tensorOf<int>(DType::u8, {"w"}, {4}, {10, 20, 30, 40})}};

const std::string x = "%x = pipe.field %row \"x\" : !pipe.tensor<u8[h=2, w=3]>\n";
const std::string v = "%v = pipe.field %row \"v\" : !pipe.tensor<u8[w=4]>\n";

TEST(ReferenceIndex, viewReadsAtAnAffineIndex) {
  OneSample p;
  EXPECT_EQ(reals(p.tensor(x + "%r = pipe.view %x by affine_map<(d0, d1) -> (d1, -d0 + 2)> [] : "
                               "!pipe.tensor<u8[h=2, w=3]> -> !pipe.tensor<u8[w=3, h=2]>",
                           "!pipe.tensor<u8[w=3, h=2]>", row)),
            (Reals{3, 6, 2, 5, 1, 4}));
}

TEST(ReferenceIndex, viewSymbolsMayScaleADimension) {
  OneSample p;
  EXPECT_EQ(
      reals(p.tensor(v + "%s = pipe.constant -2 : i64 -> i64 %o = pipe.constant 3 : i64 -> i64\n"
                         "%r = pipe.view %v by affine_map<(d0)[s0, s1] -> (s0 * d0 + s1)> [%s, %o] "
                         ": !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=2]>\n",
                     "!pipe.tensor<u8[w=2]>", row)),
      (Reals{40, 20}));
}

TEST(ReferenceIndex, viewOutsideItsInputIsAFault) {
  OneSample p;
  const BatchResult result =
      p.run(v + "%r = pipe.view %v by affine_map<(d0) -> (d0 + 1)> [] : !pipe.tensor<u8[w=4]> -> "
                "!pipe.tensor<u8[w=4]>",
            "", row);
  EXPECT_NE(result.error.find("element [3] reads [4] of extents [4]"), std::string::npos)
      << result.error;
}

Reals padded(const std::string &border, const std::string &fill, int low, int extent,
             const std::string &field = "v", int in = 4) {
  OneSample p;
  const std::string from = "!pipe.tensor<u8[w=" + std::to_string(in) + "]>",
                    to = "!pipe.tensor<u8[w=" + std::to_string(extent) + "]>";
  std::map<std::string, Field> fields = row;
  fields["one"] = tensorOf<int>(DType::u8, {"w"}, {1}, {7});
  return reals(p.tensor("%v = pipe.field %row \"" + field + "\" : " + from +
                            "\n%low = pipe.constant " + std::to_string(low) +
                            " : i64 -> i64 %fill = pipe.constant 9 : ui8 -> ui8\n%r = pipe.pad " +
                            border + " %v over [\"w\"] low(%low) " + fill + " : " + from + " -> " +
                            to,
                        to, fields));
}

TEST(ReferenceIndex, padBorders) {
  EXPECT_EQ(padded("constant", "fill(%fill : ui8)", 2, 7), (Reals{9, 9, 10, 20, 30, 40, 9}));
  EXPECT_EQ(padded("edge", "", 2, 7), (Reals{10, 10, 10, 20, 30, 40, 40}));
  EXPECT_EQ(padded("reflect", "", 5, 11), (Reals{20, 30, 40, 30, 20, 10, 20, 30, 40, 30, 20}));
  EXPECT_EQ(padded("symmetric", "", 5, 11), (Reals{40, 40, 30, 20, 10, 10, 20, 30, 40, 40, 30}));
  EXPECT_EQ(padded("wrap", "", 5, 11), (Reals{40, 10, 20, 30, 40, 10, 20, 30, 40, 10, 20}));
  for (const char *border : {"reflect", "symmetric", "wrap"})
    EXPECT_EQ(padded(border, "", 1, 3, "one", 1), (Reals{7, 7, 7}));
}

TEST(ReferenceIndex, concatStackAndPlace) {
  OneSample p;
  EXPECT_EQ(reals(p.tensor(x + "%r = pipe.concat \"w\" (%x, %x) : !pipe.tensor<u8[h=2, w=3]>, "
                               "!pipe.tensor<u8[h=2, w=3]> -> !pipe.tensor<u8[h=2, w=6]>",
                           "!pipe.tensor<u8[h=2, w=6]>", row)),
            (Reals{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(reals(p.tensor(v + "%r = pipe.stack \"s\" (%v, %v) : !pipe.tensor<u8[w=4]>, "
                               "!pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[s=2, w=4]>",
                           "!pipe.tensor<u8[s=2, w=4]>", row)),
            (Reals{10, 20, 30, 40, 10, 20, 30, 40}));
  // A patch over the right edge is cut off; so is one over the left edge.
  const auto placed = [&](const std::string &at) {
    return reals(
        p.tensor(v +
                     "%b = pipe.constant dense<0> : tensor<6xui8> -> !pipe.tensor<u8[w=6]> "
                     "%at = pipe.constant " +
                     at +
                     " : i64 -> i64\n"
                     "%r = pipe.place %v into %b over [\"w\"] at(%at) : !pipe.tensor<u8[w=4]>, "
                     "!pipe.tensor<u8[w=6]> -> !pipe.tensor<u8[w=6]>",
                 "!pipe.tensor<u8[w=6]>", row));
  };
  EXPECT_EQ(placed("4"), (Reals{0, 0, 0, 0, 10, 20}));
  EXPECT_EQ(placed("-3"), (Reals{40, 0, 0, 0, 0, 0}));
}

TEST(ReferenceIndex, loadsAreClampedAndAnEmptyTensorReadsAsZero) {
  OneSample p;
  EXPECT_EQ(
      reals(p.tensor(v + "%r = pipe.map () : () -> !pipe.tensor<u8[w=8]> {\n^bb0(%i: i64):\n"
                         "%two = pipe.constant 2 : i64 -> i64 %j = pipe.binary sub %i, %two : i64\n"
                         "%y = pipe.load %v[%j] : !pipe.tensor<u8[w=4]> -> ui8\n"
                         "pipe.yield %y : ui8\n}",
                     "!pipe.tensor<u8[w=8]>", row)),
      (Reals{10, 10, 10, 20, 30, 40, 40, 40}));
}

} // namespace
