// SPDX-License-Identifier: Apache-2.0
//
// Windows of which much lives at once, so that fewer elements are made together, and those that
// read few of many neighbours.

#include "runtime/abi/scalar.h"
#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace penstock;
using test::TensorArg;

namespace {

class LoopLanes : public test::AtLevel {};

/// Below a vector of any level, as wide, and a little wider.
constexpr int64_t widths[] = {1, 7, 8, 9, 17, 33, 70};

/// Elements of which some are NaN, infinite, or zeros of either sign.
template <typename T> std::vector<T> elements(int64_t count) {
  std::vector<T> x(static_cast<size_t>(count) + 64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(static_cast<int64_t>(i * i % 251) - (std::is_signed_v<T> ? 125 : 0));
  if constexpr (std::numeric_limits<T>::has_quiet_NaN)
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = i % 5 == 0    ? T(i % 2 ? -0.0 : 0.0)
             : i % 11 == 3 ? std::numeric_limits<T>::quiet_NaN()
             : i % 13 == 4 ? -std::numeric_limits<T>::infinity()
                           : x[i];
  return x;
}

/// A window over `rows` by `columns` neighbours, whose borders repeat elements.
template <typename T>
void compare(const char *type, int64_t rows, int64_t columns, const std::string &body,
             llvm::function_ref<T(const std::vector<T> &)> wanted,
             llvm::function_ref<std::unique_ptr<test::JitModule>(std::string)> compile) {
  for (const int64_t width : widths) {
    SCOPED_TRACE(width);
    constexpr int64_t height = 3;
    const std::string tensor = "!pipe.tensor<" + std::string(type) + "[h=3, w=?]>";
    std::string arguments;
    for (int64_t i = 0; i < rows * columns; ++i)
      arguments += "%v" + std::to_string(i) + ": " + type + ", ";
    std::string text = "pipe.kernel @k \"pixels\" {\n^bb0(%x: " + tensor +
                       "):\n%0 = pipe.window edge %x over [\"h\", \"w\"] low [" +
                       std::to_string(-(rows / 2)) + ", " + std::to_string(-(columns / 2)) +
                       "] high [" + std::to_string(rows / 2) + ", " + std::to_string(columns / 2) +
                       "] : " + tensor + " -> " + tensor + " {\n^bb0(" + arguments +
                       "%h: i64, %w: i64):\n" + body + "}\npipe.return %0 : " + tensor + "\n}";
    for (size_t open = text.find('?'); open != std::string::npos; open = text.find('?'))
      text.replace(open, 1, std::to_string(width));
    auto code = compile(text);
    const std::vector<T> x = elements<T>(height * width);
    std::vector<T> in = x, y(static_cast<size_t>(height * width) + 16, T(77));
    ASSERT_EQ(
        code->run("k", {TensorArg::of(in, {height, width}), TensorArg::of(y, {height, width})}, 1),
        0);
    for (int64_t h = 0; h < height; ++h)
      for (int64_t w = 0; w < width; ++w) {
        std::vector<T> around;
        for (int64_t i = -(rows / 2); i <= rows / 2; ++i)
          for (int64_t j = -(columns / 2); j <= columns / 2; ++j)
            around.push_back(
                x[static_cast<size_t>(std::clamp<int64_t>(h + i, 0, height - 1) * width +
                                      std::clamp<int64_t>(w + j, 0, width - 1))]);
        const T expected = wanted(around), got = y[static_cast<size_t>(h * width + w)];
        if (expected != expected)
          ASSERT_TRUE(got != got) << h << " " << w;
        else
          ASSERT_EQ(std::memcmp(&got, &expected, sizeof(T)), 0)
              << h << " " << w << ": " << +got << ", not " << +expected;
      }
    for (size_t i = static_cast<size_t>(height * width); i < y.size(); ++i)
      ASSERT_EQ(y[i], T(77));
  }
}

/// All of 25 neighbours are alive when the first of them meets the last one.
template <typename T>
void compareLong(const char *type,
                 llvm::function_ref<std::unique_ptr<test::JitModule>(std::string)> compile) {
  std::string body;
  for (const std::string op : {"min", "max"})
    for (int i = 0; i < 25; ++i)
      body += "%" + op + std::to_string(i) + " = pipe.binary " + op + " %v" + std::to_string(i) +
              ", %v" + std::to_string((i + 12) % 25) + " : " + type + "\n";
  std::string sum = "%min0";
  for (int i = 0; i < 25; ++i) {
    const std::string next = "%s" + std::to_string(i);
    body += next + "d = pipe.binary sub %max" + std::to_string(24 - i) + ", %min" +
            std::to_string(i) + " : " + type + "\n";
    body += next + " = pipe.binary max " + sum + ", " + next + "d : " + type + "\n";
    sum = next;
  }
  body += "pipe.yield " + sum + " : " + type + "\n";
  compare<T>(
      type, 5, 5, body,
      [](const std::vector<T> &v) {
        auto low = [&](size_t i) { return scalar::min(v[i], v[(i + 12) % 25]); };
        auto high = [&](size_t i) { return scalar::max(v[i], v[(i + 12) % 25]); };
        T sum = low(0);
        for (size_t i = 0; i < 25; ++i)
          sum = scalar::max(sum, static_cast<T>(high(24 - i) - low(i)));
        return sum;
      },
      compile);
}

TEST_P(LoopLanes, OfLongLivesInFloats) {
  compareLong<float>("f32", [&](std::string text) { return compile(text); });
}
TEST_P(LoopLanes, OfLongLivesInIntegers) {
  compareLong<int32_t>("i32", [&](std::string text) { return compile(text); });
}

// Of 81 neighbours nine are read, three rows of three that lie four apart.
TEST_P(LoopLanes, ReadFewOfManyNeighbours) {
  std::string body = "%f = pipe.constant 1.500000e+00 : f32 -> f32\n", sum;
  std::vector<size_t> read;
  for (int i : {0, 4, 8, 36, 40, 44, 72, 76, 80}) {
    const std::string n = std::to_string(i);
    body += "%m" + n + " = pipe.binary mul %v" + n + ", %f : f32\n";
    if (!sum.empty())
      body += "%s" + n + " = pipe.binary add " + sum + ", %m" + n + " : f32\n";
    sum = (sum.empty() ? "%m" : "%s") + n;
    read.push_back(static_cast<size_t>(i));
  }
  body += "pipe.yield " + sum + " : f32\n";
  compare<float>(
      "f32", 9, 9, body,
      [&](const std::vector<float> &v) {
        float sum = v[0] * 1.5f;
        for (size_t i : llvm::ArrayRef(read).drop_front())
          sum += v[i] * 1.5f;
        return sum;
      },
      [&](std::string text) { return compile(text); });
}

/// Numbers in a range, counted along rows, or columns, of `height` by `width`.
template <typename T>
void compareCounts(const char *type, bool alongRows, int64_t height, int64_t width,
                   llvm::function_ref<std::unique_ptr<test::JitModule>(std::string)> compile) {
  SCOPED_TRACE(std::string(type) + " " + std::to_string(height) + " by " + std::to_string(width));
  const std::string h = "h=" + std::to_string(height), w = "w=" + std::to_string(width);
  const std::string element = std::is_same_v<T, uint8_t> ? "u8" : type;
  const std::string tensor = "!pipe.tensor<" + element + "[" + h + ", " + w + "]>",
                    conditions = "!pipe.tensor<bool[" + h + ", " + w + "]>",
                    result = "!pipe.tensor<i64[" + (alongRows ? h : w) + "]>",
                    number = std::is_integral_v<T> ? "" : ".000000e+00";
  auto code = compile(
      "pipe.kernel @k \"pixels\" {\n^bb0(%x: " + tensor + "):\n%low = pipe.constant 10" + number +
      " : " + type + " -> " + type + "\n%high = pipe.constant 90" + number + " : " + type + " -> " +
      type + "\n%0 = pipe.map(%x) : (" + tensor + ") -> " + conditions + " {\n^bb0(%p: " + type +
      ", %h: i64, %w: i64):\n%a = pipe.compare ge %p, %low : " + type +
      "\n%b = pipe.compare lt %p, %high : " + type +
      "\n%c = pipe.compare eq %a, %b : i1\npipe.yield %c : i1\n}\n" +
      "%1 = pipe.reduce count %0 over [\"" + (alongRows ? "w" : "h") + "\"] : " + conditions +
      " -> " + result + "\npipe.return %1 : " + result + "\n}");
  std::vector<T> x = elements<T>(height * width);
  const int64_t results = alongRows ? height : width, count = alongRows ? width : height;
  std::vector<int64_t> y(static_cast<size_t>(results) + 8, -7);
  ASSERT_EQ(code->run("k", {TensorArg::of(x, {height, width}), TensorArg::of(y, {results})}, 1), 0);
  for (int64_t r = 0; r < results; ++r) {
    int64_t wanted = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T p = x[static_cast<size_t>(alongRows ? r * width + i : i * width + r)];
      wanted += (p >= T(10)) == (p < T(90));
    }
    ASSERT_EQ(y[static_cast<size_t>(r)], wanted) << r;
  }
  for (size_t i = static_cast<size_t>(results); i < y.size(); ++i)
    ASSERT_EQ(y[i], -7);
}

TEST_P(LoopLanes, CountConditions) {
  auto build = [&](std::string text) { return compile(text); };
  for (const bool alongRows : {true, false})
    for (const int64_t extent : {1, 7, 8, 9, 33, 100})
      for (const int64_t other : {1, 9, 40}) {
        const int64_t height = alongRows ? other : extent, width = alongRows ? extent : other;
        compareCounts<float>("f32", alongRows, height, width, build);
        compareCounts<int32_t>("i32", alongRows, height, width, build);
        compareCounts<uint8_t>("ui8", alongRows, height, width, build);
        if (HasFatalFailure())
          return;
      }
}

INSTANTIATE_TEST_SUITE_P(Levels, LoopLanes, testing::Values(2, 3, 4, 5));

} // namespace
