// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of bytes in 32 bits, which is computed in 16 where all numbers fit.

#include "test/unit/codegen/AtLevel.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>

using namespace penstock;
using test::TensorArg;

namespace {

class AsI16 : public test::AtLevel {
protected:
  /// Compares `lines`, which make %y, an i32, of %p and %q, with `f` for all pairs of bytes, cast
  /// to `element`.
  template <typename T>
  void check(const std::string &element, const std::string &mode, const std::string &lines,
             const std::function<int(int, int)> &f) {
    const std::string bytes = "!pipe.tensor<u8[h=256, w=256]>",
                      out = "!pipe.tensor<" + element + "[h=256, w=256]>",
                      type = element == "u8" ? "ui8" : element;
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + bytes + ", %z: " + bytes +
                        "):\n%0 = pipe.map (%x, %z) : (" + bytes + ", " + bytes + ") -> " + out +
                        " {\n^bb0(%a: ui8, %b: ui8, %h: i64, %w: i64):\n"
                        "%p = pipe.cast value %a : ui8 -> i32\n"
                        "%q = pipe.cast value %b : ui8 -> i32\n" +
                        lines + "\n%o = pipe.cast " + mode + " %y : i32 -> " + type +
                        "\npipe.yield %o : " + type + "\n}\npipe.return %0 : " + out + "\n}\n");
    std::vector<uint8_t> x(65536 + 64), z(65536 + 64);
    std::vector<T> y(65536 + 64);
    for (size_t i = 0; i < 65536; ++i) {
      x[i] = static_cast<uint8_t>(i >> 8);
      z[i] = static_cast<uint8_t>(i);
    }
    ASSERT_EQ(code->run("k",
                        {TensorArg::of(x, {256, 256}), TensorArg::of(z, {256, 256}),
                         TensorArg::of(y, {256, 256})},
                        1),
              0);
    for (size_t i = 0; i < 65536; ++i) {
      const int number = f(x[i], z[i]);
      ASSERT_EQ(+y[i], mode == "clamp" ? std::clamp(number, 0, 255) : static_cast<T>(number))
          << +x[i] << " and " << +z[i];
    }
  }
};

std::string constant(const std::string &name, int value) {
  return "%" + name + " = pipe.constant " + std::to_string(value) + " : i32 -> i32\n";
}

TEST_P(AsI16, DivideDifferencesAndClampThem) {
  check<uint8_t>("u8", "clamp",
                 constant("nine", 9) + constant("seven", 7) +
                     "%m = pipe.binary mul %nine, %p : i32\n%n = pipe.binary mul %q, %seven : i32\n"
                     "%d = pipe.binary sub %m, %n : i32\n%r = pipe.binary div %d, %nine : i32\n"
                     "%y = pipe.binary add %p, %r : i32",
                 [](int p, int q) { return p + (9 * p - 7 * q) / 9; });
}

TEST_P(AsI16, KeepTheirSign) {
  check<int16_t>("i16", "value",
                 constant("most", 100) +
                     "%d = pipe.binary sub %p, %q : i32\n%e = pipe.unary abs %d : i32\n"
                     "%n = pipe.unary neg %e : i32\n%c = pipe.compare gt %d, %most : i32\n"
                     "%s = pipe.select %c, %d, %n : i32\n%t = pipe.binary max %s, %d : i32\n"
                     "%u = pipe.binary min %t, %most : i32\n%y = pipe.binary sub %u, %p : i32",
                 [](int p, int q) {
                   const int d = p - q, n = -std::abs(d), s = d > 100 ? d : n;
                   return std::min(std::max(s, d), 100) - p;
                 });
}

// 255 x 255 are no i16, nor are 255 x 200, though what is made of them fits a byte.
TEST_P(AsI16, AreNotTakenForLargerNumbers) {
  check<uint8_t>("u8", "clamp", "%y = pipe.binary mul %p, %q : i32",
                 [](int p, int q) { return p * q; });
  check<uint8_t>("u8", "clamp",
                 constant("by", 200) + constant("less", 50700) +
                     "%m = pipe.binary mul %p, %by : i32\n%n = pipe.binary add %m, %q : i32\n"
                     "%y = pipe.binary sub %n, %less : i32",
                 [](int p, int q) { return p * 200 + q - 50700; });
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Levels, AsI16, testing::Values(2, 3, 4, 5));
