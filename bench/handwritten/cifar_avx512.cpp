// SPDX-License-Identifier: Apache-2.0
//
// CIFAR on AVX-512: sixteen columns are 48 bytes. A masked load brings zeros
// where the crop leaves the image (and touches nothing there), one byte shuffle
// per channel takes it out, widens it and flips it, five operations give the
// exact quotients.
#include "bench/handwritten/cifar.h"

#include <immintrin.h>

namespace penstock::bench {
namespace {

template <int Channel> inline __m512 normalise(__m512i bytes, __m512i shuffle) {
  constexpr Reciprocal unit = reciprocal(255.0f), scale = reciprocal(kCifarDeviation[Channel]);
  constexpr __mmask64 lowByte = 0x1111111111111111;
  const __m512 value = _mm512_cvtepi32_ps(_mm512_maskz_permutexvar_epi8(
      lowByte, _mm512_add_epi32(shuffle, _mm512_set1_epi32(Channel)), bytes));
  const __m512 quotient = _mm512_fmadd_ps(value, _mm512_set1_ps(unit.high),
                                          _mm512_mul_ps(value, _mm512_set1_ps(unit.low)));
  const __m512 centred = _mm512_sub_ps(quotient, _mm512_set1_ps(kCifarMean[Channel]));
  return _mm512_fmadd_ps(centred, _mm512_set1_ps(scale.high),
                         _mm512_mul_ps(centred, _mm512_set1_ps(scale.low)));
}

template <bool Streaming> inline void put(float *at, __m512 value) {
  if constexpr (Streaming)
    _mm512_stream_ps(at, value);
  else
    _mm512_storeu_ps(at, value);
}

/// Bytes of the 48 at `from` (relative to the row) that lie within the row.
inline __mmask64 inside(int from) {
  uint64_t mask = (uint64_t(1) << 48) - 1;
  if (from < 0)
    mask &= ~uint64_t(0) << -from;
  if (from + 48 > kCifar * 3)
    mask &= (uint64_t(1) << (kCifar * 3 - from)) - 1;
  return mask;
}

template <bool Streaming> void one(const uint8_t *image, hw_cifar_draw draw, float *out) {
  constexpr int plane = kCifar * kCifar;
  const __m512i forward =
      _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45);
  const __m512i shuffle = draw.flip ? _mm512_sub_epi32(_mm512_set1_epi32(45), forward) : forward;
  const int start = (draw.dx - kPad) * 3;
  const int from[2] = {draw.flip ? start + 48 : start, draw.flip ? start : start + 48};
  const __mmask64 mask[2] = {inside(from[0]), inside(from[1])};
  for (int row = 0; row < kCifar; ++row, out += kCifar) {
    const int y = row + draw.dy - kPad;
    // Rows outside the image load nothing at all.
    const bool real = y >= 0 && y < kCifar;
    const uint8_t *source = image + (real ? y : 0) * kCifar * 3;
    // One plane after the other: streaming stores want successive lines (alternating
    // between planes after each line takes 2.4 times as long on Zen 4).
    const __m512i left = _mm512_maskz_loadu_epi8(real ? mask[0] : 0, source + from[0]);
    const __m512i right = _mm512_maskz_loadu_epi8(real ? mask[1] : 0, source + from[1]);
    put<Streaming>(out, normalise<0>(left, shuffle));
    put<Streaming>(out + 16, normalise<0>(right, shuffle));
    put<Streaming>(out + plane, normalise<1>(left, shuffle));
    put<Streaming>(out + plane + 16, normalise<1>(right, shuffle));
    put<Streaming>(out + 2 * plane, normalise<2>(left, shuffle));
    put<Streaming>(out + 2 * plane + 16, normalise<2>(right, shuffle));
  }
}

} // namespace

void cifarAvx512(const uint8_t *images, const int64_t *rows, const hw_cifar_draw *draws,
                 size_t count, bool streaming, float *out) {
  for (size_t each = 0; each < count; ++each, out += kCifarBytes) {
    const uint8_t *image = images + rows[each] * kCifarBytes;
    if (streaming)
      one<true>(image, draws[each], out);
    else
      one<false>(image, draws[each], out);
  }
  if (streaming)
    _mm_sfence();
}

} // namespace penstock::bench
