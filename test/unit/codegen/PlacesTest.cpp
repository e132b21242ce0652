// SPDX-License-Identifier: Apache-2.0
//
// Ranks in groups, scatter, filters, and elements at computed places, against plain C++.
#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace penstock;
using test::TensorArg;

namespace {

class Places : public test::AtLevel {};

TEST_P(Places, RanksCountWithinGroups) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%g: !pipe.tensor<i64[k=?]>, %k: i64):
  %r = pipe.rank_by %g along "k" sizes(%k) : !pipe.tensor<i64[k=?]> -> !pipe.tensor<i64[k=?]>
  pipe.return %r : !pipe.tensor<i64[k=?]>
})");
  std::vector<int64_t> group{1, 0, 1, -1, 7, 1, 0, INT64_MIN, INT64_MAX}, rank(5000, 99);
  auto run = [&](int64_t k) {
    return code->run("k", {TensorArg::of(group, {k}), TensorArg::of(rank, {k})}, 1, {k});
  };
  auto ranks = [&] { return std::vector<int64_t>(rank.begin(), rank.begin() + 9); };
  ASSERT_EQ(run(7), 0); // of 7 elements there is no group 7
  EXPECT_EQ(ranks(), (std::vector<int64_t>{0, 0, 1, -1, -1, 2, 1, 99, 99}));
  ASSERT_EQ(run(9), 0);
  EXPECT_EQ(ranks(), (std::vector<int64_t>{0, 0, 1, -1, 0, 2, 1, -1, -1}));
  EXPECT_EQ(run(0), 0);
  // Groups far beyond those before them, in any order.
  group.resize(5008);
  std::map<int64_t, int64_t> counts;
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 5000; ++i) {
    group[size_t(i)] = i * i % 5003;
    expected.push_back(group[size_t(i)] < 5000 ? counts[group[size_t(i)]]++ : -1);
  }
  for (int turn = 0; turn < 2; ++turn) { // the counters of the first are there in the second
    ASSERT_EQ(run(5000), 0);
    EXPECT_EQ(rank, expected);
  }
}

// Places along two axes, outside of each on either side; the axis that goes along is a vector of
// any extent.
TEST_P(Places, ScatterCombinesInOrderAndLeavesOutWhatLiesOutside) {
  constexpr int64_t size = 200, rows = 3, columns = 5;
  for (const int64_t along : {1, 3, 4, 7, 16}) {
    std::vector<float> base, x, r(size_t(rows * columns * along) + 64, -1);
    std::vector<int64_t> first(size + 8), second(size + 8);
    for (int64_t i = 0; i < rows * columns * along; ++i)
      base.push_back(0.1f * float(i));
    for (int64_t i = 0; i < size; ++i) {
      first[size_t(i)] = i * 31 % (rows + 2) - 1;
      second[size_t(i)] = i * 17 % (columns + 2) - 1;
    }
    first[3] = INT64_MIN, second[4] = INT64_MAX, first[5] = int64_t(1) << 32;
    for (int64_t i = 0; i < size * along; ++i)
      x.push_back(std::sin(float(i)) * 1e3f);
    base.resize(base.size() + 64), x.resize(x.size() + 64);
    for (const std::string kind : {"sum", "min", "max", "first"}) {
      std::vector<float> expected = base;
      std::vector<bool> taken(base.size());
      for (int64_t i = 0; i < size; ++i) {
        const int64_t p = first[size_t(i)], q = second[size_t(i)];
        for (int64_t c = 0; c < along && p >= 0 && p < rows && q >= 0 && q < columns; ++c) {
          const size_t at = size_t((p * columns + q) * along + c);
          const float value = x[size_t(i * along + c)];
          if (kind == "sum")
            expected[at] += value;
          else if (kind == "min")
            expected[at] = std::min(expected[at], value);
          else if (kind == "max")
            expected[at] = std::max(expected[at], value);
          else if (!taken[at])
            expected[at] = value;
          taken[at] = true;
        }
      }
      const std::string c = ", c=" + std::to_string(along) + "]>",
                        out = "!pipe.tensor<f32[m=3, r=5" + c, in = "!pipe.tensor<f32[k=200" + c,
                        at = "!pipe.tensor<i64[k=200]>";
      auto code =
          compile("pipe.kernel @k \"pixels\" {\n^bb0(%b: " + out + ", %x: " + in + ", %p: " + at +
                  ", %q: " + at + "):\n%r = pipe.scatter " + kind +
                  " %b by %x along \"k\" over [\"m\", \"r\"] at (%p, %q) : " + out + ", " + in +
                  ", " + at + ", " + at + " -> " + out + "\npipe.return %r : " + out + "\n}\n");
      ASSERT_EQ(code->run("k",
                          {TensorArg::of(base, {rows, columns, along}),
                           TensorArg::of(x, {size, along}), TensorArg::of(first, {size}),
                           TensorArg::of(second, {size}), TensorArg::of(r, {rows, columns, along})},
                          1),
                0);
      for (size_t i = 0; i < size_t(rows * columns * along); ++i)
        ASSERT_EQ(r[i], expected[i]) << kind << " of " << along << " at " << i;
    }
  }
}

// A base that is one number and large goes past the caches where it lies at a line.
TEST_P(Places, AFarBaseIsTheSameBesideALine) {
  constexpr int64_t rows = 1001, row = 32 * 64; // 8 MB
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<f32[k=300]>, %p: !pipe.tensor<i64[k=300]>, %q: !pipe.tensor<i64[k=300]>, %m: i64):
  %one = pipe.constant 1.5 : f32 -> f32
  %b = pipe.map() sizes(%m) : () -> !pipe.tensor<f32[m=? max 1001, r=2048]> {
  ^bb0(%i: i64, %j: i64):
    pipe.yield %one : f32
  }
  %r = pipe.scatter sum %b by %x along "k" over ["m", "r"] at (%p, %q) sizes(%m) : !pipe.tensor<f32[m=? max 1001, r=2048]>, !pipe.tensor<f32[k=300]>, !pipe.tensor<i64[k=300]>, !pipe.tensor<i64[k=300]> -> !pipe.tensor<f32[m=? max 1001, r=2048]>
  pipe.return %r : !pipe.tensor<f32[m=? max 1001, r=2048]>
})");
  std::vector<float> x(300 + 16, 2), all(size_t(rows + 1) * row);
  std::vector<int64_t> first(300 + 8), second(300 + 8);
  for (int64_t i = 0; i < 300; ++i) {
    first[size_t(i)] = i * 31 % rows;
    second[size_t(i)] = i * 17 % row;
  }
  std::vector<float> expected(size_t(rows) * row, 1.5f);
  for (size_t i = 0; i < 300; ++i)
    expected[size_t(first[i] * row + second[i])] += 2;
  const size_t line = 16 - reinterpret_cast<uintptr_t>(all.data()) / sizeof(float) % 16;
  for (const size_t from : {line, line + 1, line + 8}) {
    std::fill(all.begin(), all.end(), -1.0f);
    TensorArg to = TensorArg::of(all, {rows, row});
    to.view.data = all.data() + from;
    ASSERT_EQ(code->run("k",
                        {TensorArg::of(x, {300}), TensorArg::of(first, {300}),
                         TensorArg::of(second, {300}), to},
                        1, {rows}),
              0);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + int64_t(from)));
    EXPECT_EQ(all[from - 1], -1);
    EXPECT_EQ(all[from + expected.size()], -1);
  }
}

// Direct form II transposed, in f64, along either axis, of which lanes and bands have a part left
// over.
TEST_P(Places, FiltersAsTheirDifferenceEquation) {
  const std::vector<double> above{0.3, -0.2, 0.1, 0.05}, below{1.5, -0.9, 0.4};
  const std::pair<int64_t, int64_t> extents[] = {{5, 37}, {6, 8}, {3, 1501}, {9, 2}};
  for (const auto &[c, t] : extents)
    for (const std::string along : {"c", "t"}) {
      std::vector<float> x(size_t(c * t) + 32), r(x.size());
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = std::sin(float(i * i));
      const std::string type =
          "!pipe.tensor<f32[c=" + std::to_string(c) + ", t=" + std::to_string(t) + "]>";
      auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + type +
                          ", %b: !pipe.tensor<f64[j=4]>, %a: !pipe.tensor<f64[j=3]>):\n"
                          "%r = pipe.filter %x along \"" +
                          along + "\" by %b over %a : " + type +
                          ", !pipe.tensor<f64[j=4]>, !pipe.tensor<f64[j=3]> -> " + type +
                          "\npipe.return %r : " + type + "\n}\n");
      std::vector<double> b = above, a = below;
      b.resize(16), a.resize(16);
      ASSERT_EQ(code->run("k",
                          {TensorArg::of(x, {c, t}), TensorArg::of(b, {4}), TensorArg::of(a, {3}),
                           TensorArg::of(r, {c, t})},
                          1),
                0);
      const auto step = size_t(along == "t" ? 1 : t), steps = size_t(along == "t" ? t : c);
      for (size_t row = 0; row < size_t(c * t) / steps; ++row) {
        double z[4] = {};
        for (size_t i = 0; i < steps; ++i) {
          const size_t at = along == "t" ? row * steps + i : i * step + row;
          const double y = z[0] + b[0] / 1.5 * double(x[at]);
          for (size_t j = 1; j < 4; ++j)
            z[j - 1] =
                (j < 3 ? z[j] + double(x[at]) * (b[j] / 1.5) : double(x[at]) * (b[j] / 1.5)) -
                y * (a[j] / 1.5);
          ASSERT_EQ(r[at], float(y)) << along << " " << row << " " << i;
        }
      }
      for (size_t i = size_t(c * t); i < r.size(); ++i)
        ASSERT_EQ(r[i], 0);
    }
}

// Lanes whose places are neighbours: all inside, some outside of either end, all outside, and
// numbers that wrap around.
TEST_P(Places, ReadsComputedRunsAsElements) {
  struct Way {
    const char *ops;
    int64_t step;
  };
  const Way ways[] = {{"%i = pipe.binary add %w, %first : i64", 1},
                      {"%i = pipe.binary sub %first, %w : i64", -1},
                      {"%m = pipe.constant -1 : i64 -> i64\n%n = pipe.binary mul %m, %w : i64\n"
                       "%i = pipe.binary add %first, %n : i64",
                       -1},
                      {"%m = pipe.constant 2 : i64 -> i64\n%n = pipe.binary mul %w, %m : i64\n"
                       "%o = pipe.binary sub %n, %w : i64\n%i = pipe.binary add %o, %first : i64",
                       1},
                      {"%m = pipe.constant 3 : i64 -> i64\n%n = pipe.binary mul %w, %m : i64\n"
                       "%i = pipe.binary add %n, %first : i64",
                       3}};
  for (const Way &way : ways) {
    auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<f32[s=?]>, %s: i64, %first: i64):
  %r = pipe.map () : () -> !pipe.tensor<f32[w=100]> {
  ^bb0(%w: i64):
    )" + std::string(way.ops) +
                        R"(
    %v = pipe.load %x[%i] : !pipe.tensor<f32[s=?]> -> f32
    pipe.yield %v : f32
  }
  pipe.return %r : !pipe.tensor<f32[w=100]>
})");
    std::vector<int64_t> begins{-350,      -99,           97,        200,          299, 310,
                                INT64_MAX, INT64_MAX - 3, INT64_MIN, INT64_MIN + 3};
    for (int64_t begin = -70; begin <= 45; ++begin) // vectors of any width end anywhere about 40
      begins.push_back(begin);
    for (const int64_t size : {0, 1, 40, 300})
      for (const int64_t first : begins) {
        std::vector<float> x(400), r(164, -1);
        for (size_t i = 0; i < x.size(); ++i)
          x[i] = float(i + 1);
        ASSERT_EQ(
            code->run("k", {TensorArg::of(x, {size}), TensorArg::of(r, {100})}, 1, {size, first}),
            0);
        for (int64_t w = 0; w < 100; ++w) {
          const auto at = static_cast<int64_t>(static_cast<uint64_t>(first) +
                                               static_cast<uint64_t>(way.step * w));
          const float expected = size ? x[size_t(std::clamp<int64_t>(at, 0, size - 1))] : 0;
          ASSERT_EQ(r[size_t(w)], expected)
              << way.ops << "\nof " << size << " from " << first << " at " << w;
        }
      }
  }
}

/// Merged axes of which lanes go through the inner one: lanes take turns among planes of the input.
template <typename T>
void takeTurns(const char *type, int64_t pieces, int64_t gap,
               llvm::function_ref<std::unique_ptr<test::JitModule>(std::string)> compile) {
  constexpr int64_t width = 40;
  const std::string in = "!pipe.tensor<" + std::string(type) + "[c=16, w=40]>",
                    out = "!pipe.tensor<" + std::string(type) +
                          "[g=2, w=" + std::to_string(width * pieces) + "]>",
                    scalar = type[0] == 'u' ? "ui8" : type;
  auto code =
      compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + in + "):\n%r = pipe.map () : () -> " +
              out + " {\n^bb0(%g: i64, %w: i64):\n%n = pipe.constant " + std::to_string(pieces) +
              " : i64 -> i64\n%p = pipe.binary div %w, %n : i64\n"
              "%j = pipe.binary rem %w, %n : i64\n%m = pipe.binary mul %g, %n : i64\n"
              "%c = pipe.binary add %m, %j : i64\n%v = pipe.load %x[%c, %p] : " +
              in + " -> " + scalar + "\npipe.yield %v : " + scalar +
              "\n}\npipe.return %r : " + out + "\n}");
  const int64_t row = width + gap;
  std::vector<T> x(static_cast<size_t>(16 * row + 64)),
      r(static_cast<size_t>(2 * width * pieces + 64));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(i * 7 + 3);
  const TensorArg from = TensorArg::of(x, {16, width}, gap * static_cast<int64_t>(sizeof(T)));
  ASSERT_EQ(code->run("k", {from, TensorArg::of(r, {2, width * pieces})}, 1), 0);
  for (int64_t g = 0; g < 2; ++g)
    for (int64_t w = 0; w < width * pieces; ++w)
      ASSERT_EQ(r[static_cast<size_t>(g * width * pieces + w)],
                x[static_cast<size_t>((g * pieces + w % pieces) * row + w / pieces)])
          << type << ", " << pieces << " pieces, gap " << gap << " at " << w;
}

TEST_P(Places, TakesTurnsAmongPlanes) {
  auto build = [&](std::string text) { return compile(text); };
  for (const int64_t pieces : {2, 3, 4, 8})
    for (const int64_t gap : {0, 5}) {
      takeTurns<float>("f32", pieces, gap, build);
      takeTurns<uint8_t>("u8", pieces, gap, build);
      takeTurns<double>("f64", pieces, gap, build);
      if (HasFatalFailure())
        return;
    }
}

// Rows that are merged, of lengths about those of vectors, with a gap behind each or none.
TEST_P(Places, ReadsRowsThatAreMerged) {
  for (const int64_t width : {2, 3, 15, 24, 31, 32, 33, 40, 63, 64, 65, 100, 127})
    for (const int64_t gap : {0, 5}) {
      constexpr int64_t rows = 7;
      // Places that are divided by another number, too, have no axis for each digit.
      const int64_t by = gap == 0 ? 1 : 5;
      const std::string in = "!pipe.tensor<u8[h=7, w=" + std::to_string(width) + "]>",
                        out = "!pipe.tensor<u8[h=" + std::to_string(rows * width) + "]>";
      auto code =
          compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + in + "):\n%r = pipe.map () : () -> " +
                  out + " {\n^bb0(%i: i64):\n%n = pipe.constant " + std::to_string(width) +
                  " : i64 -> i64\n%h = pipe.binary div %i, %n : i64\n"
                  "%w = pipe.binary rem %i, %n : i64\n%v = pipe.load %x[%h, %w] : " +
                  in + " -> ui8\n%m = pipe.constant " + std::to_string(by) +
                  " : i64 -> i64\n%q = pipe.binary rem %i, %m : i64\n"
                  "%b = pipe.cast value %q : i64 -> ui8\n%s = pipe.binary add %v, %b : ui8\n"
                  "pipe.yield %s : ui8\n}\npipe.return %r : " +
                  out + "\n}");
      std::vector<uint8_t> x(static_cast<size_t>(rows * (width + gap) + 64)),
          r(static_cast<size_t>(rows * width + 64), 200);
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<uint8_t>(i * 7 + 3);
      ASSERT_EQ(code->run("k",
                          {TensorArg::of(x, {rows, width}, gap), TensorArg::of(r, {rows * width})},
                          1),
                0);
      for (int64_t i = 0; i < rows * width; ++i)
        ASSERT_EQ(r[static_cast<size_t>(i)],
                  static_cast<uint8_t>(
                      x[static_cast<size_t>(i / width * (width + gap) + i % width)] + i % by))
            << width << " with " << gap << " behind, at " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, Places, testing::Values(2, 3, 4));

} // namespace
