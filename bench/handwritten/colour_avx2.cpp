// SPDX-License-Identifier: Apache-2.0
//
// Colour on AVX2: eight pixels at a time, channels in lanes of 32 bits. Without
// a table in registers, brightness and contrast are computed in f32, as Pillow
// does, and brightness again in the second pass rather than stored.
#include "bench/handwritten/colour.h"

#include <cstring>
#include <immintrin.h>

namespace penstock::bench {
namespace {

struct Pixels {
  __m256 red, green, blue; // whole numbers 0 .. 255
};

inline __m256 truncate(__m256 value) {
  return _mm256_round_ps(value, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

/// Factors up to 1 cannot leave 0 .. 255.
template <bool Clamp> inline __m256 limit(__m256 value) {
  if constexpr (Clamp)
    return truncate(
        _mm256_min_ps(_mm256_max_ps(value, _mm256_setzero_ps()), _mm256_set1_ps(255.0f)));
  return truncate(value);
}

inline __m256 channelOf(__m256i bytes, int channel) {
  const __m256i first = _mm256_setr_epi32(0, 3, 6, 9, 0, 3, 6, 9);
  const __m256i clear = _mm256_set1_epi32(int(0x80808000));
  const __m256i shuffle =
      _mm256_or_si256(_mm256_add_epi32(first, _mm256_set1_epi32(channel)), clear);
  return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, shuffle));
}

/// Twelve bytes per half, from two windows of sixteen.
inline __m256i bytesOf(const uint8_t *first, const uint8_t *second) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i *>(first))),
      _mm_loadu_si128(reinterpret_cast<const __m128i *>(second)), 1);
}

/// Brightness blends with black, so that 0 + factor * value needs no addition.
template <bool Clamp> inline Pixels brighten(__m256i bytes, __m256 factor) {
  const auto one = [&](int channel) {
    __m256 value = _mm256_mul_ps(factor, channelOf(bytes, channel));
    if constexpr (Clamp)
      value = _mm256_min_ps(value, _mm256_set1_ps(255.0f));
    return truncate(value);
  };
  return {one(0), one(1), one(2)};
}

/// Exact in f32: all sums are whole numbers below 2^24.
inline __m256 lumaOf(const Pixels &pixels) {
  __m256 sum = _mm256_fmadd_ps(pixels.red, _mm256_set1_ps(19595), _mm256_set1_ps(0x8000));
  sum = _mm256_fmadd_ps(pixels.green, _mm256_set1_ps(38470), sum);
  sum = _mm256_fmadd_ps(pixels.blue, _mm256_set1_ps(7471), sum);
  return truncate(_mm256_mul_ps(sum, _mm256_set1_ps(1.0f / 65536)));
}

template <bool Clamp> inline __m256 blendTo(__m256 from, __m256 to, __m256 factor) {
  return limit<Clamp>(_mm256_add_ps(from, _mm256_mul_ps(factor, _mm256_sub_ps(to, from))));
}

inline void put(__m256 value, int channel, uint16_t *out) {
  const __m256 result = _mm256_fmadd_ps(value, _mm256_set1_ps(kImagenet.scale[channel]),
                                        _mm256_set1_ps(kImagenet.offset[channel]));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(out + channel * kPixels),
                   _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
}

/// The last window would end four bytes behind the image.
inline __m256i pixelsAt(const uint8_t *image, int pixel) {
  const uint8_t *at = image + 3 * pixel;
  if (pixel + 8 < kPixels)
    return bytesOf(at, at + 12);
  uint8_t tail[32] = {};
  std::memcpy(tail, at, 24);
  return bytesOf(tail, tail + 12);
}

template <bool Clamp> uint64_t lumaSum(const uint8_t *image, float brightness) {
  const __m256 factor = _mm256_set1_ps(brightness);
  __m256i sums = _mm256_setzero_si256();
  for (int pixel = 0; pixel < kPixels; pixel += 8) {
    const __m256 gray = lumaOf(brighten<Clamp>(pixelsAt(image, pixel), factor));
    sums = _mm256_add_epi32(sums, _mm256_cvttps_epi32(gray));
  }
  alignas(32) uint32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i *>(lanes), sums);
  uint64_t sum = 0;
  for (uint32_t lane : lanes)
    sum += lane;
  return sum;
}

template <bool Clamp>
void finish(const uint8_t *image, int mean, float brightness, float contrast, float saturation,
            uint16_t *out) {
  const __m256 bright = _mm256_set1_ps(brightness), steep = _mm256_set1_ps(contrast);
  const __m256 vivid = _mm256_set1_ps(saturation), centre = _mm256_set1_ps(float(mean));
  for (int pixel = 0; pixel < kPixels; pixel += 8, out += 8) {
    Pixels pixels = brighten<Clamp>(pixelsAt(image, pixel), bright);
    pixels.red = blendTo<Clamp>(centre, pixels.red, steep);
    pixels.green = blendTo<Clamp>(centre, pixels.green, steep);
    pixels.blue = blendTo<Clamp>(centre, pixels.blue, steep);
    const __m256 gray = lumaOf(pixels);
    put(blendTo<Clamp>(gray, pixels.red, vivid), 0, out);
    put(blendTo<Clamp>(gray, pixels.green, vivid), 1, out);
    put(blendTo<Clamp>(gray, pixels.blue, vivid), 2, out);
  }
}

} // namespace

void colourAvx2(const uint8_t *image, float brightness, float contrast, float saturation,
                uint16_t *out) {
  const bool clampBright = brightness > 1.0f;
  const int mean = roundedMean(clampBright ? lumaSum<true>(image, brightness)
                                           : lumaSum<false>(image, brightness));
  if (clampBright || contrast > 1.0f || saturation > 1.0f)
    finish<true>(image, mean, brightness, contrast, saturation, out);
  else
    finish<false>(image, mean, brightness, contrast, saturation, out);
}

} // namespace penstock::bench
