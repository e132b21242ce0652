// SPDX-License-Identifier: Apache-2.0
//
// Resize on AVX2.
//
// A weight of 22 bits is split into 12 + 11 bits, so that vpmaddwd takes two
// taps of eight outputs. All eight lanes are outputs (R G B R | G B R G ...):
// each half has its own window of 16 bytes and its own shuffle, which also holds
// flip, edges and the order that two rounds of packing want. Two source rows
// share each load of the tables; results are not clamped, see imagenet_avx512.
#include "bench/handwritten/plan.h"

#include <algorithm>
#include <immintrin.h>

namespace penstock::bench {
namespace {

inline __m256i combine(__m256i high, __m256i low) {
  return _mm256_srli_epi32(_mm256_add_epi32(_mm256_slli_epi32(high, 11), low), kPrecision);
}

inline __m256i pack4(const __m256i (&lanes)[4]) {
  return _mm256_packus_epi16(_mm256_packus_epi32(lanes[0], lanes[1]),
                             _mm256_packus_epi32(lanes[2], lanes[3]));
}

inline __m256i load(const void *at) { return _mm256_load_si256(static_cast<const __m256i *>(at)); }

inline __m256i window(const uint8_t *row, const int32_t *bases) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(row + bases[0]))),
      _mm_loadu_si128(reinterpret_cast<const __m128i *>(row + bases[1])), 1);
}

template <int Pairs>
void horizontal(const hw_imagenet_plan &plan, const uint8_t *row0, const uint8_t *row1,
                uint8_t *out0, uint8_t *out1) {
  const int pairs = Pairs > 3 ? plan.pairs : Pairs;
  const Group256 *group = plan.groups256.data();
  const int32_t *bases = plan.bases256.data();
  const __m256i rounding = _mm256_set1_epi32(1 << (kPrecision - 1));
  for (int at = 0; at < kRowBytes; at += 32) {
    __m256i lanes0[4], lanes1[4];
    for (int part = 0; part < 4; ++part) {
      __m256i high0 = _mm256_setzero_si256(), high1 = high0, low0 = rounding, low1 = rounding;
      for (int pair = 0; pair < pairs; ++pair, ++group, bases += 2) {
        const __m256i shuffle = load(group->shuffle), high = load(group->high),
                      low = load(group->low);
        const __m256i taps0 = _mm256_shuffle_epi8(window(row0, bases), shuffle);
        const __m256i taps1 = _mm256_shuffle_epi8(window(row1, bases), shuffle);
        high0 = _mm256_add_epi32(high0, _mm256_madd_epi16(taps0, high));
        high1 = _mm256_add_epi32(high1, _mm256_madd_epi16(taps1, high));
        low0 = _mm256_add_epi32(low0, _mm256_madd_epi16(taps0, low));
        low1 = _mm256_add_epi32(low1, _mm256_madd_epi16(taps1, low));
      }
      lanes0[part] = combine(high0, low0);
      lanes1[part] = combine(high1, low1);
    }
    _mm256_store_si256(reinterpret_cast<__m256i *>(out0 + at), pack4(lanes0));
    _mm256_store_si256(reinterpret_cast<__m256i *>(out1 + at), pack4(lanes1));
  }
}

using Horizontal = void (*)(const hw_imagenet_plan &, const uint8_t *, const uint8_t *, uint8_t *,
                            uint8_t *);

Horizontal chooseHorizontal(int pairs) {
  return pairs == 1   ? horizontal<1>
         : pairs == 2 ? horizontal<2>
         : pairs == 3 ? horizontal<3>
                      : horizontal<4>;
}

template <int Pairs>
void vertical(const uint8_t *const *rows, const uint32_t *weights, int pairCount, uint8_t *out) {
  const int pairs = Pairs > 3 ? pairCount : Pairs;
  const __m256i zero = _mm256_setzero_si256();
  const __m256i rounding = _mm256_set1_epi32(1 << (kPrecision - 1));
  for (int at = 0; at < kRowBytes; at += 32) {
    __m256i high[4], low[4], lanes[4];
    for (int part = 0; part < 4; ++part) {
      high[part] = zero;
      low[part] = rounding;
    }
    for (int pair = 0; pair < pairs; ++pair) {
      const __m256i first = load(rows[2 * pair] + at), second = load(rows[2 * pair + 1] + at);
      const __m256i below = _mm256_unpacklo_epi8(first, second),
                    above = _mm256_unpackhi_epi8(first, second);
      const __m256i taps[4] = {_mm256_unpacklo_epi8(below, zero), _mm256_unpackhi_epi8(below, zero),
                               _mm256_unpacklo_epi8(above, zero),
                               _mm256_unpackhi_epi8(above, zero)};
      const __m256i highWeight = _mm256_set1_epi32(int(weights[2 * pair]));
      const __m256i lowWeight = _mm256_set1_epi32(int(weights[2 * pair + 1]));
      for (int part = 0; part < 4; ++part) {
        high[part] = _mm256_add_epi32(high[part], _mm256_madd_epi16(taps[part], highWeight));
        low[part] = _mm256_add_epi32(low[part], _mm256_madd_epi16(taps[part], lowWeight));
      }
    }
    for (int part = 0; part < 4; ++part)
      lanes[part] = combine(high[part], low[part]);
    _mm256_store_si256(reinterpret_cast<__m256i *>(out + at), pack4(lanes));
  }
}

using Vertical = void (*)(const uint8_t *const *, const uint32_t *, int, uint8_t *);

Vertical chooseVertical(int pairs) {
  return pairs == 1   ? vertical<1>
         : pairs == 2 ? vertical<2>
         : pairs == 3 ? vertical<3>
                      : vertical<4>;
}

/// 672 interleaved bytes to one row of each plane, eight columns at a time: a
/// shuffle per half both takes a channel out and widens it.
void store(const uint8_t *row, uint16_t *out) {
  const __m256i first = _mm256_setr_epi32(0, 3, 6, 9, 0, 3, 6, 9);
  const __m256i clear = _mm256_set1_epi32(int(0x80808000));
  for (int column = 0; column < kSide; column += 8) {
    const int32_t bases[2] = {3 * column, 3 * column + 12};
    const __m256i bytes = window(row, bases);
    for (int channel = 0; channel < 3; ++channel) {
      const __m256i shuffle =
          _mm256_or_si256(_mm256_add_epi32(first, _mm256_set1_epi32(channel)), clear);
      const __m256 values = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, shuffle));
      const __m256 result = _mm256_fmadd_ps(values, _mm256_set1_ps(kImagenet.scale[channel]),
                                            _mm256_set1_ps(kImagenet.offset[channel]));
      _mm_storeu_si128(reinterpret_cast<__m128i *>(out + channel * kSide * kSide + column),
                       _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
    }
  }
}

} // namespace

void imagenetAvx2(const hw_imagenet_plan &plan, const uint8_t *image, ptrdiff_t stride,
                  uint16_t *out) {
  constexpr int ringRows = 64;
  alignas(32) uint8_t ring[ringRows][kPaddedRow];
  alignas(32) uint8_t result[kPaddedRow];
  const Horizontal horizontalPass = chooseHorizontal(plan.pairs);
  const Vertical verticalPass = chooseVertical(plan.rowPairs);
  const int pairs = plan.rowPairs;
  const int end = plan.rows.taps[kSide - 1].first + plan.rows.taps[kSide - 1].count;
  int done = plan.rows.taps[0].first;
  for (int row = 0; row < kSide; ++row) {
    const Taps &taps = plan.rows.taps[row];
    done = std::max(done, taps.first);
    for (; done < taps.first + taps.count; done += 2) {
      const int second = std::min(done + 1, end - 1);
      horizontalPass(plan, image + done * stride, image + second * stride, ring[done % ringRows],
                     ring[second % ringRows]);
    }
    const uint8_t *rows[ringRows];
    for (int each = 0; each < 2 * pairs; ++each)
      rows[each] = ring[(taps.first + std::min(each, taps.count - 1)) % ringRows];
    verticalPass(rows, &plan.rowWeights[size_t(row) * pairs * 2], pairs, result);
    store(result, out + row * kSide);
  }
}

} // namespace penstock::bench
