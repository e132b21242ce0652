// SPDX-License-Identifier: Apache-2.0
//
// Fourier transforms side by side, along any axis, against one after the other.
#include "test/unit/codegen/AtLevel.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace penstock;
using test::TensorArg;

namespace {

class Transforms : public test::AtLevel {};

/// Extents, of which number `along` is transformed and number `open` is known to the sample alone.
struct Case {
  std::vector<int64_t> extents;
  size_t along;
  int open = -1;
};

std::string typeOf(const Case &c, const std::string &scalar, bool isResult) {
  std::string text = "!pipe.tensor<" + scalar + "[";
  for (size_t i = 0; i < c.extents.size(); ++i) {
    const bool isFreq = isResult && i == c.along;
    text += (i ? ", " : "") + (isFreq ? "freq" : std::string(1, "abcd"[i])) + "=" +
            (int(i) == c.open ? "?" : std::to_string(isFreq ? c.extents[i] / 2 + 1 : c.extents[i]));
  }
  return text + (isResult ? ", part=2]>" : "]>");
}

std::string kernel(const Case &c, const std::string &scalar, const std::string &schedule) {
  const std::string from = typeOf(c, scalar, false), to = typeOf(c, scalar, true);
  return "pipe.kernel @k \"pixels\" {\n^bb0(%x: " + from + (c.open < 0 ? "" : ", %s: i64") +
         "):\n%r = pipe.fft %x along \"" + std::string(1, "abcd"[c.along]) + "\"" +
         (c.open < 0 ? "" : " sizes(%s)") + schedule + " : " + from + " -> " + to +
         "\npipe.return %r : " + to + "\n}\n";
}

template <typename T> void compare(test::JitModule &code, test::JitModule &alone, const Case &c) {
  size_t count = 1, results = 2;
  std::vector<int64_t> out;
  for (size_t i = 0; i < c.extents.size(); ++i) {
    out.push_back(i == c.along ? c.extents[i] / 2 + 1 : c.extents[i]);
    count *= size_t(c.extents[i]);
    results *= size_t(out.back());
  }
  out.push_back(2);
  std::vector<T> x(count), found(results + 16, T(-7)), expected(found);
  for (size_t i = 0; i < count; ++i)
    x[i] = T(std::sin(double(i * i)));
  std::vector<int64_t> sizes;
  if (c.open >= 0)
    sizes.push_back(c.extents[size_t(c.open)]);
  ASSERT_EQ(code.run("k", {TensorArg::of(x, c.extents), TensorArg::of(found, out)}, 1, sizes), 0);
  ASSERT_EQ(alone.run("k", {TensorArg::of(x, c.extents), TensorArg::of(expected, out)}, 1, sizes),
            0);
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_EQ(found[i], expected[i]) << i << " of " << results;
}

TEST_P(Transforms, AreTheSameSideBySide) {
  const Case cases[] = {{{64, 33}, 0},    {{12, 3}, 0},     {{15, 19}, 0},    {{1, 40}, 0},
                        {{2, 20, 40}, 1}, {{20, 33, 2}, 0}, {{33, 24, 2}, 1}, {{3, 62, 17}, 1},
                        {{33, 40}, 1},    {{48, 40}, 0, 1}, {{48, 5}, 0, 1},  {{29, 2, 2, 9}, 0}};
  for (const Case &c : cases)
    for (const std::string scalar : {"f32", "f64"}) {
      auto code = compile(kernel(c, scalar, ""));
      auto alone = compile(kernel(c, scalar, " {fft = #schedule.fft<lanes = 1>}"));
      ASSERT_TRUE(code->ok() && alone->ok());
      if (scalar == "f32")
        compare<float>(*code, *alone, c);
      else
        compare<double>(*code, *alone, c);
    }
}

INSTANTIATE_TEST_SUITE_P(Levels, Transforms, testing::Values(2, 3, 4));

} // namespace
