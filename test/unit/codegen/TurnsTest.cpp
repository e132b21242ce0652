// SPDX-License-Identifier: Apache-2.0
//
// Histograms and scatters whose neighbours take turns among tables, against plain C++.
#include "test/unit/codegen/AtLevel.h"

#include <gtest/gtest.h>

using namespace penstock;
using test::TensorArg;

namespace {

class Turns : public test::AtLevel {};

TEST_P(Turns, CountsOnlyKeysInside) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<i32[h=3, w=5]>):
  %0 = pipe.histogram %x over ["w"] : !pipe.tensor<i32[h=3, w=5]> -> !pipe.tensor<i32[h=3, bin=4]>
  pipe.return %0 : !pipe.tensor<i32[h=3, bin=4]>
})");
  std::vector<int32_t> x{0, 3, 3, 9, 1, -1, -1, 0, 4, 2, -2147483647 - 1, 2147483647, 3, -1, -4},
      y(12, 77);
  x.resize(15 + 64);
  ASSERT_EQ(code->run("k", {TensorArg::of(x, {3, 5}), TensorArg::of(y, {3, 4})}, 1), 0);
  EXPECT_EQ(y, (std::vector<int32_t>{1, 1, 0, 2, 1, 0, 1, 0, 0, 0, 0, 1}));
}

// Large enough for several tables, with rows that these do not divide, and keys beyond the bins.
TEST_P(Turns, CountsPixelsInTurns) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[h=64, w=70, c=3]>, %z: !pipe.tensor<i16[n=1001]>):
  %0 = pipe.histogram %x over ["h", "w"] : !pipe.tensor<u8[h=64, w=70, c=3]> -> !pipe.tensor<i32[c=3, bin=256]>
  %1 = pipe.histogram %z over ["n"] : !pipe.tensor<i16[n=1001]> -> !pipe.tensor<i32[bin=20]>
  pipe.return %0, %1 : !pipe.tensor<i32[c=3, bin=256]>, !pipe.tensor<i32[bin=20]>
})");
  std::vector<uint8_t> x(64 * 70 * 3 + 64);
  std::vector<int16_t> z(1001 + 64);
  std::vector<int32_t> y(768, 77), few(20, 77), expected(768), expectedFew(20);
  for (size_t i = 0; i < 64 * 70 * 3; ++i) {
    x[i] = static_cast<uint8_t>(i % 3 == 0 ? 9 : i * i / 1000);
    ++expected[i % 3 * 256 + x[i]];
  }
  for (size_t i = 0; i < 1001; ++i) {
    z[i] = static_cast<int16_t>(static_cast<int>(i * i % 29) - 4);
    if (z[i] >= 0 && z[i] < 20)
      ++expectedFew[static_cast<size_t>(z[i])];
  }
  ASSERT_EQ(code->run("k",
                      {TensorArg::of(x, {64, 70, 3}), TensorArg::of(z, {1001}),
                       TensorArg::of(y, {3, 256}), TensorArg::of(few, {20})},
                      2),
            0);
  EXPECT_EQ(y, expected);
  EXPECT_EQ(few, expectedFew);
}

// Sums wrap, the base counts once, and what lies outside is left out, whatever the table.
TEST_P(Turns, AddsIntegersUpInTurns) {
  constexpr int64_t size = 1003, places = 21;
  for (const std::string count : {"", " {turns = #schedule.turns<tables = 7>}"}) {
    auto code = compile(
        R"(
pipe.kernel @k "pixels" {
^bb0(%b: !pipe.tensor<i32[m=21]>, %x: !pipe.tensor<i32[k=1003]>, %at: !pipe.tensor<i64[k=1003]>):
  %0 = pipe.scatter sum %b by %x along "k" over ["m"] at (%at))" +
        count +
        R"( : !pipe.tensor<i32[m=21]>, !pipe.tensor<i32[k=1003]>, !pipe.tensor<i64[k=1003]> -> !pipe.tensor<i32[m=21]>
  pipe.return %0 : !pipe.tensor<i32[m=21]>
})");
    std::vector<uint32_t> expected;
    std::vector<int32_t> base, x, sum(places + 64, 77);
    std::vector<int64_t> at;
    for (int64_t i = 0; i < places; ++i) {
      base.push_back(static_cast<int32_t>(1000 * i - 5000));
      expected.push_back(static_cast<uint32_t>(base.back()));
    }
    for (int64_t i = 0; i < size; ++i) {
      x.push_back(i % 5 == 0 ? INT32_MAX - static_cast<int32_t>(i) : static_cast<int32_t>(i));
      at.push_back(i == 8 ? INT64_MIN : i == 9 ? INT64_MAX : i / 3 * 7 % (places + 2) - 1);
      if (at.back() >= 0 && at.back() < places)
        expected[static_cast<size_t>(at.back())] += static_cast<uint32_t>(x.back());
    }
    base.resize(base.size() + 64), x.resize(x.size() + 64), at.resize(at.size() + 8);
    ASSERT_EQ(code->run("k",
                        {TensorArg::of(base, {places}), TensorArg::of(x, {size}),
                         TensorArg::of(at, {size}), TensorArg::of(sum, {places})},
                        1),
              0);
    for (size_t i = 0; i < places; ++i)
      ASSERT_EQ(static_cast<uint32_t>(sum[i]), expected[i]) << i << count;
    EXPECT_EQ(sum[places], 77);
  }
}

// Rows that all elements have go along in each table.
TEST_P(Turns, AddsRowsOfIntegersUpInTurns) {
  constexpr int64_t size = 402, places = 5, along = 3;
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%b: !pipe.tensor<u8[m=5, c=3]>, %x: !pipe.tensor<u8[k=402, c=3]>, %at: !pipe.tensor<i64[k=402]>):
  %0 = pipe.scatter sum %b by %x along "k" over ["m"] at (%at) : !pipe.tensor<u8[m=5, c=3]>, !pipe.tensor<u8[k=402, c=3]>, !pipe.tensor<i64[k=402]> -> !pipe.tensor<u8[m=5, c=3]>
  pipe.return %0 : !pipe.tensor<u8[m=5, c=3]>
})");
  std::vector<uint8_t> base(places * along + 64, 9), expected = base, x, sum(places * along + 64);
  std::vector<int64_t> at;
  for (int64_t i = 0; i < size; ++i)
    at.push_back(i * i % places);
  for (int64_t i = 0; i < size * along; ++i) {
    x.push_back(static_cast<uint8_t>(i * 11));
    uint8_t &to =
        expected[static_cast<size_t>(at[static_cast<size_t>(i / along)] * along + i % along)];
    to = static_cast<uint8_t>(to + x.back());
  }
  x.resize(x.size() + 64), at.resize(at.size() + 8);
  ASSERT_EQ(code->run("k",
                      {TensorArg::of(base, {places, along}), TensorArg::of(x, {size, along}),
                       TensorArg::of(at, {size}), TensorArg::of(sum, {places, along})},
                      1),
            0);
  for (size_t i = 0; i < places * along; ++i)
    ASSERT_EQ(sum[i], expected[i]) << i;
}

// Runs of zeros, and single votes in front of one, behind it and in the last elements.
TEST_P(Turns, SkipsOnlyWhatIsAll0) {
  constexpr int64_t size = 1003, places = 16;
  for (const std::string skip : {"", " {turns = #schedule.turns<tables = 1, skip = 64>}",
                                 " {turns = #schedule.turns<tables = 3, skip = 8>}"}) {
    auto code = compile(
        R"(
pipe.kernel @k "pixels" {
^bb0(%b: !pipe.tensor<u16[m=16]>, %x: !pipe.tensor<u8[k=1003]>, %at: !pipe.tensor<i64[k=1003]>):
  %zero = pipe.constant 0 : ui16 -> ui16
  %most = pipe.constant 200 : ui8 -> ui8
  %v = pipe.map(%x) : (!pipe.tensor<u8[k=1003]>) -> !pipe.tensor<u16[k=1003]> {
  ^bb0(%p: ui8, %k: i64):
    %votes = pipe.compare gt %p, %most : ui8
    %wide = pipe.cast value %p : ui8 -> ui16
    %q = pipe.select %votes, %wide, %zero : ui16
    pipe.yield %q : ui16
  }
  %0 = pipe.scatter sum %b by %v along "k" over ["m"] at (%at))" +
        skip +
        R"( : !pipe.tensor<u16[m=16]>, !pipe.tensor<u16[k=1003]>, !pipe.tensor<i64[k=1003]> -> !pipe.tensor<u16[m=16]>
  pipe.return %0 : !pipe.tensor<u16[m=16]>
})");
    for (const int64_t every : {1, 7, 31, 32, 33, 64, 400, 1002, 5000}) {
      std::vector<uint16_t> base(places + 64, 65000), expected = base, sum(places + 64);
      std::vector<uint8_t> x(size + 64, 200);
      std::vector<int64_t> at(size + 8);
      for (int64_t i = 0; i < size; ++i) {
        at[static_cast<size_t>(i)] = i * 5 % (places + 1);
        if (i % every || every == 5000)
          continue;
        x[static_cast<size_t>(i)] = static_cast<uint8_t>(201 + i % 50);
        if (at[static_cast<size_t>(i)] < places)
          expected[static_cast<size_t>(at[static_cast<size_t>(i)])] += x[static_cast<size_t>(i)];
      }
      ASSERT_EQ(code->run("k",
                          {TensorArg::of(base, {places}), TensorArg::of(x, {size}),
                           TensorArg::of(at, {size}), TensorArg::of(sum, {places})},
                          1),
                0);
      for (size_t i = 0; i < places; ++i)
        ASSERT_EQ(sum[i], expected[i]) << i << skip << " of every " << every;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Turns, testing::Values(2, 3, 4));

} // namespace
