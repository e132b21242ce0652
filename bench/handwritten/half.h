// SPDX-License-Identifier: Apache-2.0
//
// Scalar helpers of the reference forms.
#pragma once

#include <bit>
#include <cstdint>

namespace penstock::bench {

inline uint8_t clampByte(int32_t value) {
  return uint8_t(value < 0 ? 0 : value > 255 ? 255 : value);
}

/// Rounds a finite f32 to the nearest f16, ties to even.
inline uint16_t toHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude >= 0x47800000)
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // subnormal: adding 0.5 aligns the last bit
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | uint16_t(std::bit_cast<uint32_t>(aligned) - 0x3f000000);
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return sign | uint16_t((rounded - 0x38000000) >> 13);
}

} // namespace penstock::bench
