// SPDX-License-Identifier: Apache-2.0
//
// The elementary functions of the prelude, folded at import, against the
// platform's long double functions. The bounds are those that the prelude
// states.

#include "runtime/abi/scalar.h"
#include "test/unit/compiler/ImportText.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace penstock::test {
namespace {

std::string literal(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17e", std::fabs(x));
  return std::signbit(x) ? std::string("-") + text : text;
}

/// The values of f64 expressions, which must fold.
std::vector<double> valuesOf(const std::vector<std::string> &expressions) {
  std::string text = "pipe 1\npipeline p(length: int = 1) {\n"
                     "  for row in synthetic(length, label = i64)\n  batch 1 {\n";
  for (size_t i = 0; i < expressions.size(); ++i)
    text += "    output y" + std::to_string(i) + ": f64[n] = " + expressions[i] + "\n";
  Imported imported(text + "  }\n}\n");
  EXPECT_EQ(imported.messages, "");
  std::vector<double> values;
  if (imported.result.module)
    imported.result.module->walk([&](pipe::OutputOp output) {
      auto constant = output.getValue().getDefiningOp<pipe::ConstantOp>();
      EXPECT_TRUE(constant) << "not folded: " << expressions[values.size()];
      values.push_back(
          constant ? llvm::cast<mlir::FloatAttr>(constant.getValue()).getValueAsDouble() : 0);
    });
  return values;
}

/// The distance to the exact result in units of its last place as an f64.
double ulps(double value, long double exact) {
  const double rounded = static_cast<double>(exact);
  if (value == rounded || (std::isnan(value) && std::isnan(rounded)))
    return 0;
  if (!std::isfinite(value) || !std::isfinite(rounded))
    return std::numeric_limits<double>::infinity();
  const double next = std::nextafter(std::fabs(rounded), std::numeric_limits<double>::infinity());
  return static_cast<double>(std::fabs(value - exact) / (next - std::fabs(rounded)));
}

std::vector<double> spread(double low, double high, int count) {
  std::vector<double> points;
  for (int i = 0; i < count; ++i) // irrational steps: no point is special
    points.push_back(low + (high - low) * std::fmod(i * 0.6180339887498949, 1.0));
  return points;
}

void expectWithin(const std::string &name, const std::vector<double> &points,
                  long double (*exact)(long double), double bound) {
  std::vector<std::string> calls;
  for (double x : points)
    calls.push_back(name + "(" + literal(x) + ")");
  std::vector<double> values = valuesOf(calls);
  ASSERT_EQ(values.size(), points.size());
  double worst = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const double error = ulps(values[i], exact(points[i]));
    EXPECT_LE(error, bound) << calls[i] << " = " << values[i];
    worst = std::max(worst, error);
  }
  ::testing::Test::RecordProperty(name + "_ulp", std::to_string(worst));
}

std::vector<double> operator+(std::vector<double> a, const std::vector<double> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(ElementaryFunctions, sineOfFiltersIsThePreludes) {
  const std::vector<double> points =
      spread(-10, 10, 300) + std::vector<double>{0.0, -0.0, 1e-300, 1e5};
  for (const bool cosine : {false, true}) {
    std::vector<std::string> calls;
    for (double x : points)
      calls.push_back(std::string(cosine ? "cos(" : "sin(") + literal(x) + ")");
    const std::vector<double> values = valuesOf(calls);
    ASSERT_EQ(values.size(), points.size());
    for (size_t i = 0; i < points.size(); ++i)
      EXPECT_EQ(std::bit_cast<uint64_t>(values[i]),
                std::bit_cast<uint64_t>(scalar::sine(points[i], cosine)))
          << calls[i];
  }
}

TEST(ElementaryFunctions, exp) {
  expectWithin(
      "exp",
      spread(-700, 700, 200) + spread(-1, 1, 100) +
          std::vector<double>{0.0, -0.0, 709.7, -745.0, 710, -746},
      [](long double x) { return std::exp(x); }, 1);
}
TEST(ElementaryFunctions, log) {
  std::vector<double> wide;
  for (double x : spread(-300, 300, 100))
    wide.push_back(std::pow(10.0, x));
  expectWithin(
      "log",
      wide + spread(0.5, 2, 150) + spread(0, 1000, 50) +
          std::vector<double>{0.0, -1.0, 1.0, 5e-324, 1e-310},
      [](long double x) { return std::log(x); }, 1);
}
TEST(ElementaryFunctions, sin) {
  expectWithin(
      "sin",
      spread(-7, 7, 200) + spread(-1048576, 1048576, 100) + std::vector<double>{0.0, -0.0, 1e-300},
      [](long double x) { return std::sin(x); }, 1);
}
TEST(ElementaryFunctions, cos) {
  expectWithin(
      "cos", spread(-7, 7, 200) + spread(-1048576, 1048576, 100) + std::vector<double>{0.0, 1e-300},
      [](long double x) { return std::cos(x); }, 1);
}
TEST(ElementaryFunctions, tan) {
  expectWithin(
      "tan",
      spread(-7, 7, 200) + spread(-1048576, 1048576, 100) + std::vector<double>{0.0, -0.0, 1e-300},
      [](long double x) { return std::tan(x); }, 3);
}
/// The f64 next to multiples of pi / 2: what is left of them is what reducing them has lost, if it
/// has.
TEST(ElementaryFunctions, sinesNextToMultiples) {
  std::vector<double> points{642615.9188844458};
  for (int64_t k = 1; k < 667544; k += k < 64 ? 1 : 4999)
    points.push_back(static_cast<double>(static_cast<long double>(k) * 1.57079632679489661923L));
  expectWithin("sin", points, [](long double x) { return std::sin(x); }, 1);
  expectWithin("cos", points, [](long double x) { return std::cos(x); }, 1);
  expectWithin("tan", points, [](long double x) { return std::tan(x); }, 3);
}
TEST(ElementaryFunctions, sinesOfLargeAngles) {
  std::vector<double> points, floats;
  for (int power = 20; power < 30; ++power)
    for (double x : spread(std::ldexp(1.0, power), std::ldexp(2.0, power), 20)) {
      points.push_back(power % 2 ? x : -x);
      if (power < 23)
        floats.push_back(static_cast<float>(x));
    }
  points = points + std::vector<double>{0x1p30, -0x1p30};
  const std::pair<std::string, long double (*)(long double)> functions[] = {
      {"sin", [](long double x) { return std::sin(x); }},
      {"cos", [](long double x) { return std::cos(x); }}};
  for (const auto &[name, exact] : functions) {
    std::vector<std::string> calls;
    for (double x : points)
      calls.push_back(name + "(" + literal(x) + ")");
    for (double x : floats)
      calls.push_back("f64(" + name + "(f32(" + literal(x) + ")))");
    const std::vector<double> values = valuesOf(calls);
    ASSERT_EQ(values.size(), calls.size());
    for (size_t i = 0; i < points.size(); ++i)
      EXPECT_LE(std::fabs(values[i] - exact(points[i])), std::fabs(points[i]) * 0x1p-53 + 0x1p-53)
          << calls[i];
    for (size_t i = 0; i < floats.size(); ++i)
      EXPECT_EQ(values[points.size() + i], static_cast<float>(exact(floats[i])))
          << calls[points.size() + i];
  }
}
TEST(ElementaryFunctions, noSineBeyondWhatIsReducedExactly) {
  std::vector<std::string> calls;
  for (const std::string name : {"sin", "cos", "tan"})
    for (const std::string sign : {"", "-"}) {
      for (const std::string x : {"1073741824.0000002", "1e18", "1.7e308", "inf"})
        calls.push_back(name + "(" + sign + x + ")");
      for (const std::string x : {"1073741952.0", "1e18", "3e38", "inf"})
        calls.push_back("f64(" + name + "(f32(" + sign + x + ")))");
    }
  const std::vector<double> values = valuesOf(calls);
  ASSERT_EQ(values.size(), calls.size());
  for (size_t i = 0; i < calls.size(); ++i)
    EXPECT_TRUE(std::isnan(values[i])) << calls[i] << " = " << values[i];
}
TEST(ElementaryFunctions, tanh) {
  expectWithin(
      "tanh", spread(-1, 1, 150) + spread(-25, 25, 100) + std::vector<double>{0.0, 1e-300, 400},
      [](long double x) { return std::tanh(x); }, 2);
}
std::vector<double> magnitudes(int count) {
  std::vector<double> wide;
  for (double x : spread(-300, 300, count))
    wide.push_back(std::pow(10.0, x));
  return wide;
}
const std::vector<double> around =
    spread(-3, 3, 200) + spread(-0.01, 0.01, 50) + spread(-1000, 1000, 50);
const double infinity = std::numeric_limits<double>::infinity();

TEST(ElementaryFunctions, logarithmsOfOtherBases) {
  const std::vector<double> points =
      magnitudes(100) + spread(0.5, 2, 150) + spread(0, 1000, 50) +
      std::vector<double>{0.0, -1.0, 1.0, 5e-324, 1e-310, 1000, 1e-5, 1e22};
  expectWithin("log2", points, [](long double x) { return std::log2(x); }, 1);
  expectWithin("log10", points, [](long double x) { return std::log10(x); }, 1);
  EXPECT_EQ(valuesOf({"log2(8.0)", "log2(0.03125)", "log10(1000.0)", "log2(inf)"}),
            (std::vector<double>{3, -5, 3, infinity}));
}
TEST(ElementaryFunctions, atan) {
  expectWithin(
      "atan",
      around + magnitudes(50) +
          std::vector<double>{0.0, -0.0, 0.4375, 0.6875, -1.1875, 2.4375, 1e-300, 1e300},
      [](long double x) { return std::atan(x); }, 1);
  EXPECT_EQ(valuesOf({"atan(inf)", "atan(-inf)"}), (std::vector<double>{M_PI_2, -M_PI_2}));
}
TEST(ElementaryFunctions, asin) {
  expectWithin(
      "asin",
      spread(-1, 1, 300) + std::vector<double>{0.0, -0.0, 0.5, -0.5, 0.975, 1, -1, 1e-300, 1.5, -2},
      [](long double x) { return std::asin(x); }, 1);
}
TEST(ElementaryFunctions, acos) {
  expectWithin(
      "acos",
      spread(-1, 1, 300) + std::vector<double>{0.0, -0.0, 0.5, -0.5, 0.975, 1, -1, 1e-300, 1.5, -2},
      [](long double x) { return std::acos(x); }, 1);
}

void expectWithin(const std::string &name, const std::vector<std::pair<double, double>> &points,
                  long double (*exact)(long double, long double), double bound) {
  std::vector<std::string> calls;
  for (auto [a, b] : points)
    calls.push_back(name + "(" + literal(a) + ", " + literal(b) + ")");
  const std::vector<double> values = valuesOf(calls);
  ASSERT_EQ(values.size(), points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    const long double wanted = exact(points[i].first, points[i].second);
    EXPECT_LE(ulps(values[i], wanted), bound) << calls[i] << " = " << values[i];
    EXPECT_EQ(std::signbit(values[i]), std::signbit(wanted)) << calls[i];
  }
}
/// All pairs of a few numbers, and many of two spreads.
std::vector<std::pair<double, double>> pairs() {
  std::vector<std::pair<double, double>> all;
  const double ends[] = {0.0, -0.0, 1, -1, 0.25, -3, 1e-200, -1e-200, 1e200, -1e200, 5e-324, 1e308};
  for (double a : ends)
    for (double b : ends)
      all.emplace_back(a, b);
  for (size_t i = 0; i < around.size(); ++i)
    all.emplace_back(around[i], around[(i * 37 + 11) % around.size()]);
  return all;
}
TEST(ElementaryFunctions, atan2) {
  expectWithin(
      "atan2", pairs(), [](long double y, long double x) { return std::atan2(y, x); }, 1.5);
  EXPECT_EQ(
      valuesOf({"atan2(inf, inf)", "atan2(-inf, -inf)", "atan2(1.0, -inf)", "atan2(inf, 2.0)"}),
      (std::vector<double>{M_PI_4, -3 * M_PI_4, M_PI, M_PI_2}));
  EXPECT_TRUE(std::isnan(valuesOf({"atan2(nan, 0.0)"})[0]));
  EXPECT_TRUE(std::isnan(valuesOf({"atan2(0.0, nan)"})[0]));
}
TEST(ElementaryFunctions, hypot) {
  expectWithin("hypot", pairs(), [](long double x, long double y) { return std::hypot(x, y); }, 1);
  EXPECT_EQ(valuesOf({"hypot(inf, nan)", "hypot(nan, -inf)"}),
            (std::vector<double>{infinity, infinity}));
}
TEST(ElementaryFunctions, pow) {
  std::vector<double> bases = spread(0, 50, 150), exponents = spread(-20, 20, 150);
  std::vector<std::string> calls;
  for (size_t i = 0; i < bases.size(); ++i)
    calls.push_back("pow(" + literal(bases[i]) + ", " + literal(exponents[i]) + ")");
  std::vector<double> values = valuesOf(calls);
  ASSERT_EQ(values.size(), calls.size());
  for (size_t i = 0; i < bases.size(); ++i) {
    const long double exact = std::pow(static_cast<long double>(bases[i]), exponents[i]);
    const double bound = 2 + 2 * std::fabs(exponents[i] * std::log(bases[i]));
    EXPECT_LE(ulps(values[i], exact), bound) << calls[i] << " = " << values[i];
  }
  const std::vector<double> special =
      valuesOf({"pow(2.0, 0.0)", "pow(0.0, 2.0)", "pow(-2.0, 3.0)", "pow(-2.0, 2.0)"});
  EXPECT_EQ(special[0], 1);
  EXPECT_EQ(special[1], 0);
  EXPECT_NEAR(special[2], -8, 1e-14);
  EXPECT_NEAR(special[3], 4, 1e-14);
}

/// In units of the last place of an f32, of which results are.
void expectSingle(const std::string &name, const std::vector<float> &points,
                  long double (*exact)(long double)) {
  std::vector<std::string> calls;
  for (float x : points)
    calls.push_back("f64(" + name + "(f32(" + literal(x) + ")))");
  const std::vector<double> values = valuesOf(calls);
  ASSERT_EQ(values.size(), points.size());
  for (size_t i = 0; i < points.size(); ++i) {
    const long double wanted = exact(points[i]);
    const auto rounded = static_cast<float>(wanted), value = static_cast<float>(values[i]);
    if (value == rounded || (std::isnan(value) && std::isnan(rounded)))
      continue;
    const float next = std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity());
    EXPECT_LE(std::fabs(value - wanted), 0.51L * (next - std::fabs(rounded)))
        << calls[i] << " = " << values[i];
  }
}
TEST(ElementaryFunctions, exponentialOfF32) {
  const float ends[] = {0.0F, -0.0F, 88.722F, 88.73F, 100, 3e38F, -87.4F, -103.9F, -104, -3e38F};
  std::vector<float> points(std::begin(ends), std::end(ends));
  for (double x : spread(-104, 89, 300) + spread(-1, 1, 200))
    points.push_back(static_cast<float>(x));
  expectSingle("exp", points, [](long double x) { return std::exp(x); });
  EXPECT_EQ(valuesOf({"f64(exp(f32(inf)))", "f64(exp(f32(-inf)))"}),
            (std::vector<double>{infinity, 0}));
  EXPECT_TRUE(std::isnan(valuesOf({"f64(exp(f32(nan)))"})[0]));
}
TEST(ElementaryFunctions, logarithmsOfF32) {
  const float ends[] = {0.0F,  -0.0F,          -1,          1,           1e-45F,     1e-40F,
                        3e38F, 1.1754944e-38F, 0.70710677F, 0.70710683F, 1.4142135F, 1.4142137F};
  std::vector<float> points(std::begin(ends), std::end(ends));
  for (double x : spread(-44, 38, 200))
    points.push_back(static_cast<float>(std::pow(10.0, x)));
  for (double x : spread(0.5, 2, 200) + spread(0.999, 1.001, 100))
    points.push_back(static_cast<float>(x));
  expectSingle("log", points, [](long double x) { return std::log(x); });
  expectSingle("log2", points, [](long double x) { return std::log2(x); });
  expectSingle("log10", points, [](long double x) { return std::log10(x); });
  EXPECT_EQ(valuesOf({"f64(log(f32(inf)))", "f64(log2(f32(8.0)))", "f64(log10(f32(1000.0)))"}),
            (std::vector<double>{infinity, 3, 3}));
  EXPECT_TRUE(std::isnan(valuesOf({"f64(log(f32(nan)))"})[0]));
}

//===--- special values ----------------------------------------------------===//
// Of every function, what C99's Annex F and IEEE 754 say of zeros, infinities, NaN, subnormals and
// the ends of a type's range, beside numbers around them.

std::vector<double> specials(bool isFloat) {
  using F = std::numeric_limits<float>;
  using D = std::numeric_limits<double>;
  std::vector<double> all{0,
                          1,
                          0.5,
                          2,
                          2.5,
                          3,
                          infinity,
                          isFloat ? F::denorm_min() : D::denorm_min(),
                          isFloat ? F::max() : D::max(),
                          isFloat ? F::min() : D::min()};
  const size_t count = all.size();
  for (size_t i = 0; i < count; ++i)
    all.push_back(-all[i]);
  return all + std::vector<double>{D::quiet_NaN()};
}
std::string special(double x, bool isFloat) {
  const std::string text = std::isnan(x)    ? "nan"
                           : !std::isinf(x) ? literal(x)
                           : x < 0          ? "-inf"
                                            : "inf";
  return isFloat ? "f32(" + text + ")" : text;
}
/// The numbers are the same, to some ulp; zeros have the same sign, and NaN is NaN.
void expectSpecial(const std::string &call, double value, long double exact, double bound,
                   bool isFloat) {
  if (isFloat)
    exact = static_cast<float>(exact);
  EXPECT_LE(ulps(value, exact), isFloat ? 0 : bound) << call << " = " << value << ", not " << exact;
  if (!std::isnan(exact)) {
    EXPECT_EQ(std::signbit(value), std::signbit(exact)) << call << " = " << value;
  }
}

struct Unary {
  const char *name;
  long double (*exact)(long double);
  double bound;
  double most = infinity; ///< where its error is stated
};
const Unary unaries[] = {
    {"exp", [](long double x) { return std::exp(x); }, 1},
    {"log", [](long double x) { return std::log(x); }, 1},
    {"log2", [](long double x) { return std::log2(x); }, 1},
    {"log10", [](long double x) { return std::log10(x); }, 1},
    {"sin", [](long double x) { return std::sin(x); }, 1, 0x1p20},
    {"cos", [](long double x) { return std::cos(x); }, 1, 0x1p20},
    {"tan", [](long double x) { return std::tan(x); }, 3, 0x1p20},
    {"tanh", [](long double x) { return std::tanh(x); }, 2},
    {"atan", [](long double x) { return std::atan(x); }, 1},
    {"asin", [](long double x) { return std::asin(x); }, 1},
    {"acos", [](long double x) { return std::acos(x); }, 1},
    {"sqrt", [](long double x) { return std::sqrt(x); }, 0.5},
    {"abs", [](long double x) { return std::fabs(x); }, 0},
    {"floor", [](long double x) { return std::floor(x); }, 0},
    {"ceil", [](long double x) { return std::ceil(x); }, 0},
    {"trunc", [](long double x) { return std::trunc(x); }, 0},
    {"round", [](long double x) { return std::nearbyint(x); }, 0},
    {"round_away", [](long double x) { return std::round(x); }, 0},
};
struct Binary {
  const char *name;
  long double (*exact)(long double, long double);
  double bound;
};
const Binary binaries[] = {
    {"pow", [](long double x, long double y) { return std::pow(x, y); }, 2},
    {"atan2", [](long double y, long double x) { return std::atan2(y, x); }, 1.5},
    {"hypot", [](long double x, long double y) { return std::hypot(x, y); }, 1},
    {"min", [](long double x, long double y) { return scalar::min(x, y); }, 0},
    {"max", [](long double x, long double y) { return scalar::max(x, y); }, 0},
    {"%", [](long double x, long double y) { return std::fmod(x, y); }, 0},
    {"/", [](long double x, long double y) { return x / y; }, 0.5},
};

TEST(ElementaryFunctions, specialValuesOfOne) {
  for (const bool isFloat : {false, true})
    for (const Unary &function : unaries) {
      std::vector<std::string> calls;
      std::vector<double> points;
      for (double x : specials(isFloat))
        if (!(std::fabs(x) > function.most) || std::isinf(x))
          points.push_back(x);
      for (double x : points)
        calls.push_back("f64(" + std::string(function.name) + "(" + special(x, isFloat) + "))");
      const std::vector<double> values = valuesOf(calls);
      ASSERT_EQ(values.size(), points.size());
      for (size_t i = 0; i < points.size(); ++i)
        expectSpecial(calls[i], values[i], function.exact(points[i]), function.bound, isFloat);
    }
}
TEST(ElementaryFunctions, specialValuesOfTwo) {
  for (const bool isFloat : {false, true})
    for (const Binary &function : binaries) {
      std::vector<std::string> calls;
      std::vector<std::pair<double, double>> points;
      const std::string name = function.name;
      for (double x : specials(isFloat))
        for (double y : specials(isFloat)) {
          const std::string a = special(x, isFloat), b = special(y, isFloat);
          points.emplace_back(x, y);
          calls.push_back(name.size() == 1 ? "f64((" + a + ") " + name + " (" + b + "))"
                                           : "f64(" + name + "(" + a + ", " + b + "))");
        }
      const std::vector<double> values = valuesOf(calls);
      ASSERT_EQ(values.size(), points.size());
      for (size_t i = 0; i < points.size(); ++i) {
        const auto [x, y] = points[i];
        const double size = name == "pow" ? std::fabs(y * std::log(std::fabs(x))) : 0;
        expectSpecial(calls[i], values[i], function.exact(x, y),
                      function.bound + (std::isfinite(size) ? 2 * size : 0), isFloat);
      }
    }
}

} // namespace
} // namespace penstock::test
