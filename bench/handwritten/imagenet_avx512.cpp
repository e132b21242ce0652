// SPDX-License-Identifier: Apache-2.0
//
// Resize on AVX-512 with VBMI and VNNI.
//
// A weight of 22 bits is three signed digits of base 256, so that vpdpbusd takes
// four taps of sixteen outputs straight from the bytes: one window, one byte
// shuffle, three dot products by Horner's rule, and the rounding constant is the
// first accumulator (32 << 16 == 1 << 21). Bilinear weights are not negative and
// sum up to 2^22 within a few units, so no result exceeds 255 and none is clamped.
//
// Four source rows share each load of the tables. Rows of bytes live in a ring;
// sixteen outputs by sixteen packed in lanes come out in another order within 64
// bytes, which the vertical pass undoes once per block.
#include "bench/handwritten/plan.h"

#include <algorithm>
#include <immintrin.h>

namespace penstock::bench {
namespace {

inline __m512i dot3(__m512i quads, __m512i high, __m512i middle, __m512i low) {
  __m512i sum = _mm512_dpbusd_epi32(_mm512_set1_epi32(32), quads, high);
  sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), quads, middle);
  sum = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), quads, low);
  return _mm512_srli_epi32(sum, kPrecision);
}

inline __m512i pack4(const __m512i (&lanes)[4]) {
  return _mm512_packus_epi16(_mm512_packus_epi32(lanes[0], lanes[1]),
                             _mm512_packus_epi32(lanes[2], lanes[3]));
}

template <bool Wide> inline __m512i gather(const uint8_t *at, __m512i shuffle) {
  const __m512i low = _mm512_loadu_si512(at);
  if constexpr (Wide)
    return _mm512_permutex2var_epi8(low, shuffle, _mm512_loadu_si512(at + 64));
  return _mm512_permutexvar_epi8(shuffle, low);
}

inline __m512i digitOf(const Group512 &group, int digit) {
  return _mm512_load_si512(group.digit[digit]);
}

/// One, or several chunks of four taps: the digits of all chunks go in before
/// the sum is shifted on.
template <int Chunks, bool Wide>
inline __m512i column(const Group512 *groups, const int32_t *bases, int chunks,
                      const uint8_t *row) {
  if constexpr (Chunks == 1) {
    const __m512i quads = gather<Wide>(row + bases[0], _mm512_load_si512(groups[0].shuffle));
    return dot3(quads, digitOf(groups[0], 0), digitOf(groups[0], 1), digitOf(groups[0], 2));
  } else if constexpr (Chunks == 2) {
    const __m512i a = gather<Wide>(row + bases[0], _mm512_load_si512(groups[0].shuffle));
    const __m512i b = gather<Wide>(row + bases[1], _mm512_load_si512(groups[1].shuffle));
    __m512i sum = _mm512_set1_epi32(32);
    sum = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum, a, digitOf(groups[0], 0)), b,
                              digitOf(groups[1], 0));
    sum = _mm512_slli_epi32(sum, 8);
    sum = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum, a, digitOf(groups[0], 1)), b,
                              digitOf(groups[1], 1));
    sum = _mm512_slli_epi32(sum, 8);
    sum = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum, a, digitOf(groups[0], 2)), b,
                              digitOf(groups[1], 2));
    return _mm512_srli_epi32(sum, kPrecision);
  } else {
    __m512i sum = _mm512_set1_epi32(32);
    for (int digit = 0; digit < 3; ++digit) {
      if (digit != 0)
        sum = _mm512_slli_epi32(sum, 8);
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const __m512i quads =
            gather<Wide>(row + bases[chunk], _mm512_load_si512(groups[chunk].shuffle));
        sum = _mm512_dpbusd_epi32(sum, quads, digitOf(groups[chunk], digit));
      }
    }
    return _mm512_srli_epi32(sum, kPrecision);
  }
}

template <int Chunks, bool Wide>
void horizontal(const hw_imagenet_plan &plan, const uint8_t *const (&rows)[4],
                uint8_t *const (&out)[4]) {
  const int chunks = Chunks > 2 ? plan.chunks : Chunks;
  const Group512 *groups = plan.groups512.data();
  const int32_t *bases = plan.bases512.data();
  for (int block = 0; block < kPaddedRow / 64; ++block) {
    __m512i lanes[4][4];
    for (int part = 0; part < 4; ++part, groups += chunks, bases += chunks)
      for (int row = 0; row < 4; ++row)
        lanes[row][part] = column<Chunks, Wide>(groups, bases, chunks, rows[row]);
    for (int row = 0; row < 4; ++row)
      _mm512_store_si512(out[row] + 64 * block, pack4(lanes[row]));
  }
}

using Horizontal = void (*)(const hw_imagenet_plan &, const uint8_t *const (&)[4],
                            uint8_t *const (&)[4]);

Horizontal chooseHorizontal(const hw_imagenet_plan &plan) {
  if (plan.chunks == 1)
    return plan.wide ? horizontal<1, true> : horizontal<1, false>;
  if (plan.chunks == 2)
    return plan.wide ? horizontal<2, true> : horizontal<2, false>;
  return plan.wide ? horizontal<3, true> : horizontal<3, false>;
}

/// Bytes of four rows, brought together: part k holds bytes 4k .. 4k+3 of each 16.
inline void quadsOf(const uint8_t *const *rows, int at, __m512i (&quads)[4]) {
  const __m512i r0 = _mm512_load_si512(rows[0] + at), r1 = _mm512_load_si512(rows[1] + at);
  const __m512i r2 = _mm512_load_si512(rows[2] + at), r3 = _mm512_load_si512(rows[3] + at);
  const __m512i low01 = _mm512_unpacklo_epi8(r0, r1), high01 = _mm512_unpackhi_epi8(r0, r1);
  const __m512i low23 = _mm512_unpacklo_epi8(r2, r3), high23 = _mm512_unpackhi_epi8(r2, r3);
  quads[0] = _mm512_unpacklo_epi16(low01, low23);
  quads[1] = _mm512_unpackhi_epi16(low01, low23);
  quads[2] = _mm512_unpacklo_epi16(high01, high23);
  quads[3] = _mm512_unpackhi_epi16(high01, high23);
}

template <int Quads>
void vertical(const uint8_t *const *rows, const uint32_t *digits, int quadCount, uint8_t *out) {
  // Undoes the order in which four groups of sixteen were packed.
  const __m512i restore = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const int count = Quads > 2 ? quadCount : Quads;
  for (int at = 0; at < kPaddedRow; at += 64) {
    __m512i lanes[4];
    if constexpr (Quads == 1) {
      __m512i quads[4];
      quadsOf(rows, at, quads);
      for (int part = 0; part < 4; ++part)
        lanes[part] = dot3(quads[part], _mm512_set1_epi32(int(digits[0])),
                           _mm512_set1_epi32(int(digits[1])), _mm512_set1_epi32(int(digits[2])));
    } else {
      // Digits of equal weight are summed apart, so that each quad is made once.
      __m512i sums[3][4];
      for (int digit = 0; digit < 3; ++digit)
        for (int part = 0; part < 4; ++part)
          sums[digit][part] = _mm512_set1_epi32(digit == 2 ? 1 << (kPrecision - 1) : 0);
      for (int quad = 0; quad < count; ++quad) {
        __m512i quads[4];
        quadsOf(rows + 4 * quad, at, quads);
        for (int digit = 0; digit < 3; ++digit)
          for (int part = 0; part < 4; ++part)
            sums[digit][part] = _mm512_dpbusd_epi32(
                sums[digit][part], quads[part], _mm512_set1_epi32(int(digits[3 * quad + digit])));
      }
      for (int part = 0; part < 4; ++part) {
        __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(sums[0][part], 8), sums[1][part]);
        sum = _mm512_add_epi32(_mm512_slli_epi32(sum, 8), sums[2][part]);
        lanes[part] = _mm512_srli_epi32(sum, kPrecision);
      }
    }
    _mm512_store_si512(out + at, _mm512_permutexvar_epi32(restore, pack4(lanes)));
  }
}

/// 672 interleaved bytes to one row of each plane.
void store(const uint8_t *row, uint16_t *out) {
  const __m512i first =
      _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45);
  constexpr __mmask64 lowByte = 0x1111111111111111;
  for (int column = 0; column < kSide; column += 16) {
    const __m512i bytes = _mm512_loadu_si512(row + 3 * column);
    for (int channel = 0; channel < 3; ++channel) {
      const __m512i shuffle = _mm512_add_epi32(first, _mm512_set1_epi32(channel));
      const __m512 values =
          _mm512_cvtepi32_ps(_mm512_maskz_permutexvar_epi8(lowByte, shuffle, bytes));
      const __m512 result = _mm512_fmadd_ps(values, _mm512_set1_ps(kImagenet.scale[channel]),
                                            _mm512_set1_ps(kImagenet.offset[channel]));
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(out + channel * kSide * kSide + column),
                          _mm512_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT));
    }
  }
}

} // namespace

void imagenetAvx512(const hw_imagenet_plan &plan, const uint8_t *image, ptrdiff_t stride,
                    uint16_t *out) {
  constexpr int ringRows = 64; // a power of two above the taps of the largest scale and one batch
  alignas(64) uint8_t ring[ringRows][kPaddedRow];
  alignas(64) uint8_t result[kPaddedRow];
  const Horizontal horizontalPass = chooseHorizontal(plan);
  const int quads = plan.rowQuads;
  const int end = plan.rows.taps[kSide - 1].first + plan.rows.taps[kSide - 1].count;
  int done = plan.rows.taps[0].first;
  for (int row = 0; row < kSide; ++row) {
    const Taps &taps = plan.rows.taps[row];
    done = std::max(done, taps.first);
    while (done < taps.first + taps.count) {
      const uint8_t *sources[4];
      uint8_t *targets[4];
      for (int each = 0; each < 4; ++each) {
        const int source = std::min(done + each, end - 1);
        sources[each] = image + source * stride;
        targets[each] = ring[source % ringRows];
      }
      horizontalPass(plan, sources, targets);
      done += 4;
    }
    const uint8_t *rows[ringRows];
    for (int each = 0; each < 4 * quads; ++each)
      rows[each] = ring[(taps.first + std::min(each, taps.count - 1)) % ringRows];
    const uint32_t *digits = &plan.rowDigits[size_t(row) * quads * 3];
    if (quads == 1)
      vertical<1>(rows, digits, 1, result);
    else if (quads == 2)
      vertical<2>(rows, digits, 2, result);
    else
      vertical<3>(rows, digits, quads, result);
    store(result, out + row * kSide);
  }
}

} // namespace penstock::bench
