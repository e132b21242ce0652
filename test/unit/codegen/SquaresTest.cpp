// SPDX-License-Identifier: Apache-2.0
//
// Axes in another order: squares that are transposed in registers, and what is too short for them.

#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

using namespace penstock;
using test::TensorArg;

namespace {

class Squares : public test::AtLevel {};

const std::string names = "abcd";

/// The axes of `extents` in `order`; not known when compiling where `isOpen`.
std::string typeOf(const std::string &scalar, const std::vector<int64_t> &extents,
                   const std::vector<int64_t> &order, bool isOpen) {
  std::string text = "!pipe.tensor<" + scalar + "[";
  for (size_t i = 0; i < order.size(); ++i)
    text += (i ? ", " : "") + std::string(1, names[size_t(order[i])]) + "=" +
            (isOpen ? "?" : std::to_string(extents[size_t(order[i])]));
  return text + "]>";
}

template <typename T>
void compare(test::JitModule &code, const std::vector<int64_t> &extents,
             const std::vector<int64_t> &order, bool isOpen) {
  int64_t count = 1;
  std::vector<int64_t> stride(extents.size()), outer;
  for (size_t i = extents.size(); i-- > 0; count *= extents[i])
    stride[i] = count;
  for (int64_t axis : order)
    outer.push_back(extents[size_t(axis)]);
  std::vector<T> x(static_cast<size_t>(count)), y(x.size() + 16, T(-7));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = T(i % (sizeof(T) > 1 ? 8191 : 127));
  if constexpr (std::numeric_limits<T>::has_quiet_NaN)
    x[x.size() / 2] = std::numeric_limits<T>::quiet_NaN();
  // In two bands, of which the first may be shorter than a square.
  for (const auto &[low, high] : {std::pair<int64_t, int64_t>{0, 3}, {3, outer[0]}}) {
    const std::vector<int64_t> sizes = isOpen ? outer : std::vector<int64_t>();
    code.band = {low, high};
    ASSERT_EQ(code.run("k", {TensorArg::of(x, extents), TensorArg::of(y, outer)}, 1, sizes), 0);
  }
  std::vector<int64_t> at(order.size());
  for (int64_t number = 0; number < count; ++number) {
    int64_t rest = number, from = 0;
    for (size_t i = order.size(); i-- > 0; rest /= outer[i])
      from += rest % outer[i] * stride[size_t(order[i])];
    const T wanted = T(x[size_t(from)] + T(1)), got = y[size_t(number)];
    ASSERT_TRUE(wanted == got || (wanted != wanted && got != got)) << number << " of " << count;
  }
  for (size_t i = x.size(); i < y.size(); ++i)
    ASSERT_EQ(y[i], T(-7));
}

TEST_P(Squares, AreTransposed) {
  struct Case {
    std::vector<int64_t> extents, order;
  };
  const Case cases[] = {
      {{37, 45}, {1, 0}},        {{8, 16}, {1, 0}},         {{5, 40}, {1, 0}},
      {{40, 5}, {1, 0}},         {{96, 9, 24}, {2, 1, 0}},  {{19, 21, 33}, {2, 0, 1}},
      {{19, 21, 33}, {1, 2, 0}}, {{19, 21, 33}, {0, 2, 1}}, {{4, 17, 6, 35}, {0, 3, 2, 1}}};
  for (const Case &c : cases)
    for (const bool isOpen : {false, true})
      for (const std::string scalar : {"f32", "i32", "f64", "i64", "u16", "u8", "i8"}) {
        std::vector<int64_t> asItIs;
        for (size_t i = 0; i < c.order.size(); ++i)
          asItIs.push_back(int64_t(i));
        const std::string from = typeOf(scalar, c.extents, asItIs, isOpen),
                          to = typeOf(scalar, c.extents, c.order, isOpen);
        std::string dims, places, sizes, arguments;
        for (size_t i = 0; i < c.order.size(); ++i) {
          dims += (i ? ", d" : "d") + std::to_string(i);
          const auto place = std::find(c.order.begin(), c.order.end(), int64_t(i));
          places += (i ? ", d" : "d") + std::to_string(place - c.order.begin());
          sizes += (i ? ", %s" : "%s") + std::to_string(i);
          arguments += ", %s" + std::to_string(i) + ": i64";
        }
        const std::string given = isOpen ? " sizes(" + sizes + ")" : "",
                          element = scalar[0] == 'u' ? "ui" + scalar.substr(1) : scalar;
        auto code =
            compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + from + (isOpen ? arguments : "") +
                    "):\n%v = pipe.view %x by affine_map<(" + dims + ") -> (" + places + ")>[]" +
                    given + " : " + from + " -> " + to + "\n%y = pipe.map (%v)" + given + " : (" +
                    to + ") -> " + to + " {\n^bb0(%e: " + element +
                    [&] {
                      std::string all;
                      for (size_t i = 0; i < c.order.size(); ++i)
                        all += ", %i" + std::to_string(i) + ": i64";
                      return all;
                    }() +
                    "):\n%one = pipe.constant " + (scalar[0] == 'f' ? "1.0" : "1") + " : " +
                    element + " -> " + element + "\n%z = pipe.binary add %e, %one : " + element +
                    "\npipe.yield %z : " + element + "\n}\npipe.return %y : " + to + "\n}\n");
        ASSERT_TRUE(code->ok());
        if (scalar == "f32")
          compare<float>(*code, c.extents, c.order, isOpen);
        else if (scalar == "i32")
          compare<int32_t>(*code, c.extents, c.order, isOpen);
        else if (scalar == "f64")
          compare<double>(*code, c.extents, c.order, isOpen);
        else if (scalar == "i64")
          compare<int64_t>(*code, c.extents, c.order, isOpen);
        else if (scalar == "u8")
          compare<uint8_t>(*code, c.extents, c.order, isOpen);
        else if (scalar == "i8")
          compare<int8_t>(*code, c.extents, c.order, isOpen);
        else
          compare<uint16_t>(*code, c.extents, c.order, isOpen);
      }
}

INSTANTIATE_TEST_SUITE_P(Levels, Squares, testing::Values(2, 3, 4));

} // namespace
