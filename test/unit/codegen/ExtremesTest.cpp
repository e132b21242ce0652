// SPDX-License-Identifier: Apache-2.0
//
// Minima and maxima of floats: NaN give way wherever they stand, nothing but NaN is NaN, and -0
// lies below +0.

#include "runtime/abi/scalar.h"
#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace penstock;
using test::TensorArg;

namespace {

class Extremes : public test::AtLevel {};

/// The elements that make result `r`: each way of generated code has a shape of its own.
struct Shape {
  const char *axes, *over, *kept; ///< of the operand; `kept` is the result's
  const char *map;                ///< a view of [i] that the operand is, or null
  int64_t input, results, count;
  std::function<int64_t(int64_t, int64_t)> place; ///< of element `n` of result `r` in the input
};

const Shape shapes[] = {
    // Lanes along an axis that stays, few elements and more, in registers and in loops.
    {"[h=3, w=37]", "\"h\"", "[w=37]", nullptr, 3 * 37, 37, 3,
     [](int64_t r, int64_t n) { return n * 37 + r; }},
    {"[h=12, w=37]", "\"h\"", "[w=37]", nullptr, 12 * 37, 37, 12,
     [](int64_t r, int64_t n) { return n * 37 + r; }},
    {"[h=300, w=9]", "\"h\"", "[w=9]", nullptr, 300 * 9, 9, 300,
     [](int64_t r, int64_t n) { return n * 9 + r; }},
    // Rows of results.
    {"[h=45, w=150]", "\"h\"", "[w=150]", nullptr, 45 * 150, 150, 45,
     [](int64_t r, int64_t n) { return n * 150 + r; }},
    // Lanes along the reduced axis, with a rest, and beside channels; several rows as one.
    {"[h=5, w=203]", "\"w\"", "[h=5]", nullptr, 5 * 203, 5, 203,
     [](int64_t r, int64_t n) { return r * 203 + n; }},
    {"[h=7, w=70, c=3]", "\"h\", \"w\"", "[c=3]", nullptr, 490 * 3, 3, 490,
     [](int64_t r, int64_t n) { return n * 3 + r; }},
    {"[h=6, w=7]", "\"w\"", "[h=6]", nullptr, 42, 6, 7,
     [](int64_t r, int64_t n) { return r * 7 + n; }},
    // Tiles, in pieces of a run or taken apart.
    {"[h=3, i=2, w=40, j=2]", "\"i\", \"j\"", "[h=3, w=40]", "(d0 * 160 + d1 * 80 + d2 * 2 + d3)",
     480, 120, 4,
     [](int64_t r, int64_t n) { return (r / 40 * 2 + n / 2) * 80 + r % 40 * 2 + n % 2; }},
    {"[h=3, i=4, w=24, j=4]", "\"i\", \"j\"", "[h=3, w=24]", "(d0 * 384 + d1 * 96 + d2 * 4 + d3)",
     1152, 72, 16,
     [](int64_t r, int64_t n) { return (r / 24 * 4 + n / 4) * 96 + r % 24 * 4 + n % 4; }},
    {"[w=21, j=5]", "\"j\"", "[w=21]", "(d0 * 5 + d1)", 105, 21, 5,
     [](int64_t r, int64_t n) { return r * 5 + n; }},
    {"[w=45, j=3]", "\"j\"", "[w=45]", "(d0 * 2 + d1)", 91, 45, 3,
     [](int64_t r, int64_t n) { return r * 2 + n; }},
};

template <typename T>
void compareAll(const char *type,
                std::function<std::unique_ptr<test::JitModule>(std::string)> compile) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(),
          signalling = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(inf) + 1));
  // Values to choose from: zeros mostly; NaN mostly; nothing above, or below, a zero.
  const std::vector<std::vector<T>> kinds = {{T(0), -T(0), T(0), -T(0), nan, T(-1)},
                                             {nan, -nan, signalling, nan, -T(0), T(0), T(-2)},
                                             {-T(0), T(-1), -T(0), -inf, nan},
                                             {-T(0), -T(0), T(1), inf, -nan},
                                             {T(1), T(2), T(-1), T(3)},
                                             {nan, -nan, nan, signalling},
                                             {nan, -nan, inf, nan, nan, nan, nan, nan},
                                             {nan, -nan, -inf, nan, nan, nan, nan, nan},
                                             {inf, -inf, nan},
                                             // Zeros in one lane, infinities in another.
                                             {inf, inf, inf, T(0), -T(0)},
                                             {-inf, -inf, -inf, T(0), -T(0), nan},
                                             {T(1e-30), T(-1e-30), T(2e-30), T(1e30), -T(0)}};
  for (const Shape &shape : shapes) {
    auto of = [&](const char *axes) { return std::string("!pipe.tensor<") + type + axes + ">"; };
    const std::string in = "[x=" + std::to_string(shape.input) + "]", operand = of(shape.axes),
                      result = of(shape.kept);
    std::string text =
        "pipe.kernel @k \"pixels\" {\n^bb0(%a: " + (shape.map ? of(in.c_str()) : operand) + "):\n";
    if (shape.map) {
      const auto axes = std::count(shape.axes, shape.axes + strlen(shape.axes), '=');
      std::string dims = "d0";
      for (int axis = 1; axis < axes; ++axis)
        dims += ", d" + std::to_string(axis);
      text += "%x = pipe.view %a by affine_map<(" + dims + ") -> " + shape.map +
              "> [] : " + of(in.c_str()) + " -> " + operand + "\n";
    }
    for (const char *kind : {"min", "max"})
      text += std::string("%") + kind + " = pipe.reduce " + kind + (shape.map ? " %x" : " %a") +
              " over [" + shape.over + "] : " + operand + " -> " + result + "\n";
    auto code = compile(text + "pipe.return %min, %max : " + result + ", " + result + "\n}\n");
    for (size_t fill = 0; fill < kinds.size(); ++fill) {
      std::vector<T> x(static_cast<size_t>(shape.input) + 64),
          low(static_cast<size_t>(shape.results)), high(low);
      uint32_t state = static_cast<uint32_t>(fill + 1);
      for (T &value : x) {
        state = state * 1664525 + 1013904223;
        value = kinds[fill][(state >> 24) % kinds[fill].size()];
      }
      auto arg = [&](std::vector<T> &elements, const char *axes) {
        std::vector<int64_t> extents;
        for (const char *at = strchr(axes, '='); at; at = strchr(at + 1, '='))
          extents.push_back(std::atoi(at + 1));
        return TensorArg::of(elements, extents);
      };
      ASSERT_EQ(code->run("k",
                          {arg(x, shape.map ? in.c_str() : shape.axes), arg(low, shape.kept),
                           arg(high, shape.kept)},
                          2),
                0);
      for (int64_t r = 0; r < shape.results; ++r) {
        T least = nan, most = nan;
        for (int64_t n = 0; n < shape.count; ++n) {
          const T value = x[static_cast<size_t>(shape.place(r, n))];
          least = scalar::min(least, value);
          most = scalar::max(most, value);
        }
        if (least != least)
          least = most = scalar::canonicalNan<T>();
        ASSERT_EQ(std::bit_cast<Bits>(low[static_cast<size_t>(r)]), std::bit_cast<Bits>(least))
            << shape.axes << " " << fill << " " << r;
        ASSERT_EQ(std::bit_cast<Bits>(high[static_cast<size_t>(r)]), std::bit_cast<Bits>(most))
            << shape.axes << " " << fill << " " << r;
      }
    }
  }
}

TEST_P(Extremes, OfFloats) {
  compareAll<float>("f32", [&](std::string text) { return compile(text); });
}

TEST_P(Extremes, OfDoubles) {
  compareAll<double>("f64", [&](std::string text) { return compile(text); });
}

/// Places of the best of few floats, with lanes along `w`: an element lies below it in memory, or
/// beside it.
template <typename T>
void compareFewPlaces(const char *type, bool isBeside, int64_t width, int64_t count,
                      llvm::function_ref<std::unique_ptr<test::JitModule>(std::string)> compile) {
  SCOPED_TRACE(std::to_string(width) + " of " + std::to_string(count) +
               (isBeside ? " beside" : ""));
  const std::string w = "w=" + std::to_string(width), j = "j=" + std::to_string(count),
                    tensor = "!pipe.tensor<" + std::string(type) + "[" +
                             (isBeside ? w + ", " + j : j + ", " + w) + "]>",
                    result = "!pipe.tensor<i64[" + w + "]>";
  for (const bool isMin : {false, true}) {
    auto code =
        compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + tensor + "):\n%0 = pipe.reduce " +
                (isMin ? "argmin" : "argmax") + " %x over [\"j\"] : " + tensor + " -> " + result +
                "\npipe.return %0 : " + result + "\n}");
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const std::vector<std::vector<T>> fills = {{3, -1, 7, 7, -9, 2, 5},
                                               {0, T(-0.0), 0, T(-0.0), T(-0.0)},
                                               {T(-0.0), -1, 0, T(-0.0), -2, 1},
                                               {nan},
                                               {nan, -inf, nan, nan, inf, -inf},
                                               {-inf, nan, -inf},
                                               {inf, nan, inf, nan, nan},
                                               {nan, 1, T(-0.0), nan, -1, 0, 2},
                                               {-nan, nan, 0, -0.5}};
    for (const std::vector<T> &fill : fills) {
      std::vector<T> x(static_cast<size_t>(width * count) + 64);
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = fill[(i + i / 19) % fill.size()];
      std::vector<int64_t> y(static_cast<size_t>(width) + 8, -7);
      const std::vector<int64_t> shape =
          isBeside ? std::vector<int64_t>{width, count} : std::vector<int64_t>{count, width};
      ASSERT_EQ(code->run("k", {TensorArg::of(x, shape), TensorArg::of(y, {width})}, 1), 0);
      for (int64_t r = 0; r < width; ++r) {
        auto at = [&](int64_t i) {
          return x[static_cast<size_t>(isBeside ? r * count + i : i * width + r)];
        };
        auto isBetter = [&](T a, T c) { // no NaN is, and each number is better than one
          if (a != a || c != c)
            return a == a;
          const bool equal = a == c && std::signbit(a) != std::signbit(c);
          return isMin ? (a < c || (equal && std::signbit(a)))
                       : (a > c || (equal && std::signbit(c)));
        };
        int64_t best = 0;
        for (int64_t i = 1; i < count; ++i)
          if (isBetter(at(i), at(best)))
            best = i;
        ASSERT_EQ(y[static_cast<size_t>(r)], best) << r << " min " << isMin << " of " << +fill[0];
      }
      for (size_t i = static_cast<size_t>(width); i < y.size(); ++i)
        ASSERT_EQ(y[i], -7);
    }
  }
}

TEST_P(Extremes, PlacesOfFewFloats) {
  auto build = [&](std::string text) { return compile(text); };
  for (const bool isBeside : {true, false})
    for (const int64_t width : {1, 7, 8, 33})
      for (const int64_t count : {1, 2, 5, 8, 10, 16}) {
        compareFewPlaces<float>("f32", isBeside, width, count, build);
        compareFewPlaces<double>("f64", isBeside, width, count, build);
        if (HasFatalFailure())
          return;
      }
}

INSTANTIATE_TEST_SUITE_P(Levels, Extremes, testing::Values(2, 3, 4, 5));

} // namespace
