// SPDX-License-Identifier: Apache-2.0
//
// CIFAR on AVX2. AVX2 has no masked byte load, so the edges are in the shuffles:
// a window of 16 bytes is moved into the row, and columns outside it get 0x80,
// which shuffles in a zero.
#include "bench/handwritten/cifar.h"

#include <algorithm>
#include <immintrin.h>

namespace penstock::bench {
namespace {

/// Eight columns: two windows of four, and a shuffle per channel.
struct alignas(32) Columns {
  uint8_t shuffle[3][32];
  int32_t base[2];
};

void setColumns(hw_cifar_draw draw, Columns (&columns)[4]) {
  constexpr int rowBytes = kCifar * 3;
  for (int group = 0; group < 4; ++group) {
    for (int half = 0; half < 2; ++half) {
      const int first = group * 8 + half * 4;
      const int left = (draw.flip ? kCifar - 4 - first : first) + draw.dx - kPad;
      const int base = std::clamp(left * 3, 0, rowBytes - 16);
      columns[group].base[half] = base;
      for (int lane = 0; lane < 4; ++lane) {
        const int x = left + (draw.flip ? 3 - lane : lane);
        for (int channel = 0; channel < 3; ++channel) {
          uint8_t *at = columns[group].shuffle[channel] + 16 * half + 4 * lane;
          at[0] = x >= 0 && x < kCifar ? uint8_t(x * 3 + channel - base) : 0x80;
          at[1] = at[2] = at[3] = 0x80;
        }
      }
    }
  }
}

template <int Channel> inline __m256 normalise(__m256i bytes, const Columns &columns) {
  constexpr Reciprocal unit = reciprocal(255.0f), scale = reciprocal(kCifarDeviation[Channel]);
  const __m256i shuffle =
      _mm256_load_si256(reinterpret_cast<const __m256i *>(columns.shuffle[Channel]));
  const __m256 value = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, shuffle));
  const __m256 quotient = _mm256_fmadd_ps(value, _mm256_set1_ps(unit.high),
                                          _mm256_mul_ps(value, _mm256_set1_ps(unit.low)));
  const __m256 centred = _mm256_sub_ps(quotient, _mm256_set1_ps(kCifarMean[Channel]));
  return _mm256_fmadd_ps(centred, _mm256_set1_ps(scale.high),
                         _mm256_mul_ps(centred, _mm256_set1_ps(scale.low)));
}

template <bool Streaming> inline void put(float *at, __m256 value) {
  if constexpr (Streaming)
    _mm256_stream_ps(at, value);
  else
    _mm256_storeu_ps(at, value);
}

inline __m256i window(const uint8_t *row, const Columns &columns) {
  return _mm256_inserti128_si256(
      _mm256_castsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(row + columns.base[0]))),
      _mm_loadu_si128(reinterpret_cast<const __m128i *>(row + columns.base[1])), 1);
}

template <bool Streaming>
void one(const uint8_t *image, hw_cifar_draw draw, const Columns (&columns)[4], float *out) {
  constexpr int plane = kCifar * kCifar;
  alignas(32) constexpr uint8_t zeros[kCifar * 3] = {};
  for (int row = 0; row < kCifar; ++row, out += kCifar) {
    const int y = row + draw.dy - kPad;
    const uint8_t *source = y >= 0 && y < kCifar ? image + y * kCifar * 3 : zeros;
    // One plane after the other: streaming stores want whole, successive lines.
    const __m256i bytes[4] = {window(source, columns[0]), window(source, columns[1]),
                              window(source, columns[2]), window(source, columns[3])};
    for (int group = 0; group < 4; ++group)
      put<Streaming>(out + 8 * group, normalise<0>(bytes[group], columns[group]));
    for (int group = 0; group < 4; ++group)
      put<Streaming>(out + plane + 8 * group, normalise<1>(bytes[group], columns[group]));
    for (int group = 0; group < 4; ++group)
      put<Streaming>(out + 2 * plane + 8 * group, normalise<2>(bytes[group], columns[group]));
  }
}

} // namespace

void cifarAvx2(const uint8_t *images, const int64_t *rows, const hw_cifar_draw *draws, size_t count,
               bool streaming, float *out) {
  // There are 18 sets of columns; a batch uses each many times.
  Columns sets[18][4];
  bool made[18] = {};
  for (size_t each = 0; each < count; ++each, out += kCifarBytes) {
    const uint8_t *image = images + rows[each] * kCifarBytes;
    const int set = draws[each].dx * 2 + draws[each].flip;
    if (!made[set])
      setColumns(draws[each], sets[set]);
    made[set] = true;
    if (streaming)
      one<true>(image, draws[each], sets[set], out);
    else
      one<false>(image, draws[each], sets[set], out);
  }
  if (streaming)
    _mm_sfence();
}

} // namespace penstock::bench
