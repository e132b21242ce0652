// SPDX-License-Identifier: Apache-2.0
//
// Concats, stacks and merged axes, which are stored by the loops of what they are made of, in bands
// of rows that cut through the parts.

#include "test/unit/codegen/AtLevel.h"

#include <functional>
#include <gtest/gtest.h>
#include <numeric>

using namespace penstock;
using test::TensorArg;

namespace {

class Parts : public test::AtLevel {
protected:
  /// Makes an output of `extents` in two bands, wherever they meet, and returns whether each has
  /// the elements that `wanted` says.
  void compare(const std::string &body, const std::vector<int64_t> &extents,
               const std::function<float(int64_t)> &wanted) {
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<f32[h=5, w=40]>, "
                        "%z: !pipe.tensor<f32[h=7, w=40]>):\n" +
                        body + "}\n");
    ASSERT_TRUE(code->ok()) << code->errors();
    std::vector<float> x(5 * 40 + 16), z(7 * 40 + 16);
    std::iota(x.begin(), x.end(), 0.0f);
    std::iota(z.begin(), z.end(), 1000.0f);
    const int64_t count =
        std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
    for (int64_t cut = 0; cut <= extents[0]; ++cut) {
      std::vector<float> y(size_t(count) + 16, -1);
      for (const std::pair<int64_t, int64_t> band :
           {std::pair{int64_t{0}, cut}, {cut, extents[0]}}) {
        code->band = band;
        ASSERT_EQ(code->run("k",
                            {TensorArg::of(x, {5, 40}), TensorArg::of(z, {7, 40}),
                             TensorArg::of(y, extents)},
                            1),
                  0);
        if (band.second == cut) // nothing behind the band
          for (int64_t i = cut * (count / extents[0]); i < count; ++i)
            ASSERT_EQ(y[size_t(i)], -1) << "cut " << cut << ", element " << i;
      }
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(y[size_t(i)], wanted(i)) << "cut " << cut << ", element " << i;
      for (int64_t i = count; i < count + 16; ++i)
        ASSERT_EQ(y[size_t(i)], -1);
    }
  }
};

TEST_P(Parts, RowsAreJoined) {
  compare("%y = pipe.concat \"h\"(%x, %z) : !pipe.tensor<f32[h=5, w=40]>, "
          "!pipe.tensor<f32[h=7, w=40]> -> <f32[h=12, w=40]>\n"
          "pipe.return %y : !pipe.tensor<f32[h=12, w=40]>\n",
          {12, 40}, [](int64_t i) { return float(i < 200 ? i : 1000 + i - 200); });
}

TEST_P(Parts, PlanesAreStacked) {
  const std::string plane = "!pipe.tensor<f32[h=5, w=40]>"; // of more than four: a loop each
  compare("%s = pipe.map(%x) : (" + plane + ") -> " + plane +
              " {\n^bb0(%p: f32, %i: i64, %j: i64):\n%d = pipe.binary add %p, %p : f32\n"
              "pipe.yield %d : f32\n}\n%y = pipe.stack \"k\"(%x, %s, %x, %s, %x) : " +
              plane + ", " + plane + ", " + plane + ", " + plane + ", " + plane +
              " -> <f32[k=5, h=5, w=40]>\npipe.return %y : !pipe.tensor<f32[k=5, h=5, w=40]>\n",
          {5, 5, 40}, [](int64_t i) { return float(i % 200 * (i / 200 % 2 ? 2 : 1)); });
}

TEST_P(Parts, PlacesAreTakenApart) {
  compare("%n = pipe.constant 40 : i64 -> i64\n%y = pipe.map() : () -> !pipe.tensor<f32[i=200]> "
          "{\n^bb0(%i: i64):\n%a = pipe.binary div %i, %n : i64\n%b = pipe.binary rem %i, %n : "
          "i64\n%v = pipe.load %x[%a, %b] : <f32[h=5, w=40]> -> f32\npipe.yield %v : f32\n}\n"
          "pipe.return %y : !pipe.tensor<f32[i=200]>\n",
          {200}, [](int64_t i) { return float(i); });
}

INSTANTIATE_TEST_SUITE_P(Levels, Parts, testing::Values(2, 3, 4, 5));

} // namespace
