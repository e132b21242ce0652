// SPDX-License-Identifier: Apache-2.0
//
// More of the chains of bench/pipelines/unseen_wide.pipe in C: parts, patches, and pixels that are
// picked or repeated.
#include "unseen_chain.h"

namespace {
constexpr int half = side / 2, row = side * 3;

/// Goes through the rows of four images, which become one.
template <typename T> void fourAsOne(const void *const *in, void *const *out, T (*of)(u8)) {
  T *__restrict y = output<T>(out);
  for (int tile = 0; tile < 4; ++tile) {
    const u8 *__restrict p = input<u8>(in, tile == 0 || tile == 3 ? 0 : 1);
    for (int i = 0; i < half; ++i) {
      T *__restrict q = y + (i + tile / 2 * half) * row + tile % 2 * half * 3;
      for (int j = 0; j < half * 3; ++j)
        q[j] = of(p[i * half * 3 + j]);
    }
  }
}
} // namespace

CHAIN(mosaic) {
  u8 *y = output<u8>(out);
  for (int tile = 0; tile < 4; ++tile) {
    const u8 *p = input<u8>(in, tile == 0 || tile == 3 ? 0 : 1);
    for (int i = 0; i < half; ++i)
      std::memcpy(y + (i + tile / 2 * half) * row + tile % 2 * half * 3, p + i * half * 3,
                  half * 3);
  }
}
CHAIN(mosaic_norm) {
  fourAsOne<float>(in, out, [](u8 p) { return (p - 127.5f) / 127.5f; });
}
CHAIN(rgb_depth) {
  const u8 *__restrict x = input<u8>(in), *__restrict z = input<u8>(in, 1);
  u8 *__restrict y = output<u8>(out);
  for (int i = 0; i < side * side; ++i) {
    y[4 * i] = x[3 * i];
    y[4 * i + 1] = x[3 * i + 1];
    y[4 * i + 2] = x[3 * i + 2];
    y[4 * i + 3] = z[i];
  }
}
CHAIN(bit_planes) {
  const u8 *__restrict x = input<u8>(in);
  u8 *__restrict y = output<u8>(out);
  for (int k = 0; k < 8; ++k)
    for (int i = 0; i < half * half; ++i)
      y[k * half * half + i] = (x[i] >> k) & 1;
}
CHAIN(doubled) {
  const u8 *x = input<u8>(in);
  u8 *y = output<u8>(out);
  for (int i = 0; i < half; ++i) {
    u8 *__restrict q = y + 2 * i * row;
    const u8 *__restrict p = x + i * half * 3;
    for (int j = 0; j < half; ++j)
      for (int c = 0; c < 3; ++c)
        q[6 * j + c] = q[6 * j + 3 + c] = p[3 * j + c];
    std::memcpy(q + row, q, row);
  }
}
CHAIN(patches) {
  const u8 *x = input<u8>(in);
  u8 *y = output<u8>(out);
  for (int h = 0; h < 14; ++h)
    for (int w = 0; w < 14; ++w)
      for (int i = 0; i < 16; ++i)
        std::memcpy(y + ((h * 14 + w) * 16 + i) * 48, x + (h * 16 + i) * row + w * 48, 48);
}
CHAIN(rolled) {
  const u8 *x = input<u8>(in);
  float *y = output<float>(out);
  constexpr int by = 17 * 3;
  for (int i = 0; i < side; ++i) {
    const u8 *__restrict p = x + i * row;
    float *__restrict q = y + i * row;
    for (int j = 0; j < by; ++j)
      q[j] = p[row - by + j] * 0.5f;
    for (int j = by; j < row; ++j)
      q[j] = p[j - by] * 0.5f;
  }
}
CHAIN(nearest_300) {
  const u8 *x = input<u8>(in);
  float *__restrict y = output<float>(out);
  int places[300];
  for (int j = 0; j < 300; ++j)
    places[j] = j * side / 300 * 3;
  for (int i = 0; i < 300; ++i) {
    const u8 *__restrict p = x + i * side / 300 * row;
    for (int j = 0; j < 300; ++j)
      for (int c = 0; c < 3; ++c)
        y[(i * 300 + j) * 3 + c] = p[places[j] + c] * 0.5f;
  }
}
CHAIN(deltas_turned) {
  const float *x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int f = 0; f < 40; ++f) {
    float p[504];
    std::memcpy(p + 2, x + f * 500, 2000);
    p[0] = p[1] = p[2];
    p[502] = p[503] = p[501];
    float d[500];
    for (int t = 0; t < 500; ++t)
      d[t] = (p[t + 3] - p[t + 1] + 2.0f * (p[t + 4] - p[t])) * 0.1f;
    for (int t = 0; t < 500; ++t)
      y[t * 40 + f] = d[t];
  }
}
