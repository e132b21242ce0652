// SPDX-License-Identifier: Apache-2.0
//
// One small kernel per op; expected values are computed here, plainly.

#include "runtime/abi/random.h"
#include "runtime/abi/scalar.h"
#include "test/unit/codegen/AtLevel.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

using namespace penstock;
using test::JitModule;
using test::TensorArg;

namespace {

class Ops : public test::AtLevel {
protected:
  /// A kernel `k` that maps `from` to `to` along w=37 by `lines`.
  std::string mapKernel(const std::string &from, const std::string &fromScalar,
                        const std::string &to, const std::string &lines) {
    return "pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<" + from +
           "[w=37]>):\n"
           "%0 = pipe.map (%x) : (!pipe.tensor<" +
           from + "[w=37]>) -> !pipe.tensor<" + to +
           "[w=37]> {\n"
           "^bb0(%p: " +
           fromScalar + ", %w: i64):\n" + lines +
           "\n}\n"
           "pipe.return %0 : !pipe.tensor<" +
           to + "[w=37]>\n}\n";
  }
  template <typename T>
  void checkWindows(const std::string &element, const std::string &scalar, int64_t width,
                    int64_t channels);
  template <typename From, typename To>
  void checkMap(JitModule &code, const std::vector<From> &in, const std::function<To(From)> &f) {
    for (size_t at = 0; at < in.size(); at += 37) {
      std::vector<From> x(37 + 64, From{});
      std::copy(in.begin() + static_cast<long>(at),
                in.begin() + static_cast<long>(std::min(at + 37, in.size())), x.begin());
      std::vector<To> y(37 + 1, To{});
      ASSERT_EQ(code.run("k", {TensorArg::of(x, {37}), TensorArg::of(y, {37})}, 1), 0);
      for (size_t i = 0; i < 37; ++i) {
        const To expected = f(x[i]);
        ASSERT_EQ(std::memcmp(&y[i], &expected, sizeof(To)), 0)
            << +x[i] << " gives " << +y[i] << ", not " << +expected;
      }
      ASSERT_EQ(y[37], To{}) << "wrote behind the end";
    }
  }
};

std::vector<float> interestingFloats() {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> all{0.0f,
                         -0.0f,
                         1.0f,
                         -1.0f,
                         0.5f,
                         -0.5f,
                         1.5f,
                         2.5f,
                         -2.5f,
                         0.49999997f,
                         255.0f,
                         255.5f,
                         256.0f,
                         300.0f,
                         -300.0f,
                         32767.9f,
                         65504.0f,
                         65519.9f,
                         65520.0f,
                         1e9f,
                         2147483520.0f,
                         2147483648.0f,
                         -2147483648.0f,
                         1e20f,
                         -1e20f,
                         3.4e38f,
                         1e-40f,
                         1.00048828125f,
                         /* a tie of f16 */ -1e-40f,
                         6.1e-5f,
                         5.96e-8f,
                         2.98e-8f,
                         1e-8f,
                         inf,
                         -inf,
                         NAN,
                         8388609.0f,
                         0.1f};
  for (uint32_t i = 0; i < 4000; ++i)
    all.push_back(std::bit_cast<float>(i * 0x10F4A7u + 77u));
  return all;
}

template <typename T> T canonical(T x) { return x != x ? scalar::canonicalNan<T>() : x; }

TEST_P(Ops, CastsFloatsToIntegers) {
  auto values = interestingFloats();
  auto to8 = compile(
      mapKernel("f32", "f32", "u8", "%q = pipe.cast clamp %p : f32 -> ui8\npipe.yield %q : ui8"));
  checkMap<float, uint8_t>(*to8, values, [](float x) { return scalar::floatToInt<uint8_t>(x); });
  auto to16 = compile(
      mapKernel("f32", "f32", "i16", "%q = pipe.cast value %p : f32 -> i16\npipe.yield %q : i16"));
  checkMap<float, int16_t>(*to16, values, [](float x) { return scalar::floatToInt<int16_t>(x); });
  auto to32 = compile(
      mapKernel("f32", "f32", "i32", "%q = pipe.cast value %p : f32 -> i32\npipe.yield %q : i32"));
  checkMap<float, int32_t>(*to32, values, [](float x) { return scalar::floatToInt<int32_t>(x); });
  auto to64 = compile(
      mapKernel("f32", "f32", "i64", "%q = pipe.cast value %p : f32 -> i64\npipe.yield %q : i64"));
  checkMap<float, int64_t>(*to64, values, [](float x) { return scalar::floatToInt<int64_t>(x); });
}

TEST_P(Ops, RoundsToStorageTypes) {
  auto values = interestingFloats();
  auto half = compile(
      mapKernel("f32", "f32", "f16", "%q = pipe.cast value %p : f32 -> f16\npipe.yield %q : f16"));
  checkMap<float, uint16_t>(*half, values, [](float x) { return scalar::toHalf(x); });
  auto brain = compile(mapKernel("f32", "f32", "bf16",
                                 "%q = pipe.cast value %p : f32 -> bf16\npipe.yield %q : bf16"));
  checkMap<float, uint16_t>(*brain, values, [](float x) { return scalar::toBfloat(x); });
  auto wide = compile(
      mapKernel("f64", "f64", "f16", "%q = pipe.cast value %p : f64 -> f16\npipe.yield %q : f16"));
  std::vector<double> doubles;
  for (float x : values) {
    doubles.push_back(x);
    doubles.push_back(std::nextafter(static_cast<double>(x), 1e300));
  }
  checkMap<double, uint16_t>(*wide, doubles, [](double x) { return scalar::toHalf(x); });
  std::vector<uint16_t> halves(65536);
  std::iota(halves.begin(), halves.end(), 0);
  auto back = compile(
      mapKernel("f16", "f16", "f32", "%q = pipe.cast value %p : f16 -> f32\npipe.yield %q : f32"));
  checkMap<uint16_t, float>(*back, halves, [](uint16_t x) { return scalar::fromHalf(x); });
}

// 53 bits hold what decides only as an odd last bit: through a plain f64 these
// would become ties, and the even neighbour.
TEST_P(Ops, RoundsLongIntegersOnce) {
  auto code = compile(mapKernel("i64", "i64", "bf16",
                                "%q = pipe.cast value %p : i64 -> bf16\npipe.yield %q : bf16"));
  const int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 52);
  std::vector<int64_t> x{tie, tie + 1, -tie, -tie - 1, tie - 1, 1 << 20, -3};
  x.resize(37 + 64);
  std::vector<uint16_t> y(37);
  ASSERT_EQ(code->run("k", {TensorArg::of(x, {37}), TensorArg::of(y, {37})}, 1), 0);
  const uint16_t expected[] = {0x5D80, 0x5D81, 0xDD80, 0xDD81, 0x5D80, 0x4980, 0xC040};
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(y[i], expected[i]) << x[i];
}

// The range of results on bytes is known: both bounds are clamped where they can be passed.
TEST_P(Ops, SaturatesWhereBytesCanPassABound) {
  std::vector<uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), static_cast<uint8_t>(0));
  auto real = compile(
      mapKernel("u8", "ui8", "u8",
                "%f = pipe.cast value %p : ui8 -> f32\n"
                "%two = pipe.constant 2.0 : f32 -> f32\n%ten = pipe.constant 10.0 : f32 -> f32\n"
                "%d = pipe.binary mul %f, %two : f32\n%s = pipe.binary sub %d, %ten : f32\n"
                "%q = pipe.cast value %s : f32 -> ui8\npipe.yield %q : ui8"));
  auto whole = compile(
      mapKernel("u8", "ui8", "u8",
                "%f = pipe.cast value %p : ui8 -> i32\n"
                "%two = pipe.constant 2 : i32 -> i32\n%ten = pipe.constant 10 : i32 -> i32\n"
                "%d = pipe.binary mul %f, %two : i32\n%s = pipe.binary sub %d, %ten : i32\n"
                "%q = pipe.cast clamp %s : i32 -> ui8\npipe.yield %q : ui8"));
  for (JitModule *code : {real.get(), whole.get()})
    checkMap<uint8_t, uint8_t>(*code, bytes, [](uint8_t x) {
      return static_cast<uint8_t>(std::clamp(2 * x - 10, 0, 255));
    });
}

TEST_P(Ops, RoundsFloats) {
  auto values = interestingFloats();
  const std::pair<const char *, float (*)(float)> kinds[] = {
      {"floor", [](float x) { return std::floor(x); }},
      {"ceil", [](float x) { return std::ceil(x); }},
      {"trunc", [](float x) { return std::trunc(x); }},
      {"round", [](float x) { return scalar::round(x); }},
      {"round_away", [](float x) { return scalar::roundAway(x); }},
      {"sqrt", [](float x) { return std::sqrt(x); }},
      {"abs", [](float x) { return std::fabs(x); }},
      {"neg", [](float x) { return -x; }}};
  for (auto [name, f] : kinds) {
    SCOPED_TRACE(name);
    auto code = compile(
        mapKernel("f32", "f32", "f32",
                  std::string("%q = pipe.unary ") + name + " %p : f32\npipe.yield %q : f32"));
    checkMap<float, float>(*code, values, [f = f](float x) { return canonical(f(x)); });
  }
}

TEST_P(Ops, ComputesOnTwoFloats) {
  auto values = interestingFloats();
  values.resize(600);
  for (float other :
       {0.0f, -0.0f, 3.0f, -0.7f, NAN, std::numeric_limits<float>::infinity(), 1e-39f}) {
    const std::pair<const char *, float (*)(float, float)> kinds[] = {{"min", scalar::min<float>},
                                                                      {"max", scalar::max<float>},
                                                                      {"rem", scalar::rem<float>},
                                                                      {"div", scalar::div<float>}};
    for (auto [name, f] : kinds) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(other));
      auto code =
          compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<f32[w=37]>, %y: f32):\n"
                  "%0 = pipe.map (%x) : (!pipe.tensor<f32[w=37]>) -> !pipe.tensor<f32[w=37]> {\n"
                  "^bb0(%p: f32, %w: i64):\n%q = pipe.binary " +
                  std::string(name) +
                  " %p, %y : f32\npipe.yield %q : f32\n}\n"
                  "pipe.return %0 : !pipe.tensor<f32[w=37]>\n}");
      std::vector<float> x(values.begin(), values.begin() + 37), y(37);
      for (size_t at = 0; at + 37 <= values.size(); at += 37) {
        std::copy_n(values.begin() + static_cast<long>(at), 37, x.begin());
        ASSERT_EQ(code->run("k", {TensorArg::of(x, {37}), TensorArg::of(y, {37})}, 1,
                            {test::asSlot(static_cast<double>(other))}),
                  0);
        for (size_t i = 0; i < 37; ++i)
          ASSERT_EQ(std::bit_cast<uint32_t>(y[i]),
                    std::bit_cast<uint32_t>(canonical(f(x[i], other))))
              << x[i];
      }
    }
  }
}

TEST_P(Ops, DividesAndShiftsIntegers) {
  std::vector<int32_t> values{0,
                              1,
                              -1,
                              7,
                              -7,
                              std::numeric_limits<int32_t>::min(),
                              std::numeric_limits<int32_t>::max(),
                              100000,
                              -99999};
  for (int32_t i = 0; i < 60; ++i)
    values.push_back(static_cast<int32_t>(static_cast<uint32_t>(i) * 0x9E3779B9u));
  const std::pair<const char *, int32_t (*)(int32_t, int32_t)> kinds[] = {
      {"div", scalar::div<int32_t>}, {"rem", scalar::rem<int32_t>}, {"shl", scalar::shl<int32_t>},
      {"shr", scalar::shr<int32_t>}, {"min", scalar::min<int32_t>}, {"mul", scalar::mul<int32_t>}};
  for (auto [name, f] : kinds) {
    SCOPED_TRACE(name);
    auto code = compile(
        "pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<i32[w=?]>, %n: i64, %y: i32):\n"
        "%0 = pipe.map (%x) sizes(%n) : (!pipe.tensor<i32[w=?]>) -> !pipe.tensor<i32[w=?]> {\n"
        "^bb0(%p: i32, %w: i64):\n%q = pipe.binary " +
        std::string(name) +
        " %p, %y : i32\npipe.yield %q : i32\n}\n"
        "pipe.return %0 : !pipe.tensor<i32[w=?]>\n}");
    for (int32_t other : {0, -1, 1, 3, -5, 33, std::numeric_limits<int32_t>::min()}) {
      // Both more and fewer elements than lanes.
      for (int64_t n : {static_cast<int64_t>(values.size()), int64_t{5}, int64_t{1}}) {
        std::vector<int32_t> y(values.size() + 1, 12345);
        auto padded = values;
        padded.resize(values.size() + 32);
        ASSERT_EQ(
            code->run("k", {TensorArg::of(padded, {n}), TensorArg::of(y, {n})}, 1, {n, other}), 0);
        for (size_t i = 0; i < static_cast<size_t>(n); ++i)
          ASSERT_EQ(y[i], f(values[i], other)) << values[i] << " " << other;
        ASSERT_EQ(y[static_cast<size_t>(n)], 12345) << "wrote behind the end";
      }
    }
  }
}

int64_t borderIndex(const std::string &border, int64_t i, int64_t n) {
  if (border == "edge")
    return std::clamp<int64_t>(i, 0, n - 1);
  auto modulo = [](int64_t a, int64_t b) { return ((a % b) + b) % b; };
  if (border == "wrap")
    return modulo(i, n);
  if (border == "symmetric") {
    const int64_t m = modulo(i, 2 * n);
    return m < n ? m : 2 * n - 1 - m;
  }
  if (n == 1)
    return 0;
  const int64_t m = modulo(i, 2 * (n - 1));
  return m < n ? m : 2 * (n - 1) - m;
}

// Whether a row of the inner pad exists is asked of the mirrored row.
TEST_P(Ops, PadsWhatIsMirrored) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[y=2, x=16]>):
  %two = pipe.constant 2 : i64 -> i64
  %zero = pipe.constant 0 : i64 -> i64
  %f = pipe.constant 9 : ui8 -> ui8
  %p = pipe.pad constant %x over ["y"] low(%two) fill(%f : ui8) : <u8[y=2, x=16]> -> <u8[y=4, x=16]>
  %m = pipe.pad symmetric %p over ["y"] low(%two) : <u8[y=4, x=16]> -> <u8[y=8, x=16]>
  pipe.return %m : !pipe.tensor<u8[y=8, x=16]>
})");
  std::vector<uint8_t> x(32 + 64), out(128), expected;
  for (size_t i = 0; i < 32; ++i)
    x[i] = static_cast<uint8_t>(100 + i);
  for (const int row : {1, 0, 0, 1, 2, 3, 3, 2})
    for (size_t i = 0; i < 16; ++i)
      expected.push_back(row < 2 ? 9 : x[static_cast<size_t>(row - 2) * 16 + i]);
  ASSERT_EQ(code->run("k", {TensorArg::of(x, {2, 16}), TensorArg::of(out, {8, 16})}, 1), 0);
  EXPECT_EQ(out, expected);
}

// Rows shorter than a vector: the axis of the lanes and the one that is written
// out have borders of their own, which a row's existence says nothing about.
TEST_P(Ops, PadsRowsThatAreShorterThanAVector) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[z=?, y=?, x=?]>):
  %o = pipe.constant 0 : i64 -> i64
  %f = pipe.constant 9 : ui8 -> ui8
  %p = pipe.pad constant %x over ["z", "y", "x"] low(%o, %o, %o) fill(%f : ui8) : <u8[z=?, y=?, x=?]> -> <u8[z=2, y=2, x=2]>
  %v = pipe.view %p by affine_map<(d0, d1, d2) -> (d1, d2, d0)> [] : !pipe.tensor<u8[z=2, y=2, x=2]> -> !pipe.tensor<u8[x=2, z=2, y=2]>
  pipe.return %v : !pipe.tensor<u8[x=2, z=2, y=2]>
})");
  std::vector<uint8_t> x(64, 77), out(8);
  x[0] = 1, x[1] = 2;
  ASSERT_EQ(code->run("k", {TensorArg::of(x, {1, 1, 2}), TensorArg::of(out, {2, 2, 2})}, 1), 0);
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 9, 9, 9, 2, 9, 9, 9}));
}

TEST_P(Ops, PadsWithEveryBorder) {
  for (std::string border : {"constant", "edge", "reflect", "symmetric", "wrap"}) {
    SCOPED_TRACE(border);
    const bool filled = border == "constant";
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: !pipe.tensor<u8[h=3, w=40]>, %low: "
                        "i64, %fill: ui8):\n"
                        "%0 = pipe.pad " +
                        border + " %x over [\"h\", \"w\"] low(%low, %low) " +
                        (filled ? "fill(%fill : ui8) " : "") +
                        ": !pipe.tensor<u8[h=3, w=40]> -> !pipe.tensor<u8[h=13, w=50]>\n"
                        "pipe.return %0 : !pipe.tensor<u8[h=13, w=50]>\n}");
    std::vector<uint8_t> x(120 + 64), y(13 * 50);
    std::iota(x.begin(), x.end(), 1);
    for (int64_t low : {int64_t{0}, int64_t{4}, int64_t{10}}) {
      ASSERT_EQ(
          code->run("k", {TensorArg::of(x, {3, 40}), TensorArg::of(y, {13, 50})}, 1, {low, 200}),
          0);
      for (int64_t i = 0; i < 13; ++i)
        for (int64_t j = 0; j < 50; ++j) {
          const int64_t r = i - low, c = j - low;
          const bool inside = r >= 0 && r < 3 && c >= 0 && c < 40;
          const uint8_t expected =
              filled && !inside
                  ? 200
                  : x[static_cast<size_t>(borderIndex(filled ? "edge" : border, r, 3) * 40 +
                                          borderIndex(filled ? "edge" : border, c, 40))];
          ASSERT_EQ(y[static_cast<size_t>(i * 50 + j)], expected) << low << " " << i << " " << j;
        }
    }
  }
}

TEST_P(Ops, ReadsNeighbours) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<i32[h=5, w=70]>):
  %0 = pipe.window reflect %x over ["h", "w"] low [-1, -2] high [1, 0]
      : !pipe.tensor<i32[h=5, w=70]> -> !pipe.tensor<i32[h=5, w=70]> {
  ^bb0(%a: i32, %b: i32, %c: i32, %d: i32, %e: i32, %f: i32, %g: i32, %i: i32, %j: i32, %h: i64, %w: i64):
    %two = pipe.constant 2 : i32 -> i32
    %g2 = pipe.binary mul %g, %two : i32
    %s = pipe.binary sub %a, %g2 : i32
    %t = pipe.binary add %s, %f : i32
    pipe.yield %t : i32
  }
  pipe.return %0 : !pipe.tensor<i32[h=5, w=70]>
})");
  std::vector<int32_t> x(350 + 16), y(350);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<int32_t>(i * i % 1009);
  ASSERT_EQ(code->run("k", {TensorArg::of(x, {5, 70}), TensorArg::of(y, {5, 70})}, 1), 0);
  auto at = [&](int64_t h, int64_t w) {
    return x[static_cast<size_t>(borderIndex("reflect", h, 5) * 70 +
                                 borderIndex("reflect", w, 70))];
  };
  for (int64_t h = 0; h < 5; ++h)
    for (int64_t w = 0; w < 70; ++w)
      ASSERT_EQ(y[static_cast<size_t>(h * 70 + w)],
                at(h - 1, w - 2) - 2 * at(h + 1, w - 2) + at(h, w));
}

/// Sums of f32 as the language defines them: 32 partial sums, then a tree.
static float sumOf(const std::vector<float> &terms) {
  std::vector<float> lanes(32, -0.0f);
  for (size_t i = 0; i < terms.size(); ++i)
    lanes[i % 32] += terms[i];
  for (size_t half = 16; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      lanes[i] += lanes[i + half];
  return lanes[0];
}

// Wide windows are loops over their neighbours: 9 rows of 11, each with a factor, and the
// largest of them.
TEST_P(Ops, SumsWideWindows) {
  constexpr int64_t rows = 9, columns = 11, count = rows * columns, width = 70;
  for (const std::string border : {"edge", "reflect", "symmetric", "wrap"}) {
    SCOPED_TRACE(border);
    const std::string from = "!pipe.tensor<u8[h=12, w=70]>", to = "!pipe.tensor<f32[h=12, w=70]>";
    std::string arguments, lines, one = "%v0", best;
    std::vector<std::string> lanes(32);
    int made = 0;
    auto line = [&](const std::string &op, const std::string &type) {
      const std::string name = "%t" + std::to_string(made++);
      lines += name + " = pipe." + op + " : " + type + "\n";
      return name;
    };
    auto add = [&](const std::string &a, const std::string &b) {
      return line("binary add " + a + ", " + b, "f32");
    };
    for (int64_t i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      arguments += "%v" + n + ": ui8, ";
      const std::string real = line("cast value %v" + n, "ui8 -> f32");
      const std::string factor =
          line("constant " + std::to_string(i % 7) + ".500000e+00", "f32 -> f32");
      const std::string term = line("binary mul " + real + ", " + factor, "f32");
      std::string &lane = lanes[static_cast<size_t>(i % 32)];
      lane = lane.empty() ? term : add(lane, term);
      best = i ? line("binary max " + best + ", %v" + n, "ui8") : "%v0";
    }
    for (size_t half = 16; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i)
        lanes[i] = add(lanes[i], lanes[i + half]);
    const std::string result = add(lanes[0], line("cast value " + best, "ui8 -> f32"));
    auto code = compile("pipe.kernel @k \"pixels\" {\n^bb0(%x: " + from + "):\n%0 = pipe.window " +
                        border + " %x over [\"h\", \"w\"] low [-4, -7] high [4, 3] : " + from +
                        " -> " + to + " {\n^bb0(" + arguments + "%h: i64, %w: i64):\n" + lines +
                        "pipe.yield " + result + " : f32\n}\npipe.return %0 : " + to + "\n}");
    std::vector<uint8_t> x(12 * width + 64);
    std::vector<float> y(12 * width);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<uint8_t>(i * i % 251);
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {12, width}), TensorArg::of(y, {12, width})}, 1), 0);
    for (int64_t h = 0; h < 12; ++h)
      for (int64_t w = 0; w < width; ++w) {
        std::vector<float> terms;
        uint8_t largest = 0;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t row = borderIndex(border, h + i / columns - 4, 12);
          const int64_t column = borderIndex(border, w + i % columns - 7, width);
          const uint8_t value = x[static_cast<size_t>(row * width + column)];
          terms.push_back(static_cast<float>(value) * (static_cast<float>(i % 7) + 0.5f));
          largest = std::max(largest, value);
        }
        ASSERT_EQ(y[static_cast<size_t>(h * width + w)], sumOf(terms) + static_cast<float>(largest))
            << h << " " << w;
      }
  }
}

/// Windows of two rows and four columns over [h=4, w, c], with another factor for each of their
/// elements.
template <typename T>
void Ops::checkWindows(const std::string &element, const std::string &scalar, int64_t width,
                       int64_t channels) {
  for (const char *border : {"edge", "reflect", "symmetric", "wrap"}) {
    SCOPED_TRACE(std::string(border) + " of " + element + ", " + std::to_string(width) + " wide");
    const std::string axes =
        "[h=4, w=" + std::to_string(width) + ", c=" + std::to_string(channels) + "]";
    const std::string from = "!pipe.tensor<" + element + axes + ">",
                      to = "!pipe.tensor<f32" + axes + ">";
    std::string text = "pipe.kernel @k \"pixels\" {\n^bb0(%x: " + from + "):\n%0 = pipe.window " +
                       border + " %x over [\"h\", \"w\"] low [-1, -2] high [0, 1] : " + from +
                       " -> " + to + " {\n^bb0(";
    for (int i = 0; i < 8; ++i)
      text += "%v" + std::to_string(i) + ": " + scalar + ", ";
    text += "%h: i64, %w: i64, %c: i64):\n%s0 = pipe.constant 0.000000e+00 : f32 -> f32\n";
    for (int i = 0; i < 8; ++i) {
      const std::string n = std::to_string(i);
      text += "%k" + n + " = pipe.constant " + std::to_string(i + 1) +
              ".000000e+00 : f32 -> f32\n" +
              (scalar == "f32"
                   ? ""
                   : "%f" + n + " = pipe.cast value %v" + n + " : " + scalar + " -> f32\n") +
              "%m" + n + " = pipe.binary mul %" + (scalar == "f32" ? "v" : "f") + n + ", %k" + n +
              " : f32\n%s" + std::to_string(i + 1) + " = pipe.binary add %s" + n + ", %m" + n +
              " : f32\n";
    }
    auto code = compile(text + "pipe.yield %s8 : f32\n}\npipe.return %0 : " + to + "\n}\n");
    const size_t count = static_cast<size_t>(4 * width * channels);
    std::vector<T> x(count + 64);
    std::vector<float> y(count + 1, 7);
    for (size_t i = 0; i < count; ++i)
      x[i] = static_cast<T>(static_cast<int>(i * i % 251) - (std::is_signed_v<T> ? 120 : 0));
    ASSERT_EQ(
        code->run("k",
                  {TensorArg::of(x, {4, width, channels}), TensorArg::of(y, {4, width, channels})},
                  1),
        0);
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t w = 0; w < width; ++w)
        for (int64_t c = 0; c < channels; ++c) {
          float sum = 0;
          for (int64_t k = 0; k < 8; ++k) {
            const int64_t row = borderIndex(border, h + k / 4 - 1, 4),
                          column = borderIndex(border, w + k % 4 - 2, width);
            sum +=
                static_cast<float>(x[static_cast<size_t>((row * width + column) * channels + c)]) *
                static_cast<float>(k + 1);
          }
          ASSERT_EQ(y[static_cast<size_t>((h * width + w) * channels + c)], sum)
              << h << " " << w << " " << c;
        }
    EXPECT_EQ(y.back(), 7) << "wrote behind the end";
  }
}

TEST_P(Ops, ReadsWindowsOverTheEnds) {
  for (int64_t width : {20, 32, 70}) // less than a vector, one, and more
    checkWindows<uint8_t>("u8", "ui8", width, 3);
  checkWindows<int8_t>("i8", "i8", 37, 1);
  checkWindows<uint16_t>("u16", "ui16", 37, 1);
  checkWindows<int32_t>("i32", "i32", 37, 1);
  checkWindows<float>("f32", "f32", 37, 3);
}

TEST_P(Ops, FlipsByARunTimeSign) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[h=2, w=64, c=3]>, %s: i64, %o: i64):
  %0 = pipe.view %x by affine_map<(d0, d1, d2)[s0, s1] -> (d1, s0 * d2 + s1, d0)> [%s, %o]
      : !pipe.tensor<u8[h=2, w=64, c=3]> -> !pipe.tensor<u8[c=3, h=2, w=64]>
  pipe.return %0 : !pipe.tensor<u8[c=3, h=2, w=64]>
})");
  std::vector<uint8_t> x(384 + 64), y(384);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<uint8_t>(i * 7 + i / 50);
  for (int64_t step : {1, -1, 0}) {
    const int64_t offset = step < 0 ? 63 : step == 0 ? 5 : 0;
    ASSERT_EQ(code->run("k", {TensorArg::of(x, {2, 64, 3}), TensorArg::of(y, {3, 2, 64})}, 1,
                        {step, offset}),
              0);
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t w = 0; w < 64; ++w)
          ASSERT_EQ(y[static_cast<size_t>((c * 2 + h) * 64 + w)],
                    x[static_cast<size_t>((h * 64 + step * w + offset) * 3 + c)])
              << step << " " << c << " " << w;
  }
}

TEST_P(Ops, JoinsStacksAndPlaces) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<i16[h=4, w=20]>, %y: !pipe.tensor<i16[h=4, w=30]>, %oy: i64, %ox: i64):
  %0 = pipe.concat "w" (%x, %y) : !pipe.tensor<i16[h=4, w=20]>, !pipe.tensor<i16[h=4, w=30]> -> !pipe.tensor<i16[h=4, w=50]>
  %1 = pipe.place %x into %0 over ["h", "w"] at(%oy, %ox)
      : !pipe.tensor<i16[h=4, w=20]>, !pipe.tensor<i16[h=4, w=50]> -> !pipe.tensor<i16[h=4, w=50]>
  %2 = pipe.stack "v" (%0, %1) : !pipe.tensor<i16[h=4, w=50]>, !pipe.tensor<i16[h=4, w=50]> -> !pipe.tensor<i16[v=2, h=4, w=50]>
  pipe.return %2 : !pipe.tensor<i16[v=2, h=4, w=50]>
})");
  std::vector<int16_t> x(80 + 32), y(120 + 32), z(400);
  std::iota(x.begin(), x.end(), static_cast<int16_t>(0));
  std::iota(y.begin(), y.end(), static_cast<int16_t>(1000));
  for (auto [oy, ox] : {std::pair<int64_t, int64_t>{1, 7}, {-2, 45}, {3, -9}}) {
    ASSERT_EQ(code->run("k",
                        {TensorArg::of(x, {4, 20}), TensorArg::of(y, {4, 30}),
                         TensorArg::of(z, {2, 4, 50})},
                        1, {oy, ox}),
              0);
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t w = 0; w < 50; ++w) {
        const int16_t joined =
            w < 20 ? x[static_cast<size_t>(h * 20 + w)] : y[static_cast<size_t>(h * 30 + w - 20)];
        const bool inside = h >= oy && h - oy < 4 && w >= ox && w - ox < 20;
        ASSERT_EQ(z[static_cast<size_t>(h * 50 + w)], joined);
        ASSERT_EQ(z[static_cast<size_t>(200 + h * 50 + w)],
                  inside ? x[static_cast<size_t>((h - oy) * 20 + w - ox)] : joined)
            << h << " " << w;
      }
  }
}

TEST_P(Ops, Reduces) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<f32[h=?, w=45, c=3]>, %u: !pipe.tensor<u8[h=?, w=45]>, %n: i64):
  %sum = pipe.reduce sum %x over ["h", "w"] : !pipe.tensor<f32[h=?, w=45, c=3]> -> !pipe.tensor<f32[c=3]>
  %max = pipe.reduce max %x over ["h", "w", "c"] : !pipe.tensor<f32[h=?, w=45, c=3]> -> !pipe.tensor<f32[]>
  %low = pipe.reduce min %u over ["w"] sizes(%n) : !pipe.tensor<u8[h=?, w=45]> -> !pipe.tensor<u8[h=?]>
  %total = pipe.reduce sum %u over ["h", "w"] : !pipe.tensor<u8[h=?, w=45]> -> !pipe.tensor<u8[]>
  %where = pipe.reduce argmax %u over ["w"] sizes(%n) : !pipe.tensor<u8[h=?, w=45]> -> !pipe.tensor<i64[h=?]>
  pipe.return %low, %sum, %max, %total, %where : !pipe.tensor<u8[h=?]>, !pipe.tensor<f32[c=3]>, !pipe.tensor<f32[]>,
      !pipe.tensor<u8[]>, !pipe.tensor<i64[h=?]>
})");
  for (int64_t rows : {7, 1, 0}) {
    std::vector<float> x(static_cast<size_t>(rows * 135 + 64));
    std::vector<uint8_t> u(static_cast<size_t>(rows * 45 + 64));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = std::sin(static_cast<float>(i)) * 1000.0f;
    for (size_t i = 0; i < u.size(); ++i)
      u[i] = static_cast<uint8_t>(i * 37 % 251);
    std::vector<uint8_t> low(64), total(8);
    std::vector<float> sum(8), max(8);
    std::vector<int64_t> where(16);
    ASSERT_EQ(
        code->run("k",
                  {TensorArg::of(x, {rows, 45, 3}), TensorArg::of(u, {rows, 45}),
                   TensorArg::of(low, {rows}), TensorArg::of(sum, {3}), TensorArg::of(max, {}),
                   TensorArg::of(total, {}), TensorArg::of(where, {rows})},
                  5, {rows}),
        0);
    float largest = -std::numeric_limits<float>::infinity();
    for (int64_t c = 0; c < 3; ++c) {
      float lanes[32] = {};
      for (int64_t i = 0; i < rows * 45; ++i) {
        lanes[i % 32] += x[static_cast<size_t>(i * 3 + c)];
        largest = std::max(largest, x[static_cast<size_t>(i * 3 + c)]);
      }
      for (int half = 16; half >= 1; half /= 2)
        for (int l = 0; l < half; ++l)
          lanes[l] += lanes[l + half];
      EXPECT_EQ(sum[static_cast<size_t>(c)], lanes[0]);
    }
    EXPECT_EQ(max[0], largest);
    uint8_t all = 0;
    for (int64_t h = 0; h < rows; ++h) {
      const auto row = u.begin() + h * 45;
      EXPECT_EQ(low[static_cast<size_t>(h)], *std::min_element(row, row + 45));
      EXPECT_EQ(where[static_cast<size_t>(h)], std::max_element(row, row + 45) - row);
      all = static_cast<uint8_t>(all + std::accumulate(row, row + 45, 0));
    }
    EXPECT_EQ(total[0], all);
  }
}

// A key below 0 is no bin: not the last one of the row before, either.
// Lanes beside a pad's input stand for no place of it, so what is known of places and of what is
// stored does not hold there.
TEST_P(Ops, LooksNothingUpBesideAPad) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%t: !pipe.tensor<i32[i=1024]>):
  %four = pipe.constant 4 : i64 -> i64
  %none = pipe.constant -1 : i32 -> i32
  %0 = pipe.map () : () -> !pipe.tensor<i32[w=60]> {
  ^bb0(%w: i64):
    %k = pipe.constant 16 : i64 -> i64
    %i = pipe.binary mul %w, %k : i64
    %v = pipe.load %t[%i] : !pipe.tensor<i32[i=1024]> -> i32
    pipe.yield %v : i32
  }
  %1 = pipe.pad constant %0 over ["w"] low(%four) fill(%none : i32) : !pipe.tensor<i32[w=60]> -> !pipe.tensor<i32[w=70]>
  %2 = pipe.map () {schedule = "scratch"} : () -> !pipe.tensor<i32[w=60]> {
  ^bb0(%w: i64):
    %one = pipe.constant 1 : i64 -> i64
    %n = pipe.binary add %w, %one : i64
    %d = pipe.cast value %n : i64 -> i32
    pipe.yield %d : i32
  }
  %3 = pipe.map (%2) : (!pipe.tensor<i32[w=60]>) -> !pipe.tensor<i32[w=60]> {
  ^bb0(%d: i32, %w: i64):
    %all = pipe.constant 1000 : i32 -> i32
    %q = pipe.binary div %all, %d : i32
    pipe.yield %q : i32
  }
  %5 = pipe.pad constant %3 over ["w"] low(%four) fill(%none : i32) : !pipe.tensor<i32[w=60]> -> !pipe.tensor<i32[w=70]>
  pipe.return %1, %5 : !pipe.tensor<i32[w=70]>, !pipe.tensor<i32[w=70]>
})");
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  ASSERT_EQ(page, 4096u) << "the table is a page";
  auto *pages =
      static_cast<char *>(mmap(nullptr, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(pages + page, page, PROT_READ | PROT_WRITE), 0);
  auto *table = reinterpret_cast<int32_t *>(pages + page);
  std::iota(table, table + 1024, 1);
  TensorArg whole;
  whole.view.data = table;
  whole.view.extent[0] = 1024;
  whole.view.stride[0] = 4;
  std::vector<int32_t> y(70), z(70);
  ASSERT_EQ(code->run("k", {whole, TensorArg::of(y, {70}), TensorArg::of(z, {70})}, 2), 0);
  for (int i = 0; i < 70; ++i) {
    const bool outside = i < 4 || i >= 64;
    EXPECT_EQ(y[static_cast<size_t>(i)], outside ? -1 : (i - 4) * 16 + 1) << i;
    EXPECT_EQ(z[static_cast<size_t>(i)], outside ? -1 : 1000 / (i - 3)) << i;
  }
  munmap(pages, 3 * page);
}

TEST_P(Ops, ChoosesAndLooksUp) {
  auto code = compile(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[w=50]>, %t: !pipe.tensor<i32[i=256]>, %arm: i64):
  %0 = pipe.choose %arm -> !pipe.tensor<u8[w=50]> {
    pipe.yield %x : !pipe.tensor<u8[w=50]>
  }, {
    %r = pipe.view %x by affine_map<(d0) -> (-d0 + 49)> [] : !pipe.tensor<u8[w=50]> -> !pipe.tensor<u8[w=50]>
    pipe.yield %r : !pipe.tensor<u8[w=50]>
  }
  %1 = pipe.map (%0) : (!pipe.tensor<u8[w=50]>) -> !pipe.tensor<i32[w=50]> {
  ^bb0(%p: ui8, %w: i64):
    %i = pipe.cast value %p : ui8 -> i64
    %v = pipe.load %t[%i] : !pipe.tensor<i32[i=256]> -> i32
    %j = pipe.cast value %w : i64 -> i32
    %s = pipe.binary add %v, %j : i32
    pipe.yield %s : i32
  }
  pipe.return %1 : !pipe.tensor<i32[w=50]>
})");
  std::vector<uint8_t> x(50 + 64);
  std::vector<int32_t> t(256 + 16), y(50);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<uint8_t>(i * 5);
  for (size_t i = 0; i < t.size(); ++i)
    t[i] = static_cast<int32_t>(i * 1000);
  for (int64_t arm : {-3, 0, 1, 9}) {
    ASSERT_EQ(code->run("k",
                        {TensorArg::of(x, {50}), TensorArg::of(t, {256}), TensorArg::of(y, {50})},
                        1, {arm}),
              0);
    for (size_t w = 0; w < 50; ++w)
      ASSERT_EQ(y[w], t[x[arm <= 0 ? w : 49 - w]] + static_cast<int32_t>(w)) << arm;
  }
}

/// `T` is the element of the kernel's tensors.
template <typename T> void checkGather(JitModule &code, double slope) {
  std::vector<T> x(240 + 16), y(240);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::cos(static_cast<T>(i));
  for (double shift : {0.5, 0.8, -1.3}) {
    ASSERT_EQ(code.run("k", {TensorArg::of(x, {6, 40}), TensorArg::of(y, {6, 40})}, 1,
                       {test::asSlot(shift), test::asSlot(9.0)}),
              0);
    for (int64_t h = 0; h < 6; ++h)
      for (int64_t w = 0; w < 40; ++w) {
        const double c = static_cast<double>(w) + shift,
                     a = static_cast<double>(h) + static_cast<double>(w) * slope + shift;
        auto at = [&](double i, double j) {
          return static_cast<double>(
              x[static_cast<size_t>(borderIndex("edge", static_cast<int64_t>(i), 6) * 40 +
                                    borderIndex("edge", static_cast<int64_t>(j), 40))]);
        };
        const double i = std::floor(a - 0.5), j = std::floor(c - 0.5), di = a - 0.5 - i,
                     dj = c - 0.5 - j;
        const double top = at(i, j) + (at(i, j + 1) - at(i, j)) * dj;
        const double low = at(i + 1, j) + (at(i + 1, j + 1) - at(i + 1, j)) * dj;
        const bool inside = a >= 0 && a < 6 && c >= 0 && c < 40;
        ASSERT_EQ(y[static_cast<size_t>(h * 40 + w)],
                  inside ? static_cast<T>(top + (low - top) * di) : T(9));
      }
  }
}

// In f64 every rounding of the sums shows, in f32 only that of the store. Without a slope places
// are rows and columns, which are looked up, and not computed for each element.
TEST_P(Ops, GathersAtCoordinates) {
  for (const std::string type : {"f32", "f64"})
    for (const double slope : {0.0, 0.0625}) {
      SCOPED_TRACE(type + " " + std::to_string(slope));
      const std::string tensor = "!pipe.tensor<" + type + "[h=6, w=40]>";
      auto code = compile(
          "pipe.kernel @k \"pixels\" {\n^bb0(%x: " + tensor + ", %shift: f64, %fill: " + type +
          "):\n%slope = pipe.constant 6.250000e-02 : f64 -> f64\n"
          "%0 = pipe.gather linear constant %x over [\"h\", \"w\"] fill(%fill : " +
          type + ") : " + tensor + " -> " + tensor +
          " {\n^bb0(%h: i64, %w: i64):\n"
          "%fh = pipe.cast value %h : i64 -> f64\n%fw = pipe.cast value %w : i64 -> f64\n"
          "%sw = pipe.binary mul %fw, %slope : f64\n%hw = pipe.binary add %fh, %sw : f64\n"
          "%a = pipe.binary add " +
          (slope == 0 ? "%fh" : "%hw") +
          ", %shift : f64\n%b = pipe.binary add %fw, %shift : f64\n"
          "pipe.yield %a, %b : f64, f64\n}\npipe.return %0 : " +
          tensor + "\n}");
      if (type == "f32")
        checkGather<float>(*code, slope);
      else
        checkGather<double>(*code, slope);
    }
}

/// A kernel `k` that reads `tensor`, of 40 elements along w, `%shift` further.
std::string shiftedBy(const std::string &how, const std::string &tensor) {
  return "pipe.kernel @k \"pixels\" {\n^bb0(%x: " + tensor + ", %shift: f64):\n%0 = pipe.gather " +
         how + " %x over [\"w\"] : " + tensor + " -> " + tensor + " {\n^bb0(%w: i64):\n" +
         "%f = pipe.cast value %w : i64 -> f64\n%at = pipe.binary add %f, %shift : f64\npipe.yield "
         "%at : f64\n}\n" +
         "pipe.return %0 : " + tensor + "\n}";
}

// Places outside are told apart by floor and the border alone.
TEST_P(Ops, GathersTheNearestElement) {
  auto code = compile(shiftedBy("nearest reflect", "!pipe.tensor<i32[w=40]>"));
  std::vector<int32_t> x(40 + 16), y(40);
  std::iota(x.begin(), x.end(), 100);
  for (double shift : {0.5, -3.7, 3.2}) {
    ASSERT_EQ(
        code->run("k", {TensorArg::of(x, {40}), TensorArg::of(y, {40})}, 1, {test::asSlot(shift)}),
        0);
    for (size_t w = 0; w < 40; ++w) {
      const auto at = static_cast<int64_t>(std::floor(static_cast<double>(w) + shift));
      ASSERT_EQ(y[w], x[static_cast<size_t>(borderIndex("reflect", at, 40))])
          << w << " + " << shift;
    }
  }
}

// Keys' kernel with a = -1, as in Pillow's transforms, at the distance of each element.
TEST_P(Ops, GathersACubicThroughFourElements) {
  auto code = compile(shiftedBy("cubic edge", "!pipe.tensor<f64[w=40]>"));
  auto weight = [](double t) {
    t = std::fabs(t);
    return t <= 1 ? (t - 2) * t * t + 1 : ((5 - t) * t - 8) * t + 4;
  };
  std::vector<double> x(40 + 16), y(40);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<double>(i * i);
  for (double shift : {0.5, 0.75, 1.375}) {
    ASSERT_EQ(
        code->run("k", {TensorArg::of(x, {40}), TensorArg::of(y, {40})}, 1, {test::asSlot(shift)}),
        0);
    for (size_t w = 2; w < 37; ++w) {
      const double at = static_cast<double>(w) + shift - 0.5;
      double expected = 0;
      for (auto i = static_cast<size_t>(at) - 1; i <= static_cast<size_t>(at) + 2; ++i)
        expected += x[i] * weight(at - static_cast<double>(i));
      ASSERT_NEAR(y[w], expected, 1e-9 * expected) << w << " + " << shift;
    }
  }
}

TEST_P(Ops, DrawsInSetup) {
  auto code = compile(R"(
pipe.kernel @k "setup" {
  %key = pipe.key sample
  %zero = pipe.constant 0 : i64 -> i64
  %ten = pipe.constant 10 : i64 -> i64
  %half = pipe.constant 5.000000e-01 : f64 -> f64
  %one = pipe.constant 1.0 : f64 -> f64
  %view = pipe.key_view %key, %ten
  %u = pipe.draw uniform %view (%half, %one : f64, f64) id 77 path "p/u" : f64
  pipe.set_entry 8, %u : f64
  %i = pipe.draw integer %key (%zero, %ten : i64, i64) at(%ten) id 78 path "p/i" : i64
  pipe.set_entry 9, %i : i64
  %n = pipe.entry 12 : i64
  %p = pipe.draw permutation %key (%n, %ten : i64, i64) id 79 path "p/p" : i64
  pipe.set_entry 10, %p : i64
  %found:2 = pipe.search 10 -> i64, i64 {
  ^bb0(%try: i64):
    %k = pipe.key_mix %key, %try
    %v = pipe.draw integer %k (%zero, %ten : i64, i64) id 80 path "p/s" : i64
    %three = pipe.constant 3 : i64 -> i64
    %ok = pipe.compare lt %v, %three : i64
    pipe.accept %ok, %v, %try : i64, i64
  } otherwise {
    %minus = pipe.constant -1 : i64 -> i64
    pipe.yield %minus, %minus : i64, i64
  }
  pipe.set_entry 11, %found#0 : i64
  pipe.set_entry 13, %found#1 : i64
  %r = pipe.repeat %n bound 5 (%zero) : (i64) -> i64 {
  ^bb0(%t: i64, %c: i64):
    %d = pipe.binary add %c, %t : i64
    pipe.yield %d : i64
  }
  pipe.set_entry 14, %r : i64
  %limit = pipe.constant 1000000 : i64 -> i64
  %fits = pipe.compare lt %n, %limit : i64
  pipe.check %fits, "{0} is more than {1}" (%n, %limit)
  pipe.return
})");
  for (int64_t position = 0; position < 50; ++position) {
    std::vector<int64_t> block(16);
    block[0] = 42;
    block[1] = 3;
    block[2] = (int64_t{1} << 33) + position;
    block[12] = position % 7 == 6 ? 1000001 : 20 + position;
    const int64_t n = block[12];
    const random::Key key{42, static_cast<uint64_t>(block[2]), 3, 0};
    const int32_t status = code->runBlock("k", block);
    double u;
    std::memcpy(&u, &block[8], 8);
    EXPECT_EQ(u, random::uniform(random::bits(key.withView(10), 77), 0.5, 1.0));
    EXPECT_EQ(block[9], random::integer(random::bits(key, 78, 10), 0, 10));
    EXPECT_EQ(block[10], static_cast<int64_t>(
                             random::permute(random::bits(key, 79), static_cast<uint64_t>(n), 10)));
    int64_t value = -1, tries = -1;
    for (uint64_t t = 0; t < 10 && value < 0; ++t) {
      const int64_t v = random::integer(random::bits(key.mixed(t), 80), 0, 10);
      if (v < 3) {
        value = v;
        tries = static_cast<int64_t>(t);
      }
    }
    EXPECT_EQ(block[11], value);
    EXPECT_EQ(block[13], tries);
    EXPECT_EQ(block[14], 0 + 1 + 2 + 3 + 4);
    EXPECT_EQ(status, n < 1000000 ? 0 : 1);
    if (status) {
      EXPECT_EQ(code->args.failure[0], n);
      EXPECT_EQ(code->args.failure[1], 1000000);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Ops, testing::Values(2, 3, 4, 5));

} // namespace
