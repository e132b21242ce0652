// SPDX-License-Identifier: Apache-2.0
//
// Classes P, H and G, and the scalar ops.
#include "test/unit/stdlib/OneSample.h"
#include <cmath>

using namespace penstock::reference;
using Reals = std::vector<double>;

namespace {

const std::map<std::string, Field> row = {
    {"x", tensorOf<int>(DType::u8, {"h", "w"}, {2, 3}, {1, 2, 3, 4, 5, 6})},
    {"q", tensorOf<int>(DType::u8, {"h", "w"}, {2, 2}, {1, 2, 3, 4})},
    {"c", tensorOf<int>(DType::u8, {"w"}, {3}, {100, 0, 200})},
    {"v", tensorOf<int>(DType::u8, {"w"}, {4}, {10, 20, 30, 90})},
    {"e", tensorOf<double>(DType::f32, {"w"}, {4}, {-1.5, 0.5, 300, NAN})}};

TEST(ReferencePoint, mapBroadcastsByNameAndSeesCoordinates) {
  OneSample p;
  EXPECT_EQ(reals(p.tensor(
                "%x = pipe.field %row \"x\" : !pipe.tensor<u8[h=2, w=3]>\n"
                "%c = pipe.field %row \"c\" : !pipe.tensor<u8[w=3]>\n"
                "%r = pipe.map (%c, %x) : (!pipe.tensor<u8[w=3]>, !pipe.tensor<u8[h=2, w=3]>) -> "
                "!pipe.tensor<i64[w=3, h=2]> {\n^bb0(%a: ui8, %b: ui8, %w: i64, %h: i64):\n"
                "%s = pipe.binary add %a, %b : ui8 %t = pipe.cast value %s : ui8 -> i64\n"
                "%k = pipe.constant 1000 : i64 -> i64 %m = pipe.binary mul %h, %k : i64\n"
                "%u = pipe.binary add %t, %m : i64 pipe.yield %u : i64\n}",
                "!pipe.tensor<i64[w=3, h=2]>", row)),
            (Reals{101, 1104, 2, 1005, 203, 1206}));
}

// Equal extents, so that nothing but the names tells the axes apart.
TEST(ReferencePoint, mapFindsTheAxesOfASquare) {
  OneSample p;
  EXPECT_EQ(
      reals(p.tensor(
          "%q = pipe.field %row \"q\" : !pipe.tensor<u8[h=2, w=2]>\n"
          "%r = pipe.map (%q) : (!pipe.tensor<u8[h=2, w=2]>) -> !pipe.tensor<u8[h=2, w=2]> {\n"
          "^bb0(%a: ui8, %h: i64, %w: i64):\npipe.yield %a : ui8\n}",
          "!pipe.tensor<u8[h=2, w=2]>", row)),
      (Reals{1, 2, 3, 4}));
}

TEST(ReferencePoint, castsOfTensors) {
  OneSample p;
  const std::string e = "%e = pipe.field %row \"e\" : !pipe.tensor<f32[w=4]>\n";
  const auto casted = [&](const std::string &mode, const std::string &to) {
    return reals(
        p.tensor(e + "%r = pipe.cast " + mode + " %e : !pipe.tensor<f32[w=4]> -> " + to, to, row));
  };
  EXPECT_EQ(casted("value", "!pipe.tensor<u8[w=4]>"), (Reals{0, 0, 255, 0}));
  EXPECT_EQ(casted("value", "!pipe.tensor<i32[w=4]>"), (Reals{-1, 0, 300, 0}));
  EXPECT_EQ(casted("value", "!pipe.tensor<bool[w=4]>"), (Reals{1, 1, 1, 1}));
  EXPECT_EQ(casted("bits", "!pipe.tensor<i32[w=4]>"),
            (Reals{-0x40400000, 0x3F000000, 0x43960000, 0x7FC00000}));
}

/// Unsigned, wrapping, saturating: from i64 to u8.
TEST(ReferencePoint, integerCastsWrapOrClamp) {
  OneSample p;
  const auto casted = [&](const std::string &mode) {
    return p
        .scalar("%a = pipe.constant -3 : i64 -> i64 %r = pipe.cast " + mode + " %a : i64 -> ui8",
                "ui8")
        .integer;
  };
  EXPECT_EQ(casted("value"), 253);
  EXPECT_EQ(casted("clamp"), 0);
}

// 1 + 2^-11 + 2^-40: through f32 it would round twice, and down.
TEST(ReferencePoint, castsToStorageTypesRoundOnce) {
  OneSample p;
  EXPECT_EQ(p.scalar("%a = pipe.constant 0x3FF0020000001000 : f64 -> f64 "
                     "%r = pipe.cast value %a : f64 -> f16",
                     "f16")
                .real,
            1 + 0x1p-10);
  EXPECT_EQ(p.scalar("%a = pipe.constant 72057594037927937 : i64 -> i64 " // 2^56 + 1
                     "%r = pipe.cast value %a : i64 -> bf16",
                     "bf16")
                .real,
            0x1p56);
}

TEST(ReferencePoint, windowNeighboursAndBorder) {
  OneSample p;
  const auto window = [&](const std::string &border, const std::string &fill) {
    return reals(p.tensor(
        "%v = pipe.field %row \"v\" : !pipe.tensor<u8[w=4]> %f = pipe.constant 5 : ui8 -> ui8\n"
        "%r = pipe.window " +
            border + " %v over [\"w\"] low [-1] high [1] " + fill +
            " : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=4]> {\n"
            "^bb0(%a: ui8, %b: ui8, %c: ui8, %w: i64):\n%s = pipe.binary max %a, %c : ui8\n"
            "pipe.yield %s : ui8\n}",
        "!pipe.tensor<u8[w=4]>", row));
  };
  EXPECT_EQ(window("edge", ""), (Reals{20, 30, 90, 90}));
  EXPECT_EQ(window("reflect", ""), (Reals{20, 30, 90, 30}));
  EXPECT_EQ(window("wrap", ""), (Reals{90, 30, 90, 30}));
  EXPECT_EQ(window("constant", "fill(%f : ui8)"), (Reals{20, 30, 90, 30}));
}

TEST(ReferencePoint, windowOverTwoAxesIsRowMajorInTheOrderOfOver) {
  OneSample p;
  // over w, h: the second argument is the neighbour below.
  EXPECT_EQ(reals(p.tensor("%x = pipe.field %row \"x\" : !pipe.tensor<u8[h=2, w=3]>\n"
                           "%r = pipe.window edge %x over [\"w\", \"h\"] low [0, 0] high [1, 1] : "
                           "!pipe.tensor<u8[h=2, w=3]> -> !pipe.tensor<u8[h=2, w=3]> {\n"
                           "^bb0(%a: ui8, %b: ui8, %c: ui8, %d: ui8, %h: i64, %w: i64):\n"
                           "pipe.yield %b : ui8\n}",
                           "!pipe.tensor<u8[h=2, w=3]>", row)),
            (Reals{4, 5, 6, 4, 5, 6}));
}

/// The result's element i samples %v (f32 of u8 10 20 30 90) at coords[i].
Reals gathered(const std::string &interpolation, const std::string &border,
               const std::vector<double> &coordinates, const std::string &element = "u8") {
  OneSample p;
  const std::string n = std::to_string(coordinates.size());
  const bool constant = border == "constant", real = element == "f32";
  std::map<std::string, Field> fields = row;
  fields["at"] =
      tensorOf(DType::f64, {"w"}, {static_cast<int64_t>(coordinates.size())}, coordinates);
  const std::string from = "!pipe.tensor<" + element + "[w=4]>",
                    to = "!pipe.tensor<" + element + "[w=" + n + "]>";
  const std::string scalar = real ? "f32" : "ui8";
  return reals(p.tensor("%u = pipe.field %row \"v\" : !pipe.tensor<u8[w=4]>\n"
                        "%v = pipe.cast value %u : !pipe.tensor<u8[w=4]> -> " +
                            from + "\n%at = pipe.field %row \"at\" : !pipe.tensor<f64[w=" + n +
                            "]>\n%f = pipe.constant 7" + (real ? ".0" : "") + " : " + scalar +
                            " -> " + scalar + "\n%r = pipe.gather " + interpolation + " " + border +
                            " %v over [\"w\"] " + (constant ? "fill(%f : " + scalar + ")" : "") +
                            " : " + from + " -> " + to +
                            " {\n^bb0(%w: i64):\n%c = pipe.load %at[%w] : !pipe.tensor<f64[w=" + n +
                            "]> -> f64 pipe.yield %c : f64\n}",
                        to, fields));
}

TEST(ReferencePoint, gatherNearest) {
  EXPECT_EQ(gathered("nearest", "edge", {-0.1, 0.99, 1, 3.99, 4, NAN, 1e300}),
            (Reals{10, 10, 20, 90, 90, 10, 90}));
  EXPECT_EQ(gathered("nearest", "constant", {-0.1, 0, 3.99, 4, NAN}), (Reals{7, 10, 90, 7, 7}));
  EXPECT_EQ(gathered("nearest", "wrap", {-0.1, 4, 5}), (Reals{90, 10, 20}));
}

TEST(ReferencePoint, gatherLinear) {
  // Centres at 0.5, 1.5 ...; the result is truncated. 0.25 lies before the
  // first centre: the edge counts twice.
  EXPECT_EQ(gathered("linear", "constant", {0.25, 0.5, 1.0, 1.25, 3.1, -0.01}),
            (Reals{10, 10, 15, 17, 66, 7}));
  EXPECT_EQ(gathered("linear", "wrap", {0.0}), Reals{50});
}

// Pillow 9.4: Image.transform((4, 1), AFFINE, (1, 0, 0.3, 0, 1, 0), BICUBIC) of
// a 4x4 picture with equal rows 10 20 30 90, mode F.
TEST(ReferencePoint, gatherCubicIsPillows) {
  const Reals found = gathered("cubic", "constant", {0.8, 1.8, 2.8, 3.8}, "f32");
  const float expected[] = {0x1.8bd70a0000000p+3f, 0x1.4b0a3e0000000p+4f, 0x1.8bc2900000000p+5f,
                            0x1.8b47ae0000000p+6f};
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(found[i], expected[i]) << i;
}

} // namespace
