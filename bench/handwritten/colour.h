// SPDX-License-Identifier: Apache-2.0
//
// The parts that the three forms of the colour chain share.
#pragma once

#include "bench/handwritten/half.h"
#include "bench/handwritten/plan.h"

namespace penstock::bench {

inline constexpr int kPixels = kSide * kSide;

/// Pillow's ImagingBlend of one value: truncates, and clamps when extrapolating.
inline uint8_t blend(int from, int to, float factor) {
  if (factor == 0.0f)
    return uint8_t(from);
  if (factor == 1.0f)
    return uint8_t(to);
  const float value = float(from) + factor * float(to - from);
  if (factor >= 0.0f && factor <= 1.0f)
    return uint8_t(value);
  return value <= 0.0f ? 0 : value >= 255.0f ? 255 : uint8_t(value);
}

/// Pillow's conversion to L.
inline int luma(int red, int green, int blue) {
  return (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16;
}

/// ImageEnhance.Contrast's mean: int(mean + 0.5) in f64.
inline int roundedMean(uint64_t sum) { return int(double(sum) / kPixels + 0.5); }

void colourScalar(const uint8_t *image, float brightness, float contrast, float saturation,
                  uint16_t *out);
void colourAvx2(const uint8_t *image, float brightness, float contrast, float saturation,
                uint16_t *out);
void colourAvx512(const uint8_t *image, float brightness, float contrast, float saturation,
                  uint16_t *out);

} // namespace penstock::bench
