// SPDX-License-Identifier: Apache-2.0
//
// Pillow's resize, tap by tap.
#include "test/unit/stdlib/OneSample.h"

using namespace penstock::reference;

namespace {

struct Case {
  std::string filter;
  int64_t height, width;
  std::vector<int> expected;
};

/// 7 rows and 9 columns.
TensorRef picture() {
  std::vector<int> elements;
  for (int r = 0; r < 7; ++r)
    for (int c = 0; c < 9; ++c)
      elements.push_back((r * 31 + c * 57 + r * c * 11) % 256);
  return tensorOf(DType::u8, {"h", "w"}, {7, 9}, elements);
}

std::string type(const std::string &element, const std::string &axes) {
  return "!pipe.tensor<" + element + "[" + axes + "]>";
}

/// Resizes %x, horizontally first, in two passes.
std::string resize(const Case &c, const std::string &numerics, const std::string &element,
                   const std::string &weight, const std::string &antialias = "true") {
  const std::string w = std::to_string(c.width), h = std::to_string(c.height);
  const std::string in = type(element, "h=7, w=9"), wide = type(element, "h=7, w=" + w),
                    out = type(element, "h=" + h + ", w=" + w);
  const std::string kw = type(weight, "w=" + w + ", k=?"), sw = type("i32", "w=" + w),
                    kh = type(weight, "h=" + h + ", k=?"), sh = type("i32", "h=" + h);
  return "%x = pipe.field %row \"x\" : " + in +
         "\n%h = pipe.constant 7 : i64 -> i64 %w = pipe.constant 9 : i64 -> i64"
         "\n%oh = pipe.constant " +
         h + " : i64 -> i64 %ow = pipe.constant " + w + " : i64 -> i64\n%tw = pipe.taps " +
         c.filter + " %w to %ow antialias(" + antialias + ")\n%kw, %sw = pipe.weights " + c.filter +
         " %w to %ow antialias(" + antialias + ") sizes(%tw) : " + kw + ", " + sw +
         "\n%wide = pipe.resample " + numerics + " %x along \"w\" with %kw, %sw : " + in + ", " +
         kw + ", " + sw + " -> " + wide + "\n%th = pipe.taps " + c.filter +
         " %h to %oh antialias(" + antialias + ")\n%kh, %sh = pipe.weights " + c.filter +
         " %h to %oh antialias(" + antialias + ") sizes(%th) : " + kh + ", " + sh +
         "\n%r = pipe.resample " + numerics + " %wide along \"h\" with %kh, %sh : " + wide + ", " +
         kh + ", " + sh + " -> " + out + "\n";
}

// Image.fromarray(a).resize((w, h), filter) of Pillow 9.4 for
// a[r, c] = (31 r + 57 c + 11 r c) % 256.
const std::vector<Case> &pillow() {
  static const std::vector<Case> cases = {
      {"bilinear", 4, 5, {52,  146, 140, 121, 159, 105, 134, 123, 115, 136,
                          138, 117, 108, 137, 117, 114, 123, 124, 110, 94}},
      {"bilinear", 13, 3, {71,  143, 129, 85,  140, 142, 109, 134, 164, 121, 128, 149, 128,
                           123, 119, 120, 117, 120, 110, 112, 125, 134, 106, 130, 150, 105,
                           132, 123, 130, 120, 105, 142, 107, 112, 121, 95,  116, 109, 88}},
      {"bilinear", 1, 1, {121}},
      {"bilinear", 7, 17, {0,   17,  47,  77,  107, 137, 168, 198, 228, 123, 32,  63,  93,  123,
                           153, 183, 200, 31,  51,  87,  123, 159, 195, 231, 147, 47,  83,  119,
                           155, 191, 227, 218, 118, 63,  62,  85,  127, 169, 211, 147, 53,  80,
                           122, 164, 191, 97,  33,  75,  117, 159, 182, 93,  119, 167, 124, 37,
                           54,  102, 149, 197, 109, 36,  84,  132, 179, 182, 94,  45,  124, 154,
                           207, 170, 88,  112, 165, 98,  16,  69,  123, 176, 200, 118, 81,  134,
                           164, 155, 113, 36,  51,  110, 169, 228, 167, 91,  150, 195, 118, 72,
                           131, 146, 69,  27,  186, 147, 76,  96,  162, 121, 51,  101, 166, 96,
                           40,  105, 140, 70,  45,  110, 146}},
      {"bicubic", 3, 4, {74, 160, 114, 154, 130, 113, 119, 128, 116, 128, 119, 101}},
      {"bicubic", 10, 12, {0,   30,  75,  118, 159, 232, 167, 18,  71,  115, 167, 212, 12,  49,
                           99,  149, 216, 166, 97,  73,  138, 199, 181, 115, 34,  78,  141, 192,
                           206, 94,  69,  148, 152, 212, 177, 73,  56,  104, 182, 212, 59,  79,
                           160, 191, 38,  64,  139, 185, 77,  142, 144, 74,  69,  157, 161, 75,
                           72,  152, 153, 79,  98,  182, 144, 17,  118, 150, 103, 48,  154, 179,
                           134, 73,  121, 195, 171, 75,  173, 66,  35,  135, 216, 113, 90,  168,
                           153, 84,  59,  125, 235, 122, 105, 196, 94,  135, 121, 43,  180, 65,
                           52,  158, 151, 137, 131, 126, 97,  105, 97,  71,  195, 96,  96,  172,
                           38,  126, 124, 28,  156, 61,  56,  160}},
      {"box", 3, 5, {47, 172, 138, 104, 165, 138, 105, 112, 119, 128, 102, 145, 129, 113, 92}},
      {"hamming", 3, 4, {69, 165, 110, 160, 135, 107, 110, 130, 107, 139, 121, 98}},
      {"lanczos", 5, 4, {45,  173, 108, 162, 111, 148, 121, 141, 131, 99,
                         112, 125, 128, 128, 133, 120, 107, 126, 110, 89}},
      {"nearest", 4, 13, {0,   57,  57,  114, 171, 171, 228, 29,  29,  86,  143, 143, 200,
                          62,  141, 141, 220, 43,  43,  122, 201, 201, 24,  103, 103, 182,
                          124, 225, 225, 70,  171, 171, 16,  117, 117, 218, 63,  63,  164,
                          186, 53,  53,  176, 43,  43,  166, 33,  33,  156, 23,  23,  146}},
      {"nearest", 5, 2, {114, 86, 220, 24, 17, 121, 70, 218, 176, 156}},
  };
  return cases;
}

TEST(ReferenceResample, equalsPillow) {
  for (const Case &c : pillow()) {
    SCOPED_TRACE(c.filter + " to " + std::to_string(c.height) + "x" + std::to_string(c.width));
    OneSample pipeline;
    const Tensor result = pipeline.tensor(
        resize(c, "pillow", "u8", "i32"),
        type("u8", "h=" + std::to_string(c.height) + ", w=" + std::to_string(c.width)),
        {{"x", picture()}});
    EXPECT_EQ(reals(result), std::vector<double>(c.expected.begin(), c.expected.end()));
  }
}

// 2 to 1 without antialias reads the two middle neighbours only; by hand.
TEST(ReferenceResample, withoutAntialiasTheFilterKeepsItsWidth) {
  OneSample pipeline;
  const Tensor weights = pipeline.tensor(
      "%in = pipe.constant 4 : i64 -> i64 %out = pipe.constant 2 : i64 -> i64 "
      "%k, %s = pipe.weights bilinear %in to %out antialias(false) "
      ": !pipe.tensor<f64[w=2, k=3]>, !pipe.tensor<i32[w=2]>\n"
      "%r = pipe.cast value %k : !pipe.tensor<f64[w=2, k=3]> -> !pipe.tensor<f32[w=2, k=3]>",
      "!pipe.tensor<f32[w=2, k=3]>");
  // Centres 1.0 and 3.0: elements 0, 1 and 2, 3, half each; the second window
  // starts at 1, so that it ends inside the input.
  EXPECT_EQ(reals(weights), (std::vector<double>{0.5, 0.5, 0, 0, 0.5, 0.5}));
}

TEST(ReferenceResample, exactRoundsOncePerPassHalfAwayFromZero) {
  OneSample pipeline;
  // 2 to 1, box: the mean. (1 + 2) / 2 = 1.5 and (-1 - 2) / 2 = -1.5.
  const auto mean = [&](const std::string &element, TensorRef x) {
    const std::string in = "!pipe.tensor<" + element + "[w=2]>",
                      out = "!pipe.tensor<" + element + "[w=1]>";
    return reals(
        pipeline.tensor("%x = pipe.field %row \"x\" : " + in +
                            " %in = pipe.constant 2 : i64 -> i64 "
                            "%k, %s = pipe.weights box %in to %n antialias(true) "
                            ": !pipe.tensor<f64[w=1, k=2]>, !pipe.tensor<i32[w=1]>\n"
                            "%r = pipe.resample exact %x along \"w\" with %k, %s : " +
                            in + ", !pipe.tensor<f64[w=1, k=2]>, !pipe.tensor<i32[w=1]> -> " + out,
                        out, {{"x", x}}));
  };
  EXPECT_EQ(mean("i16", tensorOf<int>(DType::i16, {"w"}, {2}, {1, 2})), std::vector<double>{2});
  EXPECT_EQ(mean("i16", tensorOf<int>(DType::i16, {"w"}, {2}, {-1, -2})), std::vector<double>{-2});
  EXPECT_EQ(mean("i8", tensorOf<int>(DType::i8, {"w"}, {2}, {127, 127})), std::vector<double>{127});
  EXPECT_EQ(mean("f32", tensorOf<double>(DType::f32, {"w"}, {2}, {1, 2})),
            std::vector<double>{1.5});
  // 1 + 2^-11 lies halfway between two halves: to even.
  EXPECT_EQ(mean("f16", tensorOf<double>(DType::f16, {"w"}, {2}, {1, 1 + 0x1p-10})),
            std::vector<double>{1});
}

TEST(ReferenceResample, extentsThatDoNotFitAreAFault) {
  OneSample pipeline;
  const BatchResult result = pipeline.run(
      "%zero = pipe.constant 0 : i64 -> i64 %k = pipe.taps bilinear %zero to %n antialias(true)",
      "pipe.output \"r\" %k axes [\"n\"] stored [\"n\"] : i64");
  EXPECT_NE(result.error.find("resamples 0 elements to 1"), std::string::npos);
}

} // namespace
