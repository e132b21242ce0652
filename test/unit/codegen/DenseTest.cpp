// SPDX-License-Identifier: Apache-2.0
//
// Short rows that follow each other: lanes go through all of them, band by band.

#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace penstock;
using test::TensorArg;

namespace {

class Dense : public test::AtLevel {
protected:
  std::unique_ptr<test::JitModule> kernel(const std::string &body) {
    return compile("pipe.kernel @k \"pixels\" schedule {dense = array<i64: 0, 1>, level = " +
                   std::to_string(GetParam()) + " : i64} {\n" + body + "}\n");
  }
};

template <typename T> std::vector<T> elementsOf(int64_t count) {
  std::vector<T> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = T(i * 37 % 101);
  return all;
}

template <typename T>
void addsOneInBands(test::JitModule &code, int64_t rows, int64_t k, bool isOpen) {
  std::vector<T> x = elementsOf<T>(rows * k);
  for (const auto &[low, high] :
       {std::pair<int64_t, int64_t>{0, rows}, {0, 3}, {3, rows}, {5, 6}}) {
    std::vector<T> y(x.size() + 40, T(7));
    code.band = {low, high};
    ASSERT_EQ(code.run("k", {TensorArg::of(x, {rows, k}), TensorArg::of(y, {rows, k})}, 1,
                       isOpen ? std::vector<int64_t>{rows} : std::vector<int64_t>()),
              0);
    for (int64_t i = 0; i < int64_t(y.size()); ++i) {
      const bool isInside = i >= low * k && i < std::min(high, rows) * k;
      ASSERT_EQ(y[size_t(i)], isInside ? T(x[size_t(i)] + T(1)) : T(7))
          << i << " of " << rows << " rows of " << k << " in " << low << " .. " << high;
    }
  }
}

TEST_P(Dense, RowsAreOneRun) {
  for (const int64_t k : {2, 3, 4, 7, 20, 33})
    for (const bool isOpen : {false, true})
      for (const std::string scalar : {"u8", "f32", "f64"}) {
        const std::string type = "!pipe.tensor<" + scalar + "[t=" + (isOpen ? "?" : "50") +
                                 ", k=" + std::to_string(k) + "]>",
                          element = scalar == "u8" ? "ui8" : scalar,
                          one = scalar == "u8" ? "1" : "1.0", sizes = isOpen ? " sizes(%s)" : "";
        auto code =
            kernel("^bb0(%x: " + type + (isOpen ? ", %s: i64" : "") + "):\n%y = pipe.map (%x)" +
                   sizes + " : (" + type + ") -> " + type + " {\n^bb0(%e: " + element +
                   ", %t: i64, %k: i64):\n%one = pipe.constant " + one + " : " + element + " -> " +
                   element + "\n%z = pipe.binary add %e, %one : " + element +
                   "\npipe.yield %z : " + element + "\n}\npipe.return %y : " + type + "\n");
        ASSERT_TRUE(code->ok());
        for (const int64_t rows :
             isOpen ? std::vector<int64_t>{6, 50, 1000} : std::vector<int64_t>{50})
          if (scalar == "u8")
            addsOneInBands<uint8_t>(*code, rows, k, isOpen);
          else if (scalar == "f32")
            addsOneInBands<float>(*code, rows, k, isOpen);
          else
            addsOneInBands<double>(*code, rows, k, isOpen);
      }
}

INSTANTIATE_TEST_SUITE_P(Levels, Dense, testing::Values(2, 3, 4));

} // namespace
