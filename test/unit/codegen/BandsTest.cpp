// SPDX-License-Identifier: Apache-2.0
//
// Products with matrices whose columns are 0 but for a run of rows each.

#include "runtime/abi/scalar.h"
#include "test/unit/codegen/AtLevel.h"

#include <array>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace penstock;
using test::TensorArg;

namespace {

class Bands : public test::AtLevel {};

constexpr int64_t rows = 75, columns = 23;

/// Runs of every length there is a way of its own for, at places of all kinds: from a column
/// without any to those that take two turns and more, at both ends of the matrix.
template <typename T> std::vector<T> bands(bool isDense) {
  constexpr std::array<int64_t, columns> counts = {0,  1,  2,  3,  4,  5, 8,  9,  16, 17, 31, 32,
                                                   33, 40, 64, 65, 75, 2, 16, 31, 33, 1,  7};
  std::vector<T> matrix(size_t(rows * columns), T(0));
  for (int64_t column = 0; column < columns; ++column) {
    const int64_t count = isDense ? rows : counts[size_t(column)];
    const int64_t first = column % 3 == 0 ? 0 : column % 3 == 1 ? rows - count : (rows - count) / 2;
    for (int64_t row = first; row < first + count; ++row)
      if (isDense || row % 5 != 3 || row == first || row == first + count - 1) // 0 inside of a run
        matrix[size_t(row * columns + column)] = T((row * 37 + column * 11) % 19 - 9.3) * T(0.37);
  }
  return matrix;
}

/// As scalar.h defines a sum of floats.
template <typename T>
T expected(const std::vector<T> &x, const std::vector<T> &matrix, int64_t t, int64_t column) {
  std::array<T, scalar::reductionLanes> partial{};
  for (int64_t row = 0; row < rows; ++row)
    partial[size_t(row % scalar::reductionLanes)] +=
        x[size_t(t * rows + row)] * matrix[size_t(row * columns + column)];
  for (size_t half = partial.size() / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane)
      partial[lane] += partial[lane + half];
  return partial[0];
}

/// Rows that hold what is not finite, whose products with 0 count, lie among others.
template <typename T> std::vector<T> values(int64_t count) {
  std::vector<T> x(size_t(count * rows) + 64 / sizeof(T), T(0));
  for (int64_t i = 0; i < count * rows; ++i)
    x[size_t(i)] = T((i * 7919) % 1013 - 500) / T(31);
  if (count > 20) {
    x[size_t(3 * rows + 5)] = std::numeric_limits<T>::infinity();
    x[size_t(19 * rows + 74)] = std::numeric_limits<T>::quiet_NaN();
  }
  x[size_t((count - 1) * rows)] = T(-0.0);
  return x;
}

template <typename T> void compare(test::JitModule &code, int64_t count, bool isDense) {
  auto x = values<T>(count), matrix = bands<T>(isDense);
  std::vector<T> y(size_t(count * columns), T(-1));
  ASSERT_EQ(code.run("k",
                     {TensorArg::of(x, {count, rows}), TensorArg::of(matrix, {rows, columns}),
                      TensorArg::of(y, {count, columns})},
                     1, {count}),
            0);
  for (int64_t t = 0; t < count; ++t)
    for (int64_t column = 0; column < columns; ++column) {
      const T wanted = expected(x, matrix, t, column), got = y[size_t(t * columns + column)];
      if (std::isnan(wanted))
        ASSERT_TRUE(std::isnan(got)) << count << ": " << t << " " << column << " " << got;
      else
        ASSERT_TRUE(got == wanted && std::signbit(got) == std::signbit(wanted))
            << count << ": " << t << " " << column << " " << got << " " << wanted;
    }
}

TEST_P(Bands, AreGoneThroughFromTheirFirstRowToTheirLast) {
  for (const bool isSingle : {true, false})
    for (const std::string extent : {"45", "?"}) {
      const std::string type = isSingle ? "f32" : "f64",
                        in = "!pipe.tensor<" + type + "[t=" + extent + ", k=75]>",
                        by = "!pipe.tensor<" + type + "[k=75, band=23]>",
                        out = "!pipe.tensor<" + type + "[t=" + extent + ", band=23]>";
      const std::string sizes = extent == "?" ? " sizes(%t)" : "";
      auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + in + ", %m: " + by +
                          ", %t: i64):\n%y = pipe.contract %x by %m" + sizes + " : " + in + ", " +
                          by + " -> " + out + "\npipe.return %y : " + out + "\n}\n");
      ASSERT_TRUE(code->ok());
      for (const int64_t count : {45, 44, 8, 3, 1}) {
        if (extent == "45" && count != 45)
          continue;
        for (const bool isDense : {false, true})
          isSingle ? compare<float>(*code, count, isDense) : compare<double>(*code, count, isDense);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, Bands, testing::Values(2, 3, 4));

} // namespace
