// Sorting and what a mask or a key moves, against plain C++.

#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
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

INSTANTIATE_TEST_SUITE_P(Levels, Order, testing::Values(2, 3, 4));

} // namespace
