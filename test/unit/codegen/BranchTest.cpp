// SPDX-License-Identifier: Apache-2.0
//
// Branches and loops over tensors, inside one kernel.

#include "test/unit/codegen/AtLevel.h"

#include <gtest/gtest.h>

using namespace penstock;
using test::JitModule;
using test::TensorArg;

namespace {

class Branches : public test::AtLevel {};

// An iteration reads the row before it mirrored: no element may be overwritten
// before all are read. The carried scalar doubles.
TEST_P(Branches, RepeatCarriesTensorsAndScalars) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<i32[h=?, w=37]>, %h: i64, %n: i64, %first: i32):
  %0:2 = pipe.repeat %n bound 3 (%x, %first) sizes(%h)
      : (!pipe.tensor<i32[h=?, w=37]>, i32) -> (!pipe.tensor<i32[h=?, w=37]>, i32) {
  ^bb0(%i: i64, %now: !pipe.tensor<i32[h=?, w=37]>, %s: i32):
    %turned = pipe.view %now by affine_map<(d0, d1) -> (d0, -d1 + 36)> [] sizes(%h)
        : !pipe.tensor<i32[h=?, w=37]> -> !pipe.tensor<i32[h=?, w=37]>
    %next = pipe.map (%now, %turned) sizes(%h)
        : (!pipe.tensor<i32[h=?, w=37]>, !pipe.tensor<i32[h=?, w=37]>) -> !pipe.tensor<i32[h=?, w=37]> {
    ^bb0(%a: i32, %b: i32, %y: i64, %z: i64):
      %two = pipe.constant 2 : i32 -> i32
      %c = pipe.binary mul %b, %two : i32
      %d = pipe.binary add %a, %c : i32
      %e = pipe.binary add %d, %s : i32
      pipe.yield %e : i32
    }
    %t = pipe.binary add %s, %s : i32
    pipe.yield %next, %t : !pipe.tensor<i32[h=?, w=37]>, i32
  }
  %1 = pipe.map (%0#0) sizes(%h) : (!pipe.tensor<i32[h=?, w=37]>) -> !pipe.tensor<i32[h=?, w=37]> {
  ^bb0(%a: i32, %y: i64, %z: i64):
    %b = pipe.binary sub %a, %0#1 : i32
    pipe.yield %b : i32
  }
  pipe.return %1 : !pipe.tensor<i32[h=?, w=37]>
})");
  for (const int64_t h : {1, 3})
    for (const int64_t count : {-2, 0, 1, 2, 3, 9}) {
      const auto size = static_cast<size_t>(h * 37);
      std::vector<int32_t> x(size + 16), y(size);
      for (size_t i = 0; i < size; ++i)
        x[i] = static_cast<int32_t>(i * i % 101);
      ASSERT_EQ(
          code->run("k", {TensorArg::of(x, {h, 37}), TensorArg::of(y, {h, 37})}, 1, {h, count, 5}),
          0);
      std::vector<int32_t> now(x.begin(), x.begin() + static_cast<int64_t>(size));
      int32_t scalar = 5;
      for (int64_t i = 0; i < std::min<int64_t>(count, 3); ++i, scalar += scalar) {
        std::vector<int32_t> next(size);
        for (size_t row = 0; row < size; row += 37)
          for (size_t w = 0; w < 37; ++w)
            next[row + w] = now[row + w] + 2 * now[row + 36 - w] + scalar;
        now = next;
      }
      for (size_t i = 0; i < size; ++i)
        ASSERT_EQ(y[i], now[i] - scalar) << h << " rows, " << count << " times, element " << i;
    }
}

// A loop in an arm in a loop, and an arm that yields a scalar beside its tensor.
TEST_P(Branches, NestInEachOther) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<i32[w=50]>, %which: i64, %n: i64):
  %0:2 = pipe.choose %which -> !pipe.tensor<i32[w=50]>, i32 {
    %seven = pipe.constant 7 : i32 -> i32
    pipe.yield %x, %seven : !pipe.tensor<i32[w=50]>, i32
  }, {
    %nine = pipe.constant 9 : i32 -> i32
    %outer = pipe.repeat %n bound 4 (%x) : (!pipe.tensor<i32[w=50]>) -> !pipe.tensor<i32[w=50]> {
    ^bb0(%i: i64, %now: !pipe.tensor<i32[w=50]>):
      %inner = pipe.repeat %i bound 2 (%now) : (!pipe.tensor<i32[w=50]>) -> !pipe.tensor<i32[w=50]> {
      ^bb0(%j: i64, %v: !pipe.tensor<i32[w=50]>):
        %m = pipe.map (%v) : (!pipe.tensor<i32[w=50]>) -> !pipe.tensor<i32[w=50]> {
        ^bb0(%a: i32, %w: i64):
          %k = pipe.cast value %j : i64 -> i32
          %s = pipe.binary add %a, %k : i32
          %t = pipe.binary add %s, %s : i32
          pipe.yield %t : i32
        }
        pipe.yield %m : !pipe.tensor<i32[w=50]>
      }
      %picked = pipe.choose %i -> !pipe.tensor<i32[w=50]> {
        %r = pipe.view %inner by affine_map<(d0) -> (-d0 + 49)> [] : !pipe.tensor<i32[w=50]> -> !pipe.tensor<i32[w=50]>
        pipe.yield %r : !pipe.tensor<i32[w=50]>
      }, {
        pipe.yield %inner : !pipe.tensor<i32[w=50]>
      }
      pipe.yield %picked : !pipe.tensor<i32[w=50]>
    }
    pipe.yield %outer, %nine : !pipe.tensor<i32[w=50]>, i32
  }
  %1 = pipe.map (%0#0) : (!pipe.tensor<i32[w=50]>) -> !pipe.tensor<i32[w=50]> {
  ^bb0(%a: i32, %w: i64):
    %b = pipe.binary add %a, %0#1 : i32
    pipe.yield %b : i32
  }
  pipe.return %1 : !pipe.tensor<i32[w=50]>
})");
  std::vector<int32_t> x(50 + 16), y(50);
  for (size_t i = 0; i < 50; ++i)
    x[i] = static_cast<int32_t>(3 * i);
  for (const int64_t which : {-1, 0, 1, 2})
    for (const int64_t count : {0, 1, 3, 4}) {
      ASSERT_EQ(code->run("k", {TensorArg::of(x, {50}), TensorArg::of(y, {50})}, 1, {which, count}),
                0);
      std::vector<int32_t> now(x.begin(), x.begin() + 50);
      for (int64_t i = 0; which > 0 && i < count; ++i) {
        for (int32_t j = 0; j < std::min<int64_t>(i, 2); ++j)
          for (int32_t &v : now)
            v = 2 * (v + j);
        if (i == 0)
          std::reverse(now.begin(), now.end());
      }
      for (size_t i = 0; i < 50; ++i)
        ASSERT_EQ(y[i], now[i] + (which > 0 ? 9 : 7)) << which << " " << count << " " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, Branches, testing::Values(2, 3, 4));

} // namespace
