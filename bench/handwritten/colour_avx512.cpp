// SPDX-License-Identifier: Apache-2.0
//
// Colour on AVX-512 with VBMI and VNNI.
//
// Brightness, and brightness followed by contrast, map a byte to a byte: two
// tables of 256 bytes per image, looked up 64 bytes at a time in registers. The
// L of a pixel is a dot product of bytes: green is taken twice with half its
// weight, so that all digits fit into a signed byte. Only saturation needs
// arithmetic in f32.
#include "bench/handwritten/colour.h"

#include <immintrin.h>

namespace penstock::bench {
namespace {

struct Table {
  __m512i part[4];

  explicit Table(const uint8_t (&bytes)[256]) {
    for (int each = 0; each < 4; ++each)
      part[each] = _mm512_loadu_si512(bytes + 64 * each);
  }
  __m512i operator()(__m512i index) const {
    const __m512i low = _mm512_permutex2var_epi8(part[0], index, part[1]);
    const __m512i high = _mm512_permutex2var_epi8(part[2], index, part[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
  }
};

/// Sixteen pixels as lanes of bytes R G G B.
inline __m512i quads(const uint8_t *at, __mmask64 mask, __m512i shuffle) {
  return _mm512_permutexvar_epi8(shuffle, _mm512_maskz_loadu_epi8(mask, at));
}

inline __m512i shuffleOf() {
  const __m512i pixel =
      _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45);
  const __m512i all =
      _mm512_or_si512(_mm512_or_si512(pixel, _mm512_slli_epi32(pixel, 8)),
                      _mm512_or_si512(_mm512_slli_epi32(pixel, 16), _mm512_slli_epi32(pixel, 24)));
  return _mm512_add_epi8(all, _mm512_set1_epi32(0x02010100));
}

constexpr uint32_t quadOf(int red, int green, int blue) {
  return uint32_t(uint8_t(red)) | uint32_t(uint8_t(green)) << 8 | uint32_t(uint8_t(green)) << 16 |
         uint32_t(uint8_t(blue)) << 24;
}

/// 19595 = 77 * 256 - 117, 38470 / 2 = 75 * 256 + 35, 7471 = 29 * 256 + 47.
inline __m512i luma(__m512i quad) {
  const __m512i high = _mm512_set1_epi32(int(quadOf(77, 75, 29)));
  const __m512i low = _mm512_set1_epi32(int(quadOf(-117, 35, 47)));
  const __m512i sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(0x80), quad, high);
  return _mm512_srli_epi32(_mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), quad, low), 16);
}

uint64_t lumaSum(const uint8_t *image, const Table &table, __mmask64 mask) {
  const __m512i shuffle = shuffleOf();
  __m512i first = _mm512_setzero_si512(), second = first;
  for (int pixel = 0; pixel < kPixels; pixel += 32) {
    first = _mm512_add_epi32(first, luma(table(quads(image + 3 * pixel, mask, shuffle))));
    second = _mm512_add_epi32(second, luma(table(quads(image + 3 * pixel + 48, mask, shuffle))));
  }
  // 50,176 values of at most 255 fit into 32 bits.
  return uint32_t(_mm512_reduce_add_epi32(_mm512_add_epi32(first, second)));
}

template <bool Clamp>
inline void saturate(__m512i value, __m512i gray, __m512 grayF, __m512 factor, int channel,
                     uint16_t *out) {
  const __m512 difference = _mm512_cvtepi32_ps(_mm512_sub_epi32(value, gray));
  __m512 result = _mm512_add_ps(grayF, _mm512_mul_ps(factor, difference));
  if constexpr (Clamp)
    result = _mm512_min_ps(_mm512_max_ps(result, _mm512_setzero_ps()), _mm512_set1_ps(255.0f));
  result = _mm512_roundscale_ps(result, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  result = _mm512_fmadd_ps(result, _mm512_set1_ps(kImagenet.scale[channel]),
                           _mm512_set1_ps(kImagenet.offset[channel]));
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(out + channel * kPixels),
                      _mm512_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
}

template <bool Clamp>
void finish(const uint8_t *image, const Table &table, float saturation, __mmask64 mask,
            uint16_t *out) {
  const __m512i shuffle = shuffleOf();
  const __m512i byte = _mm512_set1_epi32(255);
  const __m512 factor = _mm512_set1_ps(saturation);
  for (int pixel = 0; pixel < kPixels; pixel += 16, out += 16) {
    const __m512i quad = table(quads(image + 3 * pixel, mask, shuffle));
    const __m512i gray = luma(quad);
    const __m512 grayF = _mm512_cvtepi32_ps(gray);
    saturate<Clamp>(_mm512_and_si512(quad, byte), gray, grayF, factor, 0, out);
    saturate<Clamp>(_mm512_and_si512(_mm512_srli_epi32(quad, 8), byte), gray, grayF, factor, 1,
                    out);
    saturate<Clamp>(_mm512_srli_epi32(quad, 24), gray, grayF, factor, 2, out);
  }
}

} // namespace

void colourAvx512(const uint8_t *image, float brightness, float contrast, float saturation,
                  uint16_t *out) {
  constexpr __mmask64 first48 = (__mmask64(1) << 48) - 1;
  uint8_t bright[256], both[256];
  for (int value = 0; value < 256; ++value)
    bright[value] = blend(0, value, brightness);
  const int centre = roundedMean(lumaSum(image, Table(bright), first48));
  uint8_t contrasted[256];
  for (int value = 0; value < 256; ++value)
    contrasted[value] = blend(centre, value, contrast);
  for (int value = 0; value < 256; ++value)
    both[value] = contrasted[bright[value]];
  if (saturation <= 1.0f)
    finish<false>(image, Table(both), saturation, first48, out);
  else
    finish<true>(image, Table(both), saturation, first48, out);
}

} // namespace penstock::bench
