// SPDX-License-Identifier: Apache-2.0
//
// When a product is a quotient.
//
// With x = X 2^i, c = C 2^j for integers X and C of 24 bits, a quotient in halves of
// its last place is X 2^k / C, where k is 24 if X >= C and 25 otherwise. A middle of
// two floats is an integer M there, and a quotient is r / C away from it, for the
// integer r = X 2^k - C M; r is not 0 for an odd M, since 2^k would divide C. The
// product's error before its last rounding is below 2^-21: `low` is at most a unit in
// the last place of `high`, and both it and its product are off by half a unit of
// their own. So only quotients with |r| < 2^24 * 2^-21 = 8 can round otherwise, and
// those have X = r / 2^k modulo C.
#include "compiler/Conversion/KernelToLoops/Vector/Reciprocal.h"
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

using namespace penstock::conversion;

Reciprocal::Reciprocal(float c) {
  const double wide = static_cast<double>(c);
  high = static_cast<float>(1 / wide);
  // Products of two floats are exact in f64.
  if (static_cast<double>(high) * wide > 1)
    high = std::nextafter(high, 0.0f);
  low = static_cast<float>((1 - static_cast<double>(high) * wide) / wide);
}

float Reciprocal::divide(float x) const { return std::fma(x, high, x * low); }

namespace {
constexpr int64_t smallest = 1 << 23, end = 1 << 24; // significands

/// Halved `count` times modulo an odd number.
int64_t halved(int64_t value, int count, int64_t odd) {
  for (int i = 0; i < count; ++i)
    value = (value & 1 ? value + odd : value) / 2;
  return value;
}
} // namespace

bool penstock::conversion::dividesExactly(float c) {
  const float magnitude = std::abs(c);
  if (!(magnitude >= 0x1p-30f && magnitude <= 0x1p30f))
    return false;
  const Reciprocal reciprocal(magnitude);
  if (reciprocal.low == 0)
    return true;
  int exponent = 0;
  const auto significand = static_cast<int64_t>(std::ldexp(std::frexp(magnitude, &exponent), 24));
  const int twos = std::countr_zero(static_cast<uint64_t>(significand));
  const int64_t odd = significand >> twos;
  constexpr int64_t near = 8;
  for (int shift : {24, 25})
    for (int64_t r = -near; r <= near; ++r) {
      if (r % (int64_t{1} << twos) != 0)
        continue;
      const int64_t rest = ((r >> twos) % odd + odd) % odd;
      int64_t x = halved(rest, shift - twos, odd);
      for (x += (smallest - x + odd - 1) / odd * odd; x < end; x += odd) {
        const auto real = static_cast<float>(x);
        if (reciprocal.divide(real) != real / magnitude)
          return false;
      }
    }
  return true;
}
