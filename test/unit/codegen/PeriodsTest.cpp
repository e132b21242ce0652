// SPDX-License-Identifier: Apache-2.0
//
// Sums of products with rows of a table that come again after a period.

#include "runtime/abi/scalar.h"
#include "test/unit/codegen/AtLevel.h"

#include <array>
#include <gtest/gtest.h>

using namespace penstock;
using test::TensorArg;

namespace {

class Periods : public test::AtLevel {};

/// sum over k of x[t * up / period + k] * bank[t % period, k], as scalar.h defines a sum.
template <typename T>
T expected(const std::vector<T> &x, const std::vector<T> &bank, int64_t t, int64_t up,
           int64_t period, int64_t taps) {
  std::array<T, scalar::reductionLanes> partial{};
  for (int64_t k = 0; k < taps; ++k)
    partial[size_t(k % scalar::reductionLanes)] +=
        x[size_t(t * up / period + k)] * bank[size_t(t % period * taps + k)];
  for (size_t half = partial.size() / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane)
      partial[lane] += partial[lane + half];
  return partial[0];
}

struct Shape {
  int64_t up, period, taps;
};

template <typename T>
void compare(test::JitModule &code, const Shape &s, int64_t size, int64_t count) {
  std::vector<T> x(size_t(size), T(0)), bank(size_t(s.period * s.taps), T(0)),
      y(size_t(count), T(-1));
  for (int64_t i = 0; i < size; ++i)
    x[size_t(i)] = T((i * 7919) % 1013 - 500) / T(31);
  for (size_t i = 0; i < bank.size(); ++i)
    bank[i] = T((i * 104729) % 997) / T(53) - T(9.3);
  y.resize(size_t(count) + 8, T(-7)); // what must stay
  ASSERT_EQ(code.run("k",
                     {TensorArg::of(x, {size}), TensorArg::of(bank, {s.period, s.taps}),
                      TensorArg::of(y, {count})},
                     1, {count}),
            0);
  for (int64_t t = 0; t < count; ++t)
    ASSERT_EQ(y[size_t(t)], expected(x, bank, t, s.up, s.period, s.taps))
        << s.period << " " << s.taps << ": " << t << " of " << count;
  for (int64_t t = count; t < count + 8; ++t)
    ASSERT_EQ(y[size_t(t)], T(-7)) << t;
}

TEST_P(Periods, ShareRowsOfTables) {
  // Places that follow the period, and some that do not; rows shorter and longer than the sums.
  for (const Shape &s : {Shape{7, 5, 36}, {441, 160, 36}, {3, 2, 33}, {3, 7, 64}, {2, 3, 100}})
    for (const bool isSingle : {true, false})
      for (const int64_t fixed : {0, 1, 9, 21, 83, 200, 3000}) {
        const std::string count = fixed ? std::to_string(fixed) : "?",
                          scalar = isSingle ? "f32" : "f64", period = std::to_string(s.period),
                          taps = std::to_string(s.taps);
        const int64_t most = fixed ? fixed : 3000, size = most * s.up / s.period + s.taps + 1;
        const std::string in = "!pipe.tensor<" + scalar + "[s=" + std::to_string(size) + "]>",
                          bank =
                              "!pipe.tensor<" + scalar + "[phase=" + period + ", k=" + taps + "]>",
                          rows = "!pipe.tensor<" + scalar + "[t=" + count + ", k=" + taps + "]>",
                          out = "!pipe.tensor<" + scalar + "[t=" + count + "]>",
                          sizes = fixed ? "" : " sizes(%n)";
        auto code = compile(
            "pipe.kernel @k \"pixels\" {\n^bb0(%x: " + in + ", %b: " + bank + ", %n: i64):\n" +
            "%p = pipe.constant " + period + " : i64 -> i64\n%u = pipe.constant " +
            std::to_string(s.up) + " : i64 -> i64\n%m = pipe.map()" + sizes + " : () -> " + rows +
            " {\n^bb0(%t: i64, %k: i64):\n" +
            "%r = pipe.binary rem %t, %p : i64\n%w = pipe.load %b[%r, %k] : <" + scalar +
            "[phase=" + period + ", k=" + taps + "]> -> " + scalar +
            "\n%q = pipe.binary mul %t, %u : i64\n%d = pipe.binary div %q, %p : i64\n" +
            "%a = pipe.binary add %d, %k : i64\n%e = pipe.load %x[%a] : <" + scalar + "[s=" +
            std::to_string(size) + "]> -> " + scalar + "\n%v = pipe.binary mul %e, %w : " + scalar +
            "\npipe.yield %v : " + scalar + "\n}\n%y = pipe.reduce sum %m over [\"k\"]" + sizes +
            " : <" + scalar + "[t=" + count + ", k=" + taps + "]> -> <" + scalar + "[t=" + count +
            "]>\npipe.return %y : " + out + "\n}\n");
        ASSERT_TRUE(code->ok());
        for (const int64_t some : {int64_t{3000}, int64_t{83}, int64_t{21}, int64_t{1}})
          if (!fixed || some == 3000)
            isSingle ? compare<float>(*code, s, size, fixed ? fixed : some)
                     : compare<double>(*code, s, size, fixed ? fixed : some);
      }
}

INSTANTIATE_TEST_SUITE_P(Levels, Periods, testing::Values(2, 3, 4));

} // namespace
