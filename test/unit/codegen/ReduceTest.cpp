// SPDX-License-Identifier: Apache-2.0
//
// Reductions and scans: types that are only stored, signed zeros, long sums.

#include "runtime/abi/scalar.h"
#include "test/unit/codegen/AtLevel.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace penstock;
using test::JitModule;
using test::TensorArg;

namespace {

class Reductions : public test::AtLevel {};

template <typename T> T laneSum(const std::vector<T> &values) {
  std::vector<T> lanes(scalar::reductionLanes);
  for (size_t i = 0; i < values.size(); ++i)
    lanes[i % lanes.size()] += values[i];
  for (size_t half = lanes.size() / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane)
      lanes[lane] += lanes[lane + half];
  return lanes[0];
}

// Partial sums and what a scan carries are f32; a store rounds once.
TEST_P(Reductions, StorageTypesAccumulateInF32) {
  for (const bool brain : {false, true}) {
    const std::string type = brain ? "bf16" : "f16";
    auto t = [&](const char *axes) { return "!pipe.tensor<" + type + axes + ">"; };
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + t("[w=300]") +
                        "):\n"
                        "%s = pipe.reduce sum %x over [\"w\"] : " +
                        t("[w=300]") + " -> " + t("[]") +
                        "\n"
                        "%m = pipe.reduce max %x over [\"w\"] : " +
                        t("[w=300]") + " -> " + t("[]") +
                        "\n"
                        "%n = pipe.reduce min %x over [\"w\"] : " +
                        t("[w=300]") + " -> " + t("[]") +
                        "\n"
                        "%p = pipe.scan sum %x along \"w\" : " +
                        t("[w=300]") + " -> " + t("[w=300]") +
                        "\n"
                        "%q = pipe.scan max %x along \"w\" : " +
                        t("[w=300]") + " -> " + t("[w=300]") +
                        "\n"
                        "%f = pipe.constant 1.0e-01 : f64 -> f64\n"
                        "%r = pipe.scan recurrence %x along \"w\" factor(%f) : " +
                        t("[w=300]") + " -> " + t("[w=300]") +
                        "\n"
                        "pipe.return %s, %m, %n, %p, %q, %r : " +
                        t("[]") + ", " + t("[]") + ", " + t("[]") + ", " + t("[w=300]") + ", " +
                        t("[w=300]") + ", " + t("[w=300]") + "\n}\n");
    auto store = [&](float x) { return brain ? scalar::toBfloat(x) : scalar::toHalf(x); };
    auto load = [&](uint16_t x) {
      return static_cast<float>(brain ? scalar::fromBfloat(x) : scalar::fromHalf(x));
    };
    std::vector<uint16_t> x(300 + 32), s(1), m(1), n(1), p(300), q(300), r(300);
    std::vector<float> values(300);
    for (size_t i = 0; i < 300; ++i) {
      x[i] = store(0.37f + static_cast<float>(i * 7 % 100) * 0.01f);
      values[i] = load(x[i]);
    }
    auto of = [](std::vector<uint16_t> &v, bool row) {
      return row ? TensorArg::of(v, {300}) : TensorArg::of(v, {});
    };
    ASSERT_EQ(code->run("k",
                        {of(x, true), of(s, false), of(m, false), of(n, false), of(p, true),
                         of(q, true), of(r, true)},
                        6),
              0);
    EXPECT_EQ(s[0], store(laneSum(values)));
    EXPECT_EQ(load(m[0]), *std::max_element(values.begin(), values.end()));
    EXPECT_EQ(load(n[0]), *std::min_element(values.begin(), values.end()));
    float sum = 0, most = -INFINITY, recurrence = 0;
    for (size_t i = 0; i < 300; ++i) {
      sum += values[i];
      most = std::max(most, values[i]);
      recurrence = values[i] + 0.1f * recurrence;
      ASSERT_EQ(p[i], store(sum)) << type << " " << i;
      ASSERT_EQ(q[i], store(most)) << type << " " << i;
      ASSERT_EQ(r[i], store(recurrence)) << type << " " << i;
    }
  }
}

// As min and max have it: -0 lies below +0, the first of equals wins, a NaN
// never does while there is a number.
TEST_P(Reductions, ArgminKnowsSignedZeros) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<f32[h=5, w=4]>):
  %a = pipe.reduce argmin %x over ["w"] : !pipe.tensor<f32[h=5, w=4]> -> !pipe.tensor<i64[h=5]>
  %b = pipe.reduce argmax %x over ["w"] : !pipe.tensor<f32[h=5, w=4]> -> !pipe.tensor<i64[h=5]>
  pipe.return %a, %b : !pipe.tensor<i64[h=5]>, !pipe.tensor<i64[h=5]>
})");
  std::vector<float> x{0.0f, -0.0f, 0.0f,  -0.0f, -0.0f, 0.0f,  -0.0f, 0.0f, NAN, 2.0f,
                       1.0f, 2.0f,  -1.0f, -1.0f, -2.0f, -2.0f, NAN,   NAN,  NAN, NAN};
  x.resize(x.size() + 16);
  std::vector<int64_t> a(5), b(5);
  ASSERT_EQ(
      code->run("k", {TensorArg::of(x, {5, 4}), TensorArg::of(a, {5}), TensorArg::of(b, {5})}, 2),
      0);
  EXPECT_EQ(a, (std::vector<int64_t>{1, 0, 2, 2, 0}));
  EXPECT_EQ(b, (std::vector<int64_t>{0, 1, 1, 0, 0}));
}

// A sum over two axes counts its elements through: a row goes on in the lane
// where the last one ended, in registers and in memory, where they do not follow each other.
TEST_P(Reductions, RowsGoOnInTheNextLane) {
  struct Rows {
    int64_t h, w;
    bool known; // how many there are, when compiling
  };
  for (const auto [h, w, known] : {Rows{5, 45, true}, Rows{50, 20, true}, Rows{7, 45, false}}) {
    auto type = [&](int64_t columns) {
      return "!pipe.tensor<f32[h=" + (known ? std::to_string(h) : "?") +
             ", w=" + std::to_string(columns) + "]>";
    };
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%whole: " + type(w + 1) +
                        "):\n%h = pipe.extent %whole \"h\" : " + type(w + 1) +
                        "\n%x = pipe.view %whole by affine_map<(d0, d1) -> (d0, d1)> [] " +
                        (known ? ": " : "sizes(%h) : ") + type(w + 1) + " -> " + type(w) +
                        "\n%s = pipe.reduce sum %x over [\"h\", \"w\"] : " + type(w) +
                        " -> !pipe.tensor<f32[]>\npipe.return %s : !pipe.tensor<f32[]>\n}\n");
    std::vector<float> values(static_cast<size_t>(h * w)), sum(1);
    std::vector<float> x(static_cast<size_t>(h * (w + 1)) + 64);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::sin(static_cast<float>(i)) * 1000.0f;
      x[i / static_cast<size_t>(w) * static_cast<size_t>(w + 1) + i % static_cast<size_t>(w)] =
          values[i];
    }
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {h, w + 1}), TensorArg::of(sum, {})}, 1), 0);
    EXPECT_EQ(sum[0], laneSum(values)) << h << " " << w;
  }
}

// Sums of columns, and of products, whose partial sums lie in memory, those that meet one beside
// the other: of rows that fill both, or the first, or neither. The first column's zeros are
// negative.
TEST_P(Reductions, SumsOfColumns) {
  for (const int64_t rows : {32, 33, 47, 48, 49, 63, 128, 150, 250, 257, 273, 300, 513}) {
    const std::string h = std::to_string(rows), tall = "!pipe.tensor<f32[h=" + h + ", w=48]>",
                      flat = "!pipe.tensor<f32[i=5, h=" + h + "]>", row = "!pipe.tensor<f32[w=48]>",
                      product = "!pipe.tensor<f32[i=5, w=48]>";
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + tall + ", %y: " + flat +
                        "):\n%s = pipe.reduce sum %x over [\"h\"] : " + tall + " -> " + row +
                        "\n%p = pipe.contract %y by %x : " + flat + ", " + tall + " -> " + product +
                        "\npipe.return %s, %p : " + row + ", " + product + "\n}\n");
    const auto count = static_cast<size_t>(rows);
    std::vector<float> x(count * 48 + 64), y(5 * count + 64), s(48), p(5 * 48);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = i % 48 == 0 ? -0.0f : std::sin(static_cast<float>(i)) * 100.0f;
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = std::cos(static_cast<float>(i));
    ASSERT_EQ(code->run("k",
                        {TensorArg::of(x, {rows, 48}), TensorArg::of(y, {5, rows}),
                         TensorArg::of(s, {48}), TensorArg::of(p, {5, 48})},
                        2),
              0);
    for (size_t w = 0; w < 48; ++w) {
      std::vector<float> column(count), products(count);
      for (size_t i = 0; i < 6; ++i) {
        for (size_t k = 0; k < count; ++k) {
          column[k] = x[k * 48 + w];
          products[k] = y[i % 5 * count + k] * column[k];
        }
        const float expected = laneSum(i < 5 ? products : column),
                    found = i < 5 ? p[i * 48 + w] : s[w];
        ASSERT_EQ(found, expected) << h << " " << w << " " << i;
        ASSERT_EQ(std::signbit(found), std::signbit(expected)) << h << " " << w << " " << i;
      }
    }
  }
}

// Rows go side by side as far as there are any.
TEST_P(Reductions, NoRows) {
  for (const int64_t rows : {0, 1, 3, 5}) {
    const std::string type = "!pipe.tensor<f32[h=" + std::to_string(rows) + ", w=64]>",
                      less = "!pipe.tensor<f32[h=" + std::to_string(rows) + "]>";
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + type +
                        "):\n%s = pipe.reduce sum %x over [\"w\"] : " + type + " -> " + less +
                        "\npipe.return %s : " + less + "\n}\n");
    std::vector<float> x(5 * 64 + 64, 0.5f), sums(8, 1.0f), expected(8, 1.0f);
    std::fill_n(expected.begin(), rows, 32.0f);
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {rows, 64}), TensorArg::of(sums, {rows})}, 1), 0);
    EXPECT_EQ(sums, expected) << rows;
  }
}

// Rows of about one vector begin with their first elements, whose zeros may be negative; the sum is
// not. As many rows as are known when running go side by side, too, and the last ones one by one.
template <typename T> void sumRowsOf(int64_t width, int64_t rows, bool known, JitModule &code) {
  const auto count = static_cast<size_t>(rows * width);
  std::vector<T> x(count + 64), sums(rows + 8, T(7)), expected(sums);
  for (size_t i = 0; i < count; ++i) // the second row is of zeros alone
    x[i] = static_cast<int64_t>(i) / width == 1 ? T(-0.0) : T(0.37) - T(i * 7 % 101) * T(0.01);
  for (int64_t row = 0; row < rows; ++row)
    expected[row] = laneSum(std::vector<T>(x.begin() + row * width, x.begin() + (row + 1) * width));
  ASSERT_EQ(code.run("k", {TensorArg::of(x, {rows, width}), TensorArg::of(sums, {rows})}, 1,
                     known ? std::vector<int64_t>{} : std::vector{rows}),
            0);
  EXPECT_EQ(std::memcmp(sums.data(), expected.data(), sums.size() * sizeof(T)), 0)
      << rows << (known ? "" : " unknown") << " rows of " << width << " of " << sizeof(T);
}

TEST_P(Reductions, RowsOfAVector) {
  for (const int64_t width : {32, 33, 34, 36, 40, 48, 49, 63, 64, 68})
    for (const bool isLong : {false, true})
      for (const int64_t known : {0, 2, 7, 8}) {
        const std::string element = isLong ? "f64" : "f32",
                          axis = "[h=" + (known ? std::to_string(known) : "?"),
                          type = "!pipe.tensor<" + element + axis + ", w=" + std::to_string(width) +
                                 "]>",
                          less = "!pipe.tensor<" + element + axis + "]>";
        auto code =
            compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + type + (known ? "" : ", %h: i64") +
                    "):\n%s = pipe.reduce sum %x over [\"w\"] " + (known ? "" : "sizes(%h) ") +
                    ": " + type + " -> " + less + "\npipe.return %s : " + less + "\n}\n");
        for (const int64_t rows : known ? std::vector{known} : std::vector<int64_t>{0, 2, 7, 8, 9})
          isLong ? sumRowsOf<double>(width, rows, known != 0, *code)
                 : sumRowsOf<float>(width, rows, known != 0, *code);
      }
}

// Of numbers up to 65,535, 32 bits hold 32,768, and no more: of 40 rows in each lane, and not in
// all.
TEST_P(Reductions, SumsOfManySmallNumbersFit) {
  for (const int64_t rows : {40, 1100}) {
    const std::string axes = "[h=" + std::to_string(rows) + ", w=1024]";
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<u8" + axes +
                        ">):\n  %i = pipe.map (%x) : (!pipe.tensor<u8" + axes +
                        ">) -> !pipe.tensor<i64" + axes + R"(> {
  ^bb0(%p: ui8, %h: i64, %w: i64):
    %by = pipe.constant 257 : i32 -> i32
    %v = pipe.cast value %p : ui8 -> i32
    %m = pipe.binary mul %v, %by : i32
    %r = pipe.cast value %m : i32 -> i64
    pipe.yield %r : i64
  }
  %s = pipe.reduce sum %i over ["h", "w"] : !pipe.tensor<i64)" +
                        axes + R"(> -> !pipe.tensor<i64[]>
  pipe.return %s : !pipe.tensor<i64[]>
})");
    std::vector<uint8_t> x(static_cast<size_t>(rows) * 1024 + 64, 255);
    std::vector<int64_t> sum(1);
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {rows, 1024}), TensorArg::of(sum, {})}, 1), 0);
    EXPECT_EQ(sum[0], rows * 1024 * 65535);
  }
}

template <typename T> void sumShortRows(const char *type, JitModule &code, int64_t width) {
  std::vector<T> x(static_cast<size_t>(5 * width) + 64);
  std::vector<int64_t> sums(5), expected(5);
  uint32_t state = 1;
  for (size_t i = 0; i < static_cast<size_t>(5 * width); ++i) {
    state = state * 1664525 + 1013904223;
    x[i] = i / static_cast<size_t>(width) == 1 ? std::numeric_limits<T>::max()
                                               : static_cast<T>(state >> 16);
    expected[i / static_cast<size_t>(width)] += x[i];
  }
  ASSERT_EQ(code.run("k", {TensorArg::of(x, {5, width}), TensorArg::of(sums, {5})}, 1), 0);
  EXPECT_EQ(sums, expected) << type << " " << width;
}

// Rows of few vectors, whose last one overlaps: 32 bits hold all of it.
TEST_P(Reductions, SumsOfShortRows) {
  for (const int64_t width : {8, 15, 16, 17, 20, 31, 33, 50, 63, 64, 65})
    for (const char *type : {"u8", "u16", "i16"}) {
      const std::string axes = "[h=5, w=" + std::to_string(width) + "]>";
      auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<" + (type + axes) +
                          "):\n  %i = pipe.cast value %x : !pipe.tensor<" + (type + axes) +
                          " -> !pipe.tensor<i64" + axes +
                          "\n  %s = pipe.reduce sum %i over [\"w\"] : !pipe.tensor<i64" + axes +
                          " -> !pipe.tensor<i64[h=5]>\n  pipe.return %s : "
                          "!pipe.tensor<i64[h=5]>\n}\n");
      if (type == std::string("u8"))
        sumShortRows<uint8_t>(type, *code, width);
      else if (type == std::string("u16"))
        sumShortRows<uint16_t>(type, *code, width);
      else
        sumShortRows<int16_t>(type, *code, width);
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, Reductions, testing::Values(2, 3, 4));

} // namespace
