// SPDX-License-Identifier: Apache-2.0
//
// Elements that lie apart, put into lanes.

#include "test/unit/codegen/AtLevel.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace penstock;
using test::TensorArg;

namespace {

class Strides : public test::AtLevel {
public:
  using AtLevel::compile;
};

template <typename T> void checkStrides(Strides &test, const std::string &type) {
  for (const int64_t step : {2, 3, 4, 5, 7, 11, 15, 16, 17}) {
    SCOPED_TRACE(type + ", " + std::to_string(step) + " apart");
    const int64_t count = 70, size = (count - 1) * step + 3;
    const std::string in = "!pipe.tensor<" + type + "[w=" + std::to_string(size) + "]>",
                      out = "!pipe.tensor<" + type + "[w=70]>";
    auto code =
        test.compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + in +
                     "):\n%r = pipe.view %x by affine_map<(d0) -> (d0 * " + std::to_string(step) +
                     " + 2)> [] : " + in + " -> " + out + "\npipe.return %r : " + out + "\n}\n");
    std::vector<T> x(static_cast<size_t>(size) + 64), y(static_cast<size_t>(count));
    std::iota(x.begin(), x.end(), T{});
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {size}), TensorArg::of(y, {count})}, 1), 0);
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], x[i * static_cast<size_t>(step) + 2]) << i;
  }
}

TEST_P(Strides, ReadElementsThatLieApart) {
  checkStrides<uint8_t>(*this, "u8");
  checkStrides<uint16_t>(*this, "u16");
  checkStrides<float>(*this, "f32");
  checkStrides<double>(*this, "f64");
}

INSTANTIATE_TEST_SUITE_P(Levels, Strides, testing::Values(2, 3, 4));

} // namespace
