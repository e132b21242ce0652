// SPDX-License-Identifier: Apache-2.0
//
// Setup of the imagenet chain: Pillow's weights, and for each
// instruction set tables in the order in which its kernel reads them.
#pragma once

#include "bench/handwritten/handwritten.h"

#include <vector>

namespace penstock::bench {

inline constexpr int kSide = 224;
inline constexpr int kRowBytes = kSide * 3;
inline constexpr int kPaddedRow = 704; // 11 x 64
inline constexpr int kPrecision = 22;  // bits of Pillow's weights

/// One output position: taps first .. first + count of the whole axis (not of
/// the box), whose weights start at `weights`. Zero weights at both ends are cut.
struct Taps {
  int first, count, weights;
};

struct Axis {
  std::vector<Taps> taps; // 224
  std::vector<int32_t> weights;
  int maxCount = 0;

  /// Pillow's precompute_coeffs and normalize_coeffs_8bpc for the triangle.
  void set(int start, int extent);
};

/// 16 outputs of one row: one window of the source, a byte shuffle that brings
/// four taps of each output together, and the weights as three signed digits of
/// base 256.
struct alignas(64) Group512 {
  uint8_t shuffle[64];
  int8_t digit[3][64];
};

/// 8 outputs of one row: per half a window of 16 bytes, a shuffle that spreads
/// two taps of four outputs to i16, and the weights split 11 bits from the right.
struct alignas(32) Group256 {
  uint8_t shuffle[32];
  int16_t high[16], low[16];
};

struct Constants {
  float scale[3], offset[3]; // v * scale + offset, fused, rounds to the right f16
};
extern const Constants kImagenet;

} // namespace penstock::bench

struct hw_imagenet_plan {
  int width, height;
  hw_box box;
  int flip;
  penstock::bench::Axis columns, rows;

  // AVX-512: `chunks` of four taps; 44 groups each.
  int chunks = 0;
  bool wide = false; // windows of 128 bytes instead of 64
  std::vector<penstock::bench::Group512> groups512;
  std::vector<int32_t> bases512;
  std::vector<uint32_t> rowDigits; // per output row and quad: three quads of digits
  int rowQuads = 0;

  // AVX2: `pairs` of taps; 84 groups of two halves each.
  int pairs = 0;
  std::vector<penstock::bench::Group256> groups256;
  std::vector<int32_t> bases256;
  std::vector<uint32_t> rowWeights; // per output row and pair: high, low
  int rowPairs = 0;
};

namespace penstock::bench {

void imagenetScalar(const hw_imagenet_plan &plan, const uint8_t *image, ptrdiff_t stride,
                    uint16_t *out);
void imagenetAvx2(const hw_imagenet_plan &plan, const uint8_t *image, ptrdiff_t stride,
                  uint16_t *out);
void imagenetAvx512(const hw_imagenet_plan &plan, const uint8_t *image, ptrdiff_t stride,
                    uint16_t *out);

} // namespace penstock::bench
