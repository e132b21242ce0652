// SPDX-License-Identifier: Apache-2.0
//
// Windows whose input has margins, and results that are made side by side.

#include "runtime/abi/scalar.h"
#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace penstock;
using test::TensorArg;

namespace {

class RowsOfResults : public test::AtLevel {};

/// The place inside that a border gives; -1 for none.
int64_t placeOf(const std::string &border, int64_t i, int64_t n) {
  if (border == "constant")
    return i < 0 || i >= n ? -1 : i;
  if (border == "edge")
    return std::clamp<int64_t>(i, 0, n - 1);
  auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  if (border == "wrap")
    return modulo(i, n);
  const int64_t period = border == "symmetric" ? 2 * n : std::max<int64_t>(2 * n - 2, 1),
                m = modulo(i, period);
  return m < n ? m : (border == "symmetric" ? 2 * n - 1 : 2 * n - 2) - m;
}

// Six of nine neighbours lie beside: the input is copied, with what the border makes up. Reaches
// exceed the rows, which are a vector and more, or less.
TEST_P(RowsOfResults, ReadMargins) {
  size_t turn = 0;
  for (const std::string border : {"edge", "reflect", "symmetric", "wrap", "constant"})
    for (const int64_t w : {70, 3}) {
      const int64_t away = std::array<int64_t, 3>{0, 4, -5}[turn++ % 3];
      constexpr int64_t h = 5;
      const std::string type = "!pipe.tensor<u8[h=5, w=" + std::to_string(w) + "]>";
      const std::string fill = border == "constant" ? " fill(%zero : ui8)" : "";
      std::string text = "pipe.kernel @k \"pixels\" {\n^bb0(%x: " + type +
                         "):\n%zero = pipe.constant 0 : ui8 -> ui8\n%y = pipe.window " + border +
                         " %x over [\"h\", \"w\"] low [-1, " + std::to_string(away - 1) +
                         "] high [1, " + std::to_string(away + 1) + "]" + fill + " : " + type +
                         " -> " + type + " {\n^bb0(";
      for (int k = 0; k < 9; ++k)
        text += "%n" + std::to_string(k) + ": ui8, ";
      text += "%i: i64, %j: i64):\n%three = pipe.constant 3 : ui8 -> ui8\n";
      std::string sum = "%n0";
      for (int k = 1; k < 9; ++k) {
        const std::string next = std::to_string(k);
        text += "%a" + next + " = pipe.binary mul " + sum + ", %three : ui8\n%b" + next +
                " = pipe.binary add %a" + next + ", %n" + next + " : ui8\n";
        sum = "%b" + next;
      }
      text += "pipe.yield " + sum + " : ui8\n}\npipe.return %y : " + type + "\n}\n";
      auto code = compile(text);
      std::vector<uint8_t> x(static_cast<size_t>(h * w) + 64), y(static_cast<size_t>(h * w));
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<uint8_t>(i * i % 251);
      ASSERT_EQ(code->run("k", {TensorArg::of(x, {h, w}), TensorArg::of(y, {h, w})}, 1), 0);
      for (int64_t i = 0; i < h; ++i)
        for (int64_t j = 0; j < w; ++j) {
          uint8_t expected = 0;
          for (int64_t k = -1; k <= 1; ++k)
            for (int64_t n = away - 1; n <= away + 1; ++n) {
              const int64_t row = placeOf(border, i + k, h), column = placeOf(border, j + n, w);
              const bool inside = row >= 0 && column >= 0;
              expected = static_cast<uint8_t>(
                  3 * expected + (inside ? x[static_cast<size_t>(row * w + column)] : 0));
            }
          ASSERT_EQ(y[static_cast<size_t>(i * w + j)], expected)
              << border << " " << w << " " << away << ": " << i << " " << j;
        }
    }
}

template <typename T> bool same(const std::vector<T> &x, const std::vector<T> &y) {
  return std::memcmp(x.data(), y.data(), y.size() * sizeof(T)) == 0;
}

/// -0 < +0, and a number in place of a NaN.
float larger(float x, float y) {
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) ? y : x;
  return x > y || (x == y && !std::signbit(x)) ? x : y;
}

// 19 rows of 45: neither is a number of vectors.
TEST_P(RowsOfResults, ScanAlongRows) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<f32[h=19, w=45]>, %y: !pipe.tensor<u8[h=19, w=45]>):
  %s = pipe.scan sum %x along "w" : !pipe.tensor<f32[h=19, w=45]> -> !pipe.tensor<f32[h=19, w=45]>
  %m = pipe.scan max %x along "w" : !pipe.tensor<f32[h=19, w=45]> -> !pipe.tensor<f32[h=19, w=45]>
  %i = pipe.cast value %y : !pipe.tensor<u8[h=19, w=45]> -> !pipe.tensor<i32[h=19, w=45]>
  %t = pipe.scan sum %i along "w" : !pipe.tensor<i32[h=19, w=45]> -> !pipe.tensor<i32[h=19, w=45]>
  %d = pipe.cast value %x : !pipe.tensor<f32[h=19, w=45]> -> !pipe.tensor<f64[h=19, w=45]>
  %e = pipe.scan sum %d along "w" : !pipe.tensor<f64[h=19, w=45]> -> !pipe.tensor<f64[h=19, w=45]>
  pipe.return %s, %m, %t, %e : !pipe.tensor<f32[h=19, w=45]>, !pipe.tensor<f32[h=19, w=45]>,
      !pipe.tensor<i32[h=19, w=45]>, !pipe.tensor<f64[h=19, w=45]>
})");
  constexpr size_t count = 19 * 45;
  std::vector<float> x(count + 64), s(count), m(count), sums(count), most(count);
  std::vector<uint8_t> y(count + 64);
  std::vector<int32_t> t(count), whole(count);
  std::vector<double> e(count), exact(count);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = i % 45 < 3 ? -0.0f : std::sin(static_cast<float>(i * i)) * 100.0f;
    y[i] = static_cast<uint8_t>(i * 37 % 256);
  }
  x[7 * 45 + 20] = NAN;
  x[18 * 45 + 44] = -NAN;
  for (size_t i = 0; i < count; ++i) {
    const bool first = i % 45 == 0;
    const float sum = (first ? 0.0f : sums[i - 1]) + x[i];
    sums[i] = std::isnan(sum) ? NAN : sum;
    most[i] = larger(first ? NAN : most[i - 1], x[i]);
    whole[i] = (first ? 0 : whole[i - 1]) + y[i];
    const double wide = (first ? 0.0 : exact[i - 1]) + double(x[i]);
    exact[i] = std::isnan(wide) ? double(NAN) : wide;
  }
  ASSERT_EQ(code->run("k",
                      {TensorArg::of(x, {19, 45}), TensorArg::of(y, {19, 45}),
                       TensorArg::of(s, {19, 45}), TensorArg::of(m, {19, 45}),
                       TensorArg::of(t, {19, 45}), TensorArg::of(e, {19, 45})},
                      4),
            0);
  EXPECT_TRUE(same(s, sums));
  EXPECT_TRUE(same(m, most));
  EXPECT_EQ(t, whole);
  EXPECT_TRUE(same(e, exact));
}

// More elements fit a vector than a square of 32-bit ones has rows.
TEST_P(RowsOfResults, ScanShortElementsAlongRows) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u16[h=35, w=70]>, %y: !pipe.tensor<u8[h=35, w=70]>):
  %s = pipe.scan sum %x along "w" : !pipe.tensor<u16[h=35, w=70]> -> !pipe.tensor<u16[h=35, w=70]>
  %t = pipe.scan sum %y along "w" : !pipe.tensor<u8[h=35, w=70]> -> !pipe.tensor<u8[h=35, w=70]>
  %m = pipe.scan max %x along "w" : !pipe.tensor<u16[h=35, w=70]> -> !pipe.tensor<u16[h=35, w=70]>
  %n = pipe.scan max %y along "w" : !pipe.tensor<u8[h=35, w=70]> -> !pipe.tensor<u8[h=35, w=70]>
  pipe.return %s, %t, %m, %n : !pipe.tensor<u16[h=35, w=70]>, !pipe.tensor<u8[h=35, w=70]>,
      !pipe.tensor<u16[h=35, w=70]>, !pipe.tensor<u8[h=35, w=70]>
})");
  constexpr size_t count = 35 * 70;
  std::vector<uint16_t> x(count + 64), s(count), m(count), sums(count), most(count);
  std::vector<uint8_t> y(count + 64), t(count), n(count), bytes(count), largest(count);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<uint16_t>(i * i * 31);
    y[i] = static_cast<uint8_t>(i * 37);
  }
  for (size_t i = 0; i < count; ++i) {
    const bool first = i % 70 == 0;
    sums[i] = static_cast<uint16_t>((first ? 0 : sums[i - 1]) + x[i]);
    bytes[i] = static_cast<uint8_t>((first ? 0 : bytes[i - 1]) + y[i]);
    most[i] = first ? x[i] : std::max(most[i - 1], x[i]);
    largest[i] = first ? y[i] : std::max(largest[i - 1], y[i]);
  }
  ASSERT_EQ(code->run("k",
                      {TensorArg::of(x, {35, 70}), TensorArg::of(y, {35, 70}),
                       TensorArg::of(s, {35, 70}), TensorArg::of(t, {35, 70}),
                       TensorArg::of(m, {35, 70}), TensorArg::of(n, {35, 70})},
                      4),
            0);
  EXPECT_EQ(s, sums);
  EXPECT_EQ(t, bytes);
  EXPECT_EQ(m, most);
  EXPECT_EQ(n, largest);
}

// Every number of 16 bits by constants: products take the place of divisions.
TEST_P(RowsOfResults, DivideSmall) {
  for (const int32_t divisor : {3, 7, 9, 49, 255, 641, 65535}) {
    auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u16[i=65536]>):
  %c = pipe.constant )" +
                        std::to_string(divisor) + R"( : i32 -> i32
  %y = pipe.map(%x) : (!pipe.tensor<u16[i=65536]>) -> !pipe.tensor<i32[i=65536]> {
  ^bb0(%p: ui16, %i: i64):
    %w = pipe.cast value %p : ui16 -> i32
    %q = pipe.binary div %w, %c : i32
    pipe.yield %q : i32
  }
  pipe.return %y : !pipe.tensor<i32[i=65536]>
})");
    std::vector<uint16_t> x(65536 + 64);
    std::vector<int32_t> y(65536), expected(65536);
    for (size_t i = 0; i < y.size(); ++i) {
      x[i] = static_cast<uint16_t>(i);
      expected[i] = static_cast<int32_t>(i) / divisor;
    }
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {65536}), TensorArg::of(y, {65536})}, 1), 0);
    EXPECT_EQ(y, expected) << divisor;
  }
}

// Each second to sixteenth number, from the first on and up to the last; of an input, and of a
// result with nothing behind it.
TEST_P(RowsOfResults, ReadApart) {
  for (int64_t step = 2; step <= 16; ++step) {
    const int64_t n = 31 * step + 1;
    const std::string type = "!pipe.tensor<i32[i=" + std::to_string(n) + "]>",
                      less = "!pipe.tensor<i32[i=32]>";
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + type +
                        "):\n%y = pipe.view %x by affine_map<(d0) -> (d0 * " +
                        std::to_string(step) + ")> [] : " + type + " -> " + less +
                        "\n%s = pipe.scan max %x along \"i\" : " + type + " -> " + type +
                        "\n%z = pipe.view %s by affine_map<(d0) -> (d0 * " + std::to_string(step) +
                        ")> [] : " + type + " -> " + less + "\npipe.return %y, %s, %z : " + less +
                        ", " + type + ", " + less + "\n}\n");
    std::vector<int32_t> x(static_cast<size_t>(n) + 64), y(32), expected(32), s(x.size()), z(32),
        most(32);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<int32_t>(i * 2654435761u);
    for (size_t i = 0; i < y.size(); ++i) {
      expected[i] = x[i * static_cast<size_t>(step)];
      most[i] = *std::max_element(x.begin(), x.begin() + static_cast<int64_t>(i) * step + 1);
    }
    ASSERT_EQ(code->run("k",
                        {TensorArg::of(x, {n}), TensorArg::of(y, {32}), TensorArg::of(s, {n}),
                         TensorArg::of(z, {32})},
                        3),
              0);
    EXPECT_EQ(y, expected) << step;
    EXPECT_EQ(z, most) << step;
  }
}

// Tiles of five to sixteen columns, some of more elements than there are partial sums: each lane
// reads all places of one, of 4 bytes and of 2. What lies before a row's tiles is not there for the
// first row, nor what lies behind for the last.
TEST_P(RowsOfResults, ReadTilesApart) {
  struct Tiles {
    int64_t high, step, tiles;
  };
  for (const auto [high, step, tiles] :
       {Tiles{3, 5, 37}, Tiles{7, 5, 37}, Tiles{9, 5, 16}, Tiles{3, 6, 16}, Tiles{3, 7, 37},
        Tiles{3, 9, 16}, Tiles{3, 12, 37}, Tiles{3, 16, 19}}) {
    const int64_t columns = tiles * step + 2;
    auto type = [&](const char *element, int64_t rows, int64_t of) {
      return std::string("!pipe.tensor<") + element + "[h=" + std::to_string(rows) +
             ", w=" + std::to_string(of) + "]>";
    };
    auto pieces = [&](const char *element) {
      return std::string("!pipe.tensor<") + element + "[h=2, i=" + std::to_string(high) +
             ", w=" + std::to_string(tiles) + ", j=" + std::to_string(step) + "]>";
    };
    const std::string map = "affine_map<(d0, d1, d2, d3) -> (d0 * " + std::to_string(high) +
                            " + d1, d2 * " + std::to_string(step) + " + d3 + 2)> []";
    auto code =
        compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + type("f32", 2 * high, columns) +
                ", %y: " + type("u16", 2 * high, columns) + "):\n%a = pipe.view %x by " + map +
                " : " + type("f32", 2 * high, columns) + " -> " + pieces("f32") +
                "\n%b = pipe.view %y by " + map + " : " + type("u16", 2 * high, columns) + " -> " +
                pieces("u16") + "\n%s = pipe.reduce sum %a over [\"i\", \"j\"] : " + pieces("f32") +
                " -> " + type("f32", 2, tiles) +
                "\n%p = pipe.reduce argmin %b over [\"i\", \"j\"] : " + pieces("u16") + " -> " +
                type("i64", 2, tiles) + "\npipe.return %s, %p : " + type("f32", 2, tiles) + ", " +
                type("i64", 2, tiles) + "\n}\n");
    const auto row = static_cast<size_t>(columns), size = 2 * static_cast<size_t>(high) * row;
    std::vector<float> x(size + 16), s(static_cast<size_t>(2 * tiles)), sums(s.size());
    std::vector<uint16_t> y(size + 32);
    std::vector<int64_t> p(s.size()), places(s.size());
    uint32_t state = 7;
    for (size_t i = 0; i < size; ++i) {
      state = state * 1664525 + 1013904223;
      x[i] = static_cast<float>(state) * 0.001f;
      y[i] = static_cast<uint16_t>(state >> 20);
    }
    for (size_t tile = 0; tile < s.size(); ++tile) {
      std::array<float, scalar::reductionLanes> lanes{};
      uint16_t least = 65535;
      for (size_t n = 0; n < static_cast<size_t>(high * step); ++n) {
        const size_t of = static_cast<size_t>(step), h = tile / static_cast<size_t>(tiles),
                     w = tile % static_cast<size_t>(tiles);
        const size_t at = (static_cast<size_t>(high) * h + n / of) * row + w * of + n % of + 2;
        lanes[n % lanes.size()] += x[at];
        if (y[at] < least) {
          least = y[at];
          places[tile] = static_cast<int64_t>(n);
        }
      }
      for (size_t half = lanes.size() / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; ++lane)
          lanes[lane] += lanes[lane + half];
      sums[tile] = lanes[0];
    }
    ASSERT_EQ(
        code->run("k",
                  {TensorArg::of(x, {2 * high, columns}), TensorArg::of(y, {2 * high, columns}),
                   TensorArg::of(s, {2, tiles}), TensorArg::of(p, {2, tiles})},
                  2),
        0);
    EXPECT_TRUE(same(s, sums)) << high << " x " << step << ", " << tiles;
    EXPECT_EQ(p, places) << high << " x " << step << ", " << tiles;
  }
}

// Ten elements of 40 rows, from few kinds of numbers, so that many are equal.
TEST_P(RowsOfResults, FindPlaces) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<f32[h=40, w=10]>):
  %a = pipe.reduce argmin %x over ["w"] : !pipe.tensor<f32[h=40, w=10]> -> !pipe.tensor<i64[h=40]>
  %b = pipe.reduce argmax %x over ["w"] : !pipe.tensor<f32[h=40, w=10]> -> !pipe.tensor<i64[h=40]>
  %c = pipe.reduce max %x over ["w"] : !pipe.tensor<f32[h=40, w=10]> -> !pipe.tensor<f32[h=40]>
  pipe.return %a, %b, %c : !pipe.tensor<i64[h=40]>, !pipe.tensor<i64[h=40]>, !pipe.tensor<f32[h=40]>
})");
  const float kinds[] = {NAN, -NAN, -0.0f, 0.0f, 1.0f, -1.0f, INFINITY, -INFINITY};
  std::vector<float> x(400 + 64), c(40), most(40, NAN);
  std::vector<int64_t> a(40), b(40), low(40), high(40);
  uint32_t state = 1;
  for (size_t i = 0; i < 400; ++i) {
    state = state * 1664525 + 1013904223;
    x[i] = kinds[(state >> 24) % (i / 10 % 7 + 2)];
  }
  auto better = [](float y, float best, bool isMax) {
    if (std::isnan(y) || std::isnan(best))
      return !std::isnan(y);
    const bool above = y > best || (y == best && std::signbit(best) && !std::signbit(y));
    const bool below = y < best || (y == best && !std::signbit(best) && std::signbit(y));
    return isMax ? above : below;
  };
  for (size_t row = 0; row < 40; ++row)
    for (size_t i = 0; i < 10; ++i) {
      const float *r = &x[10 * row];
      if (better(r[i], r[low[row]], false))
        low[row] = static_cast<int64_t>(i);
      if (better(r[i], r[high[row]], true))
        high[row] = static_cast<int64_t>(i);
      most[row] = larger(most[row], r[i]);
      if (std::isnan(most[row]))
        most[row] = NAN; // whatever its sign
    }
  ASSERT_EQ(code->run("k",
                      {TensorArg::of(x, {40, 10}), TensorArg::of(a, {40}), TensorArg::of(b, {40}),
                       TensorArg::of(c, {40})},
                      3),
            0);
  EXPECT_EQ(a, low);
  EXPECT_EQ(b, high);
  EXPECT_TRUE(same(c, most));
}

// Long columns and rows of floats and of bytes, over two axes, as one run or not: the first of
// equal ones wins, numbers before NaN.
TEST_P(RowsOfResults, FindPlacesOfMany) {
  struct Form {
    const char *input, *map, *operand;
    int64_t inner, apart, row, column; ///< elements of [i], and between those of [h], [i] and [w]
  };
  const std::string less = "!pipe.tensor<i64[w=141]>";
  for (const Form &form :
       {Form{"[h=7, i=11, w=141]", "(d0, d1, d2)", "[h=7, i=11, w=141]", 11, 141, 11 * 141, 1},
        {"[w=141, h=7, i=11]", "(d0, d1, d2)", "[w=141, h=7, i=11]", 11, 1, 11, 77},
        {"[w=141, h=7, i=40]", "(d0, d1, d2)", "[w=141, h=7, i=35]", 35, 1, 40, 280}})
    for (const bool isByte : {false, true}) {
      auto of = [&](const char *axes) {
        return std::string("!pipe.tensor<") + (isByte ? "u8" : "f32") + axes + ">";
      };
      auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + of(form.input) +
                          "):\n%v = pipe.view %x by affine_map<(d0, d1, d2) -> " + form.map +
                          "> [] : " + of(form.input) + " -> " + of(form.operand) +
                          "\n%a = pipe.reduce argmin %v over [\"h\", \"i\"] : " + of(form.operand) +
                          " -> " + less +
                          "\n%b = pipe.reduce argmax %v over [\"h\", \"i\"] : " + of(form.operand) +
                          " -> " + less + "\npipe.return %a, %b : " + less + ", " + less + "\n}\n");
      const float kinds[] = {NAN, -0.0f, 0.0f, 3.0f, 7.0f, -1.0f, INFINITY, -INFINITY};
      std::vector<float> x(141 * 7 * 40 + 64);
      std::vector<uint8_t> bytes(x.size());
      std::vector<int64_t> a(141), b(141), low(141), high(141);
      uint32_t state = 5;
      for (size_t i = 0; i < x.size(); ++i) {
        state = state * 1664525 + 1013904223;
        const size_t kind = (state >> 24) % ((i / static_cast<size_t>(form.column)) % 8 + 1);
        x[i] = kinds[kind];
        bytes[i] = static_cast<uint8_t>(kind * 31);
      }
      auto rank = [&](int64_t w, int64_t n, bool isMax) {
        const auto place = static_cast<size_t>(w * form.column + n / form.inner * form.row +
                                               n % form.inner * form.apart);
        if (isByte)
          return isMax ? double(bytes[place]) : -double(bytes[place]);
        if (std::isnan(x[place]))
          return -1e301;
        const double zero = std::signbit(x[place]) ? -1e-300 : 1e-300,
                     value = x[place] == 0 ? zero : double(x[place]);
        return std::isinf(value) ? std::copysign(1e300, isMax ? value : -value)
               : isMax           ? value
                                 : -value;
      };
      for (int64_t w = 0; w < 141; ++w)
        for (int64_t n = 0; n < 7 * form.inner; ++n)
          for (const bool isMax : {false, true})
            if (int64_t &best = (isMax ? high : low)[static_cast<size_t>(w)];
                rank(w, n, isMax) > rank(w, best, isMax))
              best = n;
      std::vector<int64_t> extents;
      for (const char *at = strchr(form.input, '='); at; at = strchr(at + 1, '='))
        extents.push_back(std::atoi(at + 1));
      ASSERT_EQ(code->run("k",
                          {isByte ? TensorArg::of(bytes, extents) : TensorArg::of(x, extents),
                           TensorArg::of(a, {141}), TensorArg::of(b, {141})},
                          2),
                0);
      EXPECT_EQ(a, low) << form.input;
      EXPECT_EQ(b, high) << form.input;
    }
}

// Sums of two bytes fit 32 bits, what is added to one here does not.
TEST_P(RowsOfResults, ComparesLarge) {
  for (const int64_t more :
       {int64_t{0}, INT32_MAX - int64_t{255}, INT32_MAX - int64_t{254}, int64_t{1} << 32}) {
    const std::string type = "!pipe.tensor<u8[w=256]>", less = "!pipe.tensor<bool[w=256]>";
    auto code =
        compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + type + ", %y: " + type +
                "):\n%z = pipe.map (%x, %y) : (" + type + ", " + type + ") -> " + less +
                " {\n^bb0(%p: ui8, %q: ui8, %w: i64):\n%m = pipe.constant " + std::to_string(more) +
                " : i64 -> i64\n%a = pipe.cast value %p : ui8 -> i64\n%b = pipe.cast value %q : "
                "ui8 -> i64\n%c = pipe.binary add %a, %m : i64\n"
                "%d = pipe.compare gt %c, %b : i64\npipe.yield %d : i1\n}\npipe.return %z : " +
                less + "\n}\n");
    std::vector<uint8_t> x(256 + 64), y(256 + 64), z(256), expected(256);
    for (size_t i = 0; i < 256; ++i) {
      x[i] = static_cast<uint8_t>(i);
      y[i] = static_cast<uint8_t>(i * 151);
      expected[i] = int64_t(x[i]) + more > int64_t(y[i]);
    }
    ASSERT_EQ(code->run("k",
                        {TensorArg::of(x, {256}), TensorArg::of(y, {256}), TensorArg::of(z, {256})},
                        1),
              0);
    EXPECT_EQ(z, expected) << more;
  }
}

// A patch without elements is nowhere.
TEST_P(RowsOfResults, PlaceNothing) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%p: !pipe.tensor<f32[h=?, w=?]>, %b: !pipe.tensor<f32[h=4, w=70]>, %at: i64):
  %r = pipe.place %p into %b over ["w"] at(%at) : !pipe.tensor<f32[h=?, w=?]>, !pipe.tensor<f32[h=4, w=70]> -> !pipe.tensor<f32[h=4, w=70]>
  pipe.return %r : !pipe.tensor<f32[h=4, w=70]>
})");
  std::vector<float> patch(18 + 16, 2.0f), base(280 + 16, 1.0f), result(280), expected(280, 1.0f);
  for (const int64_t h : {0, 2}) {
    TensorArg of = TensorArg::of(patch, {h, 9});
    if (h == 0)
      of.view.data = nullptr;
    ASSERT_EQ(
        code->run("k", {of, TensorArg::of(base, {4, 70}), TensorArg::of(result, {4, 70})}, 1, {3}),
        0);
    for (int64_t i = 0; i < h; ++i)
      std::fill_n(expected.begin() + i * 70 + 3, 9, 2.0f);
    EXPECT_EQ(result, expected) << h;
  }
}

TEST_P(RowsOfResults, CountColumns) {
  const std::string type = "!pipe.tensor<bool[h=300, w=141]>", less = "!pipe.tensor<i64[w=141]>";
  auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + type +
                      "):\n%a = pipe.reduce count %x over [\"h\"] : " + type + " -> " + less +
                      "\npipe.return %a : " + less + "\n}\n");
  std::vector<uint8_t> x(300 * 141 + 64);
  std::vector<int64_t> a(141), counts(141);
  for (size_t i = 0; i < 300 * 141; ++i) {
    x[i] = i * 2654435761u % 7 < i % 141 % 8;
    counts[i % 141] += x[i];
  }
  ASSERT_EQ(code->run("k", {TensorArg::of(x, {300, 141}), TensorArg::of(a, {141})}, 1), 0);
  EXPECT_EQ(a, counts);
}

// Windows of 3 x 3 that overlap: rows first, some of them ahead of their columns, and as many as
// there are at the end.
TEST_P(RowsOfResults, PoolRows) {
  for (const int64_t h : {1, 2, 4, 7, 10}) {
    const std::string rows = std::to_string(2 * h + 1),
                      less = "!pipe.tensor<f32[h=" + std::to_string(h) + ", w=35]>";
    auto code = compile(
        "pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<f32[h=" + rows +
        ", w=71]>):\n%v = pipe.view %x by affine_map<(d0, d1, d2, d3) -> (d0 * 2 + d1, d2 * 2 + "
        "d3)> [] : "
        "!pipe.tensor<f32[h=" +
        rows + ", w=71]> -> !pipe.tensor<f32[h=" + std::to_string(h) +
        ", i=3, w=35, j=3]>\n%s = pipe.reduce max %v over [\"i\", \"j\"] : !pipe.tensor<f32[h=" +
        std::to_string(h) + ", i=3, w=35, j=3]> -> " + less + "\npipe.return %s : " + less +
        "\n}\n");
    std::vector<float> x(static_cast<size_t>((2 * h + 1) * 71) + 64),
        most(static_cast<size_t>(h * 35));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = std::sin(static_cast<float>(i * i % 1009));
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {2 * h + 1, 71}), TensorArg::of(most, {h, 35})}, 1),
              0);
    for (int64_t i = 0; i < h * 35; ++i) {
      float all = -2;
      for (int64_t k = 0; k < 9; ++k)
        all = std::max(all, x[static_cast<size_t>((i / 35 * 2 + k / 3) * 71 + i % 35 * 2 + k % 3)]);
      ASSERT_EQ(most[static_cast<size_t>(i)], all) << h << " " << i;
    }
  }
}

// Rows of 8 KiB in tiles of four, of which the last overlaps; a number of each row, one of all, and
// what a few rows share. `planes`: each row is one.
TEST_P(RowsOfResults, RowTiles) {
  constexpr size_t rows = 10, columns = 2000;
  for (const bool planes : {false, true}) {
    const std::string inner = planes ? "h=40, w=50" : "w=2000",
                      over = planes ? "[\"h\", \"w\"]" : "[\"w\"]",
                      sheet = "!pipe.tensor<f32[t=10, " + inner + "]>",
                      shared = "!pipe.tensor<f32[" + inner + "]>",
                      column = "!pipe.tensor<f32[t=10]>",
                      places = planes ? "%i: i64, %j: i64, %k: i64" : "%i: i64, %j: i64";
    auto map = [&](const std::string &name, const std::string &a, const std::string &b,
                   const std::string &type, const std::string &op) {
      return name + " = pipe.map (" + a + ", " + b + ") : (" + sheet + ", " + type + ") -> " +
             sheet + " {\n^bb0(%p: f32, %q: f32, " + places + "):\n%r = pipe.binary " + op +
             " %p, %q : f32\npipe.yield %r : f32\n}\n";
    };
    auto code =
        compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + sheet + ", %y: " + shared +
                ", %z: " + column + "):\n" + map("%a", "%x", "%y", shared, "mul") +
                "%s = pipe.reduce sum %a over " + over + " : " + sheet + " -> " + column + "\n" +
                map("%d", "%a", "%s", column, "sub") + "%m = pipe.reduce max %d over " + over +
                " : " + sheet + " -> " + column + "\n" + map("%e", "%d", "%m", column, "div") +
                map("%f", "%e", "%z", column, "add") + "%b = pipe.reduce argmax %f over " + over +
                " : " + sheet + " -> !pipe.tensor<i64[t=10]>\npipe.return %f, %s, %b : " + sheet +
                ", " + column + ", !pipe.tensor<i64[t=10]>\n}\n");
    std::vector<float> x(rows * columns + 64), y(columns + 64), z(rows + 64), f(rows * columns),
        s(rows);
    for (size_t i = 0; i < rows * columns; ++i)
      x[i] = std::sin(static_cast<float>(i));
    for (size_t i = 0; i < columns; ++i)
      y[i] = std::cos(static_cast<float>(i));
    for (size_t i = 0; i < rows; ++i)
      z[i] = static_cast<float>(i);
    std::vector<int64_t> b(rows);
    const std::vector<int64_t> whole =
        planes ? std::vector<int64_t>{10, 40, 50} : std::vector<int64_t>{10, 2000};
    ASSERT_EQ(code->run("k",
                        {TensorArg::of(x, whole),
                         TensorArg::of(y, {whole.begin() + 1, whole.end()}), TensorArg::of(z, {10}),
                         TensorArg::of(f, whole), TensorArg::of(s, {10}), TensorArg::of(b, {10})},
                        1),
              0);
    for (size_t row = 0; row < rows; ++row) {
      std::vector<float> all(columns);
      for (size_t i = 0; i < columns; ++i)
        all[i] = x[row * columns + i] * y[i];
      float lanes[32] = {};
      for (size_t i = 0; i < columns; ++i)
        lanes[i % 32] += all[i];
      for (size_t half = 16; half >= 1; half /= 2)
        for (size_t lane = 0; lane < half; ++lane)
          lanes[lane] += lanes[lane + half];
      EXPECT_EQ(s[row], lanes[0]);
      for (float &one : all)
        one -= lanes[0];
      const float most = *std::max_element(all.begin(), all.end());
      for (float &one : all)
        one = one / most + z[row];
      EXPECT_EQ(b[row], std::max_element(all.begin(), all.end()) - all.begin());
      EXPECT_TRUE(std::equal(all.begin(), all.end(), f.begin() + static_cast<long>(row * columns)))
          << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, RowsOfResults, testing::Values(2, 3, 4, 5));

} // namespace
