// SPDX-License-Identifier: Apache-2.0
//
// Sorting and what a mask or a key moves, against plain C++.

#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

using namespace penstock;
using test::JitModule;
using test::TensorArg;

namespace {

class Order : public test::AtLevel {};

std::string sortKernel(const std::string &element, const std::string &axes,
                       const std::string &along) {
  const std::string in = "!pipe.tensor<" + element + axes + ">",
                    out = "!pipe.tensor<i64" + axes + ">";
  return "pipe.kernel @k \"pixels\" {\n^bb0(%x: " + in + "):\n%s = pipe.sort %x along \"" + along +
         "\" : " + in + " -> " + out + "\npipe.return %s : " + out + "\n}\n";
}

template <typename T, typename Before>
void checkSort(JitModule &code, std::vector<T> x, Before before) {
  const size_t n = x.size();
  std::vector<int64_t> order(n), expected(n);
  std::iota(expected.begin(), expected.end(), 0);
  std::sort(expected.begin(), expected.end(), [&](int64_t i, int64_t k) {
    const T a = x[size_t(i)], b = x[size_t(k)];
    return before(a, b) || (!before(b, a) && i < k);
  });
  x.resize(n + 64 / sizeof(T));
  ASSERT_EQ(code.run("k",
                     {TensorArg::of(x, {static_cast<int64_t>(n)}),
                      TensorArg::of(order, {static_cast<int64_t>(n)})},
                     1),
            0);
  ASSERT_EQ(order, expected);
}

// Every length up to one past two merges of merges, and a long one.
TEST_P(Order, SortsAnyLengthStably) {
  auto lengths = [](auto check) {
    for (size_t n = 1; n <= 17; ++n)
      check(n);
    check(1000);
  };
  lengths([&](size_t n) {
    auto code = compile(sortKernel("u8", "[w=" + std::to_string(n) + "]", "w"));
    std::vector<uint8_t> x(n);
    for (size_t i = 0; i < n; ++i)
      x[i] = static_cast<uint8_t>((i * 7919 + n) % 11 * 25);
    checkSort(*code, x, std::less<uint8_t>());
  });
  std::vector<int64_t> wide{0, INT64_MIN, INT64_MAX, -1, 1, INT64_MAX, INT64_MIN};
  auto code = compile(sortKernel("i64", "[w=7]", "w"));
  checkSort(*code, wide, std::less<int64_t>());
}

// -0 below +0, NaN last, and NaNs with any sign and payload equal.
TEST_P(Order, SortsFloatsAsMinAndMaxOrderThem) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = INFINITY;
  const std::vector<float> x{0.0f, -0.0f, nan,   inf,    -inf,    -1.5f,
                             0.0f, -nan,  -0.0f, 1e-45f, -1e-45f, 3.0f};
  auto before = [](auto a, auto b) {
    if (a == 0 && b == 0)
      return std::signbit(a) && !std::signbit(b);
    return a < b || (!std::isnan(a) && std::isnan(b));
  };
  auto single = compile(sortKernel("f32", "[w=12]", "w"));
  checkSort(*single, x, before);
  auto twice = compile(sortKernel("f64", "[w=12]", "w"));
  checkSort(*twice, std::vector<double>(x.begin(), x.end()), before);
}

/// Rows along one of two axes, each sorted on its own.
template <typename T, typename Before>
void checkRows(JitModule &code, std::vector<T> x, int64_t h, int64_t w, bool alongLast,
               Before before) {
  const int64_t count = alongLast ? w : h, step = alongLast ? 1 : w;
  std::vector<int64_t> order(x.size()), expected(x.size());
  for (int64_t row = 0; row < (alongLast ? h : w); ++row) {
    const int64_t start = alongLast ? row * w : row;
    std::vector<int64_t> places(static_cast<size_t>(count));
    std::iota(places.begin(), places.end(), 0);
    std::sort(places.begin(), places.end(), [&](int64_t i, int64_t k) {
      const T a = x[size_t(start + i * step)], b = x[size_t(start + k * step)];
      return before(a, b) || (!before(b, a) && i < k);
    });
    for (int64_t i = 0; i < count; ++i)
      expected[size_t(start + i * step)] = places[size_t(i)];
  }
  x.resize(x.size() + 64 / sizeof(T));
  ASSERT_EQ(code.run("k", {TensorArg::of(x, {h, w}), TensorArg::of(order, {h, w})}, 1), 0);
  ASSERT_EQ(order, expected);
}

// As many rows as there are lanes and one more, and lengths about those of runs and of vectors.
TEST_P(Order, SortsRowsSideBySide) {
  auto check = [&]<typename T>(const char *element, int64_t rows, int64_t count, T least,
                               std::type_identity_t<T> most, auto before) {
    for (bool alongLast : {false, true}) {
      const int64_t h = alongLast ? rows : count, w = alongLast ? count : rows;
      auto code =
          compile(sortKernel(element, "[h=" + std::to_string(h) + ", w=" + std::to_string(w) + "]",
                             alongLast ? "w" : "h"));
      std::vector<T> x(size_t(h * w));
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t number = (i * 7919 + i / 3) % 13;
        x[i] = number == 0 ? least : number == 1 ? most : static_cast<T>(T(number) - T(6));
      }
      checkRows(*code, x, h, w, alongLast, before);
    }
  };
  for (int64_t count : {1, 2, 3, 5, 8, 15, 16, 17, 31, 33, 100})
    check("i16", 17, count, int16_t(INT16_MIN), INT16_MAX, std::less<int16_t>());
  for (int64_t rows : {16, 35}) {
    check("u8", rows, 33, uint8_t(0), UINT8_MAX, std::less<uint8_t>());
    check("i32", rows, 33, int32_t(INT32_MIN), INT32_MAX, std::less<int32_t>());
    check("f32", rows, 9, -INFINITY, std::numeric_limits<float>::quiet_NaN(),
          [](float a, float b) { return a < b || (!std::isnan(a) && std::isnan(b)); });
  }
  check("i64", 17, 9, int64_t(INT64_MIN), INT64_MAX, std::less<int64_t>());
}

TEST_P(Order, SortsAlongAnyAxisOfDynamicExtent) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<i16[h=?, w=3]>, %h: i64):
  %s = pipe.sort %x along "h" sizes(%h) : !pipe.tensor<i16[h=?, w=3]> -> !pipe.tensor<i64[h=?, w=3]>
  pipe.return %s : !pipe.tensor<i64[h=?, w=3]>
})");
  std::vector<int16_t> x{5, -1, 0, 4, -2, 0, 3, -3, 0, 4, -1, -7};
  x.resize(x.size() + 32);
  std::vector<int64_t> order(12);
  ASSERT_EQ(code->run("k", {TensorArg::of(x, {4, 3}), TensorArg::of(order, {4, 3})}, 1, {4}), 0);
  EXPECT_EQ(order, (std::vector<int64_t>{2, 2, 3, 1, 1, 0, 3, 0, 1, 0, 3, 2}));
  EXPECT_EQ(code->run("k", {TensorArg::of(x, {0, 3}), TensorArg::of(order, {0, 3})}, 1, {0}), 0);
}

TEST_P(Order, CompactKeepsOrderAndFillsWithZeros) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<f32[c=2, k=?]>, %m: !pipe.tensor<bool[k=?]>, %k: i64):
  %r, %n = pipe.compact %x along "k" where %m sizes(%k) : !pipe.tensor<f32[c=2, k=?]>, !pipe.tensor<bool[k=?]> -> !pipe.tensor<f32[c=2, k=?]>, !pipe.tensor<i64[]>
  pipe.return %r, %n : !pipe.tensor<f32[c=2, k=?]>, !pipe.tensor<i64[]>
})");
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, r(10, -1);
  std::vector<uint8_t> mask{0, 1, 0, 1, 1};
  std::vector<int64_t> n(1, -1);
  x.resize(32), mask.resize(64);
  auto run = [&](int64_t k) {
    return code->run("k",
                     {TensorArg::of(x, {2, k}), TensorArg::of(mask, {k}), TensorArg::of(r, {2, k}),
                      TensorArg::of(n, {})},
                     2, {k});
  };
  ASSERT_EQ(run(5), 0);
  EXPECT_EQ(r, (std::vector<float>{2, 4, 5, 0, 0, 7, 9, 10, 0, 0}));
  EXPECT_EQ(n[0], 3);
  ASSERT_EQ(run(0), 0);
  EXPECT_EQ(n[0], 0);
}

// Many keys that meet in the table, more groups than the limit, and keys of
// which only one word differs.
TEST_P(Order, GroupsByKeysOfSeveralWords) {
  constexpr int64_t size = 1000, limit = 150;
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<i32[k=1000, xyz=3]>, %m: !pipe.tensor<bool[k=1000]>):
  %s, %f, %n = pipe.group %x along "k" where %m limit 150 : !pipe.tensor<i32[k=1000, xyz=3]>, !pipe.tensor<bool[k=1000]> -> !pipe.tensor<i64[k=1000]>, !pipe.tensor<i64[m=150]>, !pipe.tensor<i64[]>
  pipe.return %s, %f, %n : !pipe.tensor<i64[k=1000]>, !pipe.tensor<i64[m=150]>, !pipe.tensor<i64[]>
})");
  std::vector<int32_t> x;
  std::vector<uint8_t> mask;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t number = (i * 7919) % 333;
    for (int64_t digit : {number % 7, (number / 7) % 7, number / 49})
      x.push_back(static_cast<int32_t>(digit) * (1 << 28));
    mask.push_back(i % 5 != 0);
  }
  std::vector<int64_t> slot(size), first(limit, -1), count(1), expected, leaders;
  std::map<std::vector<int32_t>, int64_t> groups;
  for (int64_t i = 0; i < size; ++i) {
    const std::vector<int32_t> key(x.begin() + 3 * i, x.begin() + 3 * i + 3);
    if (mask[size_t(i)] && !groups.count(key) && int64_t(groups.size()) < limit) {
      groups.emplace(key, int64_t(groups.size()));
      leaders.push_back(i);
    }
    expected.push_back(mask[size_t(i)] && groups.count(key) ? groups[key] : -1);
  }
  ASSERT_EQ(int64_t(leaders.size()), limit);
  x.resize(x.size() + 16), mask.resize(mask.size() + 64);
  ASSERT_EQ(code->run("k",
                      {TensorArg::of(x, {size, 3}), TensorArg::of(mask, {size}),
                       TensorArg::of(slot, {size}), TensorArg::of(first, {limit}),
                       TensorArg::of(count, {})},
                      3),
            0);
  EXPECT_EQ(slot, expected);
  EXPECT_EQ(first, leaders);
  EXPECT_EQ(count[0], limit);
}

template <typename T> void checkGroups(JitModule &code, std::vector<T> x, int64_t limit) {
  const int64_t size = int64_t(x.size());
  std::vector<int64_t> slot(x.size()), first(size_t(std::min(size, limit)), -1), count(1), expected,
      leaders(first.size());
  std::map<T, int64_t> groups;
  for (int64_t i = 0; i < size; ++i) {
    if (!groups.count(x[size_t(i)]) && int64_t(groups.size()) < limit) {
      leaders[groups.size()] = i;
      groups.emplace(x[size_t(i)], int64_t(groups.size()));
    }
    expected.push_back(groups.count(x[size_t(i)]) ? groups[x[size_t(i)]] : -1);
  }
  x.resize(x.size() + 64);
  ASSERT_EQ(code.run("k",
                     {TensorArg::of(x, {size}), TensorArg::of(slot, {size}),
                      TensorArg::of(first, {int64_t(first.size())}), TensorArg::of(count, {})},
                     3),
            0);
  EXPECT_EQ(slot, expected);
  EXPECT_EQ(first, leaders);
  EXPECT_EQ(count[0], int64_t(groups.size()));
}

// Keys and numbers have as many bytes as they need: keys that differ in their upper half, or in
// their sign, are not the same.
TEST_P(Order, GroupsByKeysOfOneWord) {
  auto compiled = [&](const std::string &type, int64_t limit) {
    const std::string room = std::to_string(std::min<int64_t>(limit, 500));
    return compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<" + type +
                   "[k=500]>):\n%s, %f, %n = pipe.group %x along \"k\" limit " +
                   std::to_string(limit) + " : !pipe.tensor<" + type +
                   "[k=500]> -> !pipe.tensor<i64[k=500]>, !pipe.tensor<i64[m=" + room +
                   "]>, !pipe.tensor<i64[]>\npipe.return %s, %f, %n : !pipe.tensor<i64[k=500]>, "
                   "!pipe.tensor<i64[m=" +
                   room + "]>, !pipe.tensor<i64[]>\n}\n");
  };
  for (const int64_t limit : {int64_t(1), int64_t(40), int64_t(500), int64_t(1) << 40}) {
    std::vector<int64_t> longs;
    std::vector<int32_t> words;
    std::vector<uint16_t> counts;
    std::vector<int8_t> bytes;
    for (int64_t i = 0; i < 500; ++i) {
      const int64_t number = i * 7919 % 97 - 48;
      longs.push_back(number % 5 + number * (int64_t(1) << 32));
      words.push_back(int32_t(number) * (1 << 24));
      counts.push_back(uint16_t(number * 977));
      bytes.push_back(int8_t(number * 3));
    }
    checkGroups(*compiled("i64", limit), longs, limit);
    checkGroups(*compiled("i32", limit), words, limit);
    checkGroups(*compiled("u16", limit), counts, limit);
    checkGroups(*compiled("i8", limit), bytes, limit);
  }
}

// As reductions are: 32 sums of the members in their order, then pairs.
TEST_P(Order, SumsOfGroupsAreThoseOfTheirMembers) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<f32[k=300, c=2]>, %g: !pipe.tensor<i64[k=300]>):
  %r = pipe.reduce_by sum %x along "k" by %g : !pipe.tensor<f32[k=300, c=2]>, !pipe.tensor<i64[k=300]> -> !pipe.tensor<f32[m=4, c=2]>
  pipe.return %r : !pipe.tensor<f32[m=4, c=2]>
})");
  std::vector<float> x(600 + 16), r(8, -1), expected;
  std::vector<int64_t> group(300 + 8);
  for (size_t i = 0; i < 300; ++i) {
    x[2 * i] = std::sin(float(i)) * 1e3f;
    x[2 * i + 1] = 1.0f / float(i + 1);
    group[i] = int64_t(i * 31 % 5) - 1; // -1 .. 3
  }
  group[7] = 99;
  for (int64_t m = 0; m < 4; ++m)
    for (size_t c = 0; c < 2; ++c) {
      std::vector<float> lanes(32);
      size_t member = 0;
      for (size_t i = 0; i < 300; ++i)
        if (group[i] == m)
          lanes[member++ % 32] += x[2 * i + c];
      for (size_t half = 16; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; ++lane)
          lanes[lane] += lanes[lane + half];
      expected.push_back(lanes[0]);
    }
  ASSERT_EQ(
      code->run("k",
                {TensorArg::of(x, {300, 2}), TensorArg::of(group, {300}), TensorArg::of(r, {4, 2})},
                1),
      0);
  EXPECT_EQ(r, expected);
}

INSTANTIATE_TEST_SUITE_P(Levels, Order, testing::Values(2, 3, 4));

} // namespace
