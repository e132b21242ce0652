// SPDX-License-Identifier: Apache-2.0
//
// The parts that the three forms of the cifar chain share.
#pragma once

#include "bench/handwritten/handwritten.h"

namespace penstock::bench {

inline constexpr int kCifar = 32;
inline constexpr int kPad = 4;
inline constexpr int kCifarBytes = kCifar * kCifar * 3;
inline constexpr float kCifarMean[3] = {0.4914f, 0.4822f, 0.4465f};
inline constexpr float kCifarDeviation[3] = {0.2470f, 0.2435f, 0.2616f};

/// Reciprocals in two parts. fma(x, high, x * low) equals the rounded quotient
/// for every value that occurs here; check.py tries all of them.
struct Reciprocal {
  float high, low;
};
constexpr Reciprocal reciprocal(float of) {
  const float high = float(1.0 / double(of));
  return {high, float(1.0 / double(of) - double(high))};
}

void cifarScalar(const uint8_t *images, const int64_t *rows, const hw_cifar_draw *draws,
                 size_t count, float *out);
void cifarAvx2(const uint8_t *images, const int64_t *rows, const hw_cifar_draw *draws, size_t count,
               bool streaming, float *out);
void cifarAvx512(const uint8_t *images, const int64_t *rows, const hw_cifar_draw *draws,
                 size_t count, bool streaming, float *out);

} // namespace penstock::bench
