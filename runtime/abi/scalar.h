// SPDX-License-Identifier: Apache-2.0
//
// Scalar operations: the definition of their results.
//
// The one definition of scalar arithmetic (docs/scalars.md). Constant
// folding and the reference interpreter call these functions; generated code
// for every target computes the same bits, and test/unit/abi/ScalarTest.cpp
// holds the table of cases.
//
// Everything is total: no input traps, and none is undefined.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace penstock::scalar {

template <typename T> constexpr bool isInt = std::is_integral_v<T>;

/// The canonical NaN of a type, which stores write for any NaN.
template <typename T> inline T canonicalNan() {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(uint64_t{0x7FF8000000000000});
  else
    return std::bit_cast<T>(uint32_t{0x7FC00000});
}

// Integers wrap: arithmetic is done on 64 unsigned bits and cut to the type.
template <typename T> constexpr T add(T a, T b) {
  if constexpr (isInt<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <typename T> constexpr T sub(T a, T b) {
  if constexpr (isInt<T>)
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else
    return a - b;
}
template <typename T> constexpr T mul(T a, T b) {
  if constexpr (isInt<T>)
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}

/// Truncating; 0 for a divisor 0; INT_MIN / -1 wraps to INT_MIN. Floats: IEEE 754.
template <typename T> constexpr T div(T a, T b) {
  if constexpr (isInt<T>) {
    if (b == 0)
      return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return sub<T>(0, a);
    return static_cast<T>(a / b);
  } else {
    return a / b;
  }
}

/// The sign of the dividend; 0 for a divisor 0. Floats: exact fmod.
template <typename T> inline T rem(T a, T b) {
  if constexpr (isInt<T>) {
    if (b == 0)
      return 0;
    if constexpr (std::is_signed_v<T>)
      if (b == -1)
        return 0;
    return static_cast<T>(a % b);
  } else {
    return std::fmod(a, b);
  }
}

/// The number when one side is NaN; -0 lies below +0.
template <typename T> inline T min(T a, T b) {
  if constexpr (!isInt<T>) {
    if (a != a)
      return b;
    if (b != b)
      return a;
    if (a == b)
      return std::signbit(a) ? a : b;
  }
  return b < a ? b : a;
}
template <typename T> inline T max(T a, T b) {
  if constexpr (!isInt<T>) {
    if (a != a)
      return b;
    if (b != b)
      return a;
    if (a == b)
      return std::signbit(a) ? b : a;
  }
  return a < b ? b : a;
}

/// The count is masked to the width of the type.
template <typename T> constexpr T shl(T a, T count) {
  constexpr unsigned mask = sizeof(T) * 8 - 1;
  return static_cast<T>(static_cast<uint64_t>(a) << (static_cast<unsigned>(count) & mask));
}
/// Arithmetic for signed types, logical for unsigned ones.
template <typename T> constexpr T shr(T a, T count) {
  constexpr unsigned mask = sizeof(T) * 8 - 1;
  return static_cast<T>(a >> (static_cast<unsigned>(count) & mask));
}

template <typename T> constexpr T neg(T a) {
  if constexpr (isInt<T>)
    return sub<T>(0, a);
  else
    return -a;
}
template <typename T> inline T abs(T a) {
  if constexpr (isInt<T>)
    return a < 0 ? neg(a) : a;
  else
    return std::fabs(a);
}

/// Half to even, independent of the rounding mode in force.
template <typename T> inline T round(T a) {
  const T down = std::floor(a);
  const T diff = a - down;
  T result;
  if (diff < T(0.5))
    result = down;
  else if (diff > T(0.5))
    result = down + T(1);
  else if (diff == T(0.5))
    result = std::fmod(down, T(2)) == T(0) ? down : down + T(1);
  else
    return a; // NaN and infinities
  return std::copysign(result, a);
}
/// Half away from zero.
template <typename T> inline T roundAway(T a) { return std::round(a); }

/// Integer to integer: keeps the low bits.
template <typename To, typename From> constexpr To wrap(From a) {
  return static_cast<To>(static_cast<uint64_t>(static_cast<int64_t>(a)));
}

/// Integer to integer: saturates.
template <typename To, typename From> constexpr To saturate(From a) {
  const int64_t value = static_cast<int64_t>(a);
  constexpr int64_t low = static_cast<int64_t>(std::numeric_limits<To>::min());
  constexpr int64_t high = static_cast<int64_t>(std::numeric_limits<To>::max());
  return static_cast<To>(value < low ? low : value > high ? high : value);
}

/// Float to integer: truncates, saturates, NaN gives 0.
template <typename To, typename From> inline To floatToInt(From a) {
  static_assert(sizeof(To) <= 8 && isInt<To>);
  if (a != a)
    return 0;
  const double value = std::trunc(static_cast<double>(a));
  // The largest double that fits: 2^63 itself does not.
  if (value <= static_cast<double>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  if (value >= static_cast<double>(std::numeric_limits<To>::max()))
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

//===--- storage types -----------------------------------------------------===//
// f16 and bf16 have no arithmetic: a load widens to f32, a store rounds once.

/// f32 to IEEE half, one rounding to nearest even; subnormals are kept, NaN is
/// canonical (0x7E00).
inline uint16_t toHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u)
    return 0x7E00;
  if (magnitude >= 0x47800000u) // 65536 and above; 65520 rounds up below
    return static_cast<uint16_t>(sign | 0x7C00u);
  if (magnitude < 0x38800000u) { // below the smallest normal half
    if (magnitude < 0x33000000u)
      return static_cast<uint16_t>(sign);
    const uint32_t shift = 126u - (magnitude >> 23); // 14 .. 24
    const uint32_t mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
    uint32_t result = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1u);
    const uint32_t half = 1u << (shift - 1u);
    if (rest > half || (rest == half && (result & 1u)))
      ++result;
    return static_cast<uint16_t>(sign | result);
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

/// IEEE half to f32, exact; NaN becomes the canonical one.
inline float fromHalf(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  const uint32_t mantissa = half & 0x3FFu;
  if (exponent == 31u)
    return mantissa ? canonicalNan<float>() : std::bit_cast<float>(sign | 0x7F800000u);
  if (exponent == 0u) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

/// f32 to bfloat16 by integer operations, one rounding to nearest even; no
/// subnormal is flushed, NaN is canonical (0x7FC0).
inline uint16_t toBfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
    return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}
inline float fromBfloat(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

// A number of more than 24 bits goes to a storage type in two steps and rounds
// once: first to odd (the last bit remembers whether anything was cut off),
// which keeps it on the right side of every tie of the second step.

/// f64 to f32, rounded to odd.
inline float oddFloat(double value) {
  const float nearest = static_cast<float>(value);
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (nearest != nearest || static_cast<double>(nearest) == value || (bits & 1u))
    return nearest;
  const bool above = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  return std::bit_cast<float>(above ? bits - 1u : bits + 1u);
}

/// i64 to f64, rounded to odd.
inline double oddDouble(int64_t value) {
  const uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int excess = static_cast<int>(std::bit_width(magnitude)) - 53;
  if (excess <= 0)
    return static_cast<double>(value);
  const uint64_t cut = (uint64_t{1} << excess) - 1;
  const uint64_t kept = (magnitude & ~cut) | ((magnitude & cut) ? cut + 1 : 0);
  const double result = static_cast<double>(kept);
  return value < 0 ? -result : result;
}

/// f64 to a storage type, one rounding to nearest even.
inline uint16_t toHalf(double value) { return toHalf(oddFloat(value)); }
inline uint16_t toBfloat(double value) { return toBfloat(oddFloat(value)); }

//===--- sines -------------------------------------------------------------===//

/// The sine (or, with `turn` 1, the cosine) of an angle in radians, |x| <= 2^20:
/// `sin` and `cos` of stdlib/prelude.pipe in its order of operations. The
/// weights of resampling filters need it where no prelude is.
inline double sine(double x, int64_t turn = 0) {
  if (x == 0 && turn == 0)
    return x;
  const double k = round(x * 6.36619772367581382433e-01);
  const double r1 = x - k * 1.57079632673412561417e+00, w1 = k * 6.07710050630396597660e-11;
  const double r2 = r1 - w1, w2 = (r1 - r2) - w1, w3 = k * 2.02226624871116645580e-21;
  const double r3 = r2 - w3, b = r3 - r2, lost = (r2 - (r3 - b)) - (w3 + b);
  const double rest = (w2 + lost) - k * 8.47842766036889956997e-32;
  const double y = r3 + rest, low = (r3 - y) + rest, z = y * y;
  const int64_t q = (static_cast<int64_t>(k) + turn) & 3;
  double result;
  if (q % 2 == 0) {
    const double v = z * y;
    const double r = 8.33333333332248946124e-03 +
                     z * (-1.98412698298579493134e-04 +
                          z * (2.75573137070700676789e-06 +
                               z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
    result = y - ((z * (0.5 * low - v * r) - low) - v * -1.66666666666666324348e-01);
  } else {
    const double r =
        z * (4.16666666666666019037e-02 +
             z * (-1.38888888888741095749e-03 +
                  z * (2.48015872894767294178e-05 +
                       z * (-2.75573143513906633035e-07 +
                            z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    const double half = 0.5 * z, w = 1.0 - half;
    result = w + (((1.0 - w) - half) + (z * r - y * low));
  }
  return q < 2 ? result : -result;
}

//===--- constants ---------------------------------------------------------===//

/// Lanes of interleaved partial sums of a float reduction.
inline constexpr int reductionLanes = 32;
/// Fraction bits of `pillow` resampling weights.
inline constexpr int weightBits = 22;
/// Slack by which the ends of a resampling window are rounded, per input element (and one more): 16
/// units in the last place of the four sums that make them.
inline constexpr double tapSlack = 0x1p-49;

} // namespace penstock::scalar
