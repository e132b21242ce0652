// SPDX-License-Identifier: Apache-2.0
//
// More of the chains of bench/pipelines/unseen_wide.pipe in C: products, numbers, places, tiles.
#include "unseen_chain.h"
using f = float;

CHAIN(outer) {
  const f *__restrict a = input<f>(in, 0), *__restrict b = input<f>(in, 1);
  f *__restrict y = output<f>(out, 0);
  for (int i = 0; i < 512; ++i)
    for (int j = 0; j < 512; ++j)
      y[i * 512 + j] = a[i] * b[j];
}
CHAIN(l1_dist) {
  const f *__restrict a = input<f>(in, 0), *__restrict b = input<f>(in, 1);
  f *__restrict y = output<f>(out, 0);
  static f bt[32][128];
  for (int j = 0; j < 128; ++j)
    for (int k = 0; k < 32; ++k)
      bt[k][j] = b[j * 32 + k];
  for (int i = 0; i < 128; ++i) {
    f s[128] = {};
    for (int k = 0; k < 32; ++k)
      for (int j = 0; j < 128; ++j)
        s[j] += std::fabs(a[i * 32 + k] - bt[k][j]);
    std::memcpy(y + i * 128, s, 512);
  }
}
CHAIN(gram) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  static f t[1024][32];
  for (int c = 0; c < 32; ++c)
    for (int k = 0; k < 1024; ++k)
      t[k][c] = x[c * 1024 + k];
  f s[32][32] = {};
  for (int c = 0; c < 32; c += 4) {
    f r[4][32] = {};
    for (int k = 0; k < 1024; ++k)
      for (int q = 0; q < 4; ++q) {
        f v = t[k][c + q];
        for (int d = 0; d < 32; ++d)
          r[q][d] += v * t[k][d];
      }
    std::memcpy(s[c], r, sizeof r);
  }
  std::memcpy(y, s, sizeof s);
}
CHAIN(poly) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int t = 0; t < 4096; ++t) {
    const f *p = x + 4 * t;
    f *q = y + 8 * t;
    q[0] = p[0];
    q[1] = p[1];
    q[2] = p[2];
    q[3] = p[3];
    q[4] = p[0] * p[0];
    q[5] = p[0] * p[1];
    q[6] = p[1] * p[1];
    q[7] = p[2] * p[3];
  }
}
CHAIN(horner) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int i = 0; i < 65536; ++i) {
    f p = x[i];
    y[i] = ((((0.1f * p + 0.2f) * p - 0.3f) * p + 0.4f) * p - 0.5f) * p + 0.6f;
  }
}
CHAIN(linear_relu) {
  const f *__restrict x = input<f>(in, 0), *__restrict m = input<f>(in, 1);
  f *__restrict y = output<f>(out, 0);
  for (int t = 0; t < 256; t += 4) {
    f r[4][64] = {};
    for (int k = 0; k < 64; ++k)
      for (int q = 0; q < 4; ++q) {
        f v = x[(t + q) * 64 + k];
        for (int d = 0; d < 64; ++d)
          r[q][d] += v * m[k * 64 + d];
      }
    for (int q = 0; q < 4; ++q)
      for (int d = 0; d < 64; ++d)
        y[(t + q) * 64 + d] = r[q][d] > 0 ? r[q][d] : 0.f;
  }
}
CHAIN(quad_form) {
  const f *__restrict x = input<f>(in, 0), *__restrict m = input<f>(in, 1);
  f *__restrict y = output<f>(out, 0);
  for (int t = 0; t < 1024; ++t) {
    f r[16] = {};
    const f *a = x + t * 16;
    for (int k = 0; k < 16; ++k)
      for (int l = 0; l < 16; ++l)
        r[l] += a[k] * m[k * 16 + l];
    f s = 0;
    for (int l = 0; l < 16; ++l)
      r[l] *= a[l];
    for (int w = 8; w; w /= 2)
      for (int l = 0; l < w; ++l)
        r[l] += r[l + w];
    y[t] = r[0];
  }
}
CHAIN(quantise) {
  const f *__restrict x = input<f>(in, 0);
  int8_t *__restrict y = output<int8_t>(out, 0);
  f *s = output<f>(out, 1);
  for (int t = 0; t < 512; ++t) {
    const f *a = x + t * 128;
    f q[16] = {};
    for (int k = 0; k < 128; k += 16)
      for (int l = 0; l < 16; ++l) {
        f v = std::fabs(a[k + l]);
        q[l] = v > q[l] ? v : q[l];
      }
    f m = 0;
    for (f v : q)
      m = std::max(m, v);
    s[t] = m / 127;
    f r = 127.f / std::max(m, 0.0001f);
    for (int k = 0; k < 128; ++k)
      y[t * 128 + k] = std::clamp(int(std::nearbyint(a[k] * r)), -128, 127);
  }
}
CHAIN(dequantise) {
  const u8 *__restrict x = input<u8>(in, 0);
  const f *__restrict s = input<f>(in, 1);
  f *__restrict y = output<f>(out, 0);
  for (int t = 0; t < 512; ++t)
    for (int k = 0; k < 128; ++k)
      y[t * 128 + k] = (f(x[t * 128 + k]) - 128.f) * s[t];
}
CHAIN(dither) {
  const u8 *__restrict x = input<u8>(in, 0);
  u8 *__restrict y = output<u8>(out, 0);
  const u8 b[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
  for (int i = 0; i < side; ++i) {
    u8 t[side];
    for (int j = 0; j < side; ++j)
      t[j] = 16 * b[i % 4][j % 4] + 8;
    for (int j = 0; j < side; ++j)
      y[i * side + j] = x[i * side + j] > t[j] ? 255 : 0;
  }
}
CHAIN(box_scan) {
  const u8 *__restrict x = input<u8>(in, 0);
  u8 *__restrict y = output<u8>(out, 0);
  constexpr int W = side + 15;
  static u8 p[W][W];
  for (int i = 0; i < W; ++i) {
    const u8 *r = x + inside(i - 8, side) * side;
    for (int j = 0; j < 8; ++j)
      p[i][j] = r[0];
    std::memcpy(p[i] + 8, r, side);
    for (int j = 0; j < 7; ++j)
      p[i][side + 8 + j] = r[side - 1];
  }
  int col[W] = {};
  for (int i = 0; i < 15; ++i)
    for (int j = 0; j < W; ++j)
      col[j] += p[i][j];
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < W; ++j)
      col[j] += p[i + 15][j];
    int s = 0;
    int out16[side];
    for (int j = 0; j < 15; ++j)
      s += col[j];
    for (int j = 0; j < side; ++j) {
      s += col[j + 15];
      out16[j] = s;
      s -= col[j];
    }
    for (int j = 0; j < side; ++j)
      y[i * side + j] = u8(out16[j] / 256);
    for (int j = 0; j < W; ++j)
      col[j] -= p[i][j];
  }
}
CHAIN(cdf) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int t = 0; t < 128; ++t) {
    f s = 0;
    for (int k = 0; k < 128; ++k) {
      s += x[t * 128 + k];
      y[t * 128 + k] = s;
    }
    for (int k = 0; k < 128; ++k)
      y[t * 128 + k] /= s;
  }
}
CHAIN(deltas) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int t = 0; t < 1000; ++t) {
    auto r = [&](int d) { return x + inside(t + d, 1000) * 80; };
    const f *a = r(-2), *b = r(-1), *c = r(1), *d = r(2);
    for (int k = 0; k < 80; ++k)
      y[t * 80 + k] = (2.f * (d[k] - a[k]) + c[k] - b[k]) / 10.f;
  }
}
CHAIN(onehot_last) {
  const u8 *__restrict x = input<u8>(in, 0);
  u8 *__restrict y = output<u8>(out, 0);
  for (int i = 0; i < 12544; ++i)
    for (int k = 0; k < 16; ++k)
      y[i * 16 + k] = x[i] == k;
}
CHAIN(embed) {
  const u8 *__restrict x = input<u8>(in, 0);
  const f *__restrict t = input<f>(in, 1);
  f *__restrict y = output<f>(out, 0);
  for (int i = 0; i < 512; ++i)
    std::memcpy(y + i * 64, t + x[i] * 64, 256);
}
CHAIN(confusion) {
  const u8 *__restrict a = input<u8>(in, 0), *__restrict b = input<u8>(in, 1);
  int *y = output<int>(out, 0);
  static int c[4][256];
  std::memset(c, 0, sizeof c);
  for (int i = 0; i < side * side; i += 4)
    for (int q = 0; q < 4; ++q)
      ++c[q][(a[i + q] >> 4) * 16 + (b[i + q] >> 4)];
  for (int k = 0; k < 256; ++k)
    y[k] = c[0][k] + c[1][k] + c[2][k] + c[3][k];
}
CHAIN(hough) {
  const u8 *__restrict x = input<u8>(in, 0);
  int *y = output<int>(out, 0);
  std::memset(y, 0, 512);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 64; ++j) {
      if (x[i * 64 + j] > 200) {
        int k = i * 3 / 4 + j / 2;
        if (k < 128)
          ++y[k];
      }
    }
}
CHAIN(resample_any) {
  const f *__restrict x = input<f>(in, 0), *__restrict at = input<f>(in, 1);
  f *__restrict y = output<f>(out, 0);
  static int p[1500], q[1500];
  static f w[1500];
  for (int k = 0; k < 1500; ++k) {
    double c = double(at[k]) * 1000 - 0.5;
    double fl = std::floor(c);
    w[k] = f(c - fl);
    p[k] = inside(int(fl), 1000);
    q[k] = inside(int(fl) + 1, 1000);
  }
  for (int c = 0; c < 16; ++c)
    for (int k = 0; k < 1500; ++k) {
      f a = x[c * 1000 + p[k]], b = x[c * 1000 + q[k]];
      y[c * 1500 + k] = a + (b - a) * w[k];
    }
}
CHAIN(permute3) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int c = 0; c < 24; c += 8)
    for (int i = 0; i < 96; i += 8)
      for (int j = 0; j < 96; ++j)
        for (int k = 0; k < 8; ++k)
          for (int a = 0; a < 8; ++a)
            y[((c + k) * 96 + j) * 96 + i + a] = x[((i + a) * 96 + j) * 24 + c + k];
}
CHAIN(shuffle_pixels) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int c = 0; c < 16; ++c)
    for (int i = 0; i < 56; ++i)
      for (int a = 0; a < 2; ++a) {
        const f *p = x + ((4 * c + 2 * a) * 56 + i) * 56, *q = p + 3136;
        f *o = y + (c * 112 + 2 * i + a) * 112;
        for (int j = 0; j < 56; ++j) {
          o[2 * j] = p[j];
          o[2 * j + 1] = q[j];
        }
      }
}
CHAIN(clahe_like) {
  const u8 *__restrict x = input<u8>(in, 0);
  u8 *__restrict y = output<u8>(out, 0);
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) {
      int h[4][256] = {};
      for (int i = 0; i < 56; ++i)
        for (int j = 0; j < 56; ++j)
          ++h[j & 3][x[(a * 56 + i) * side + b * 56 + j]];
      int s = 0, c[256];
      for (int k = 0; k < 256; ++k) {
        s += std::min(h[0][k] + h[1][k] + h[2][k] + h[3][k], 40);
        c[k] = s;
      }
      u8 t[256];
      for (int k = 0; k < 256; ++k)
        t[k] = u8(255 * c[k] / std::max(s, 1));
      for (int i = 0; i < 56; ++i)
        for (int j = 0; j < 56; ++j) {
          int at = (a * 56 + i) * side + b * 56 + j;
          y[at] = t[x[at]];
        }
    }
}
CHAIN(tile_stats) {
  const u8 *__restrict x = input<u8>(in, 0);
  f *m = output<f>(out, 0), *s = output<f>(out, 1);
  for (int a = 0; a < 7; ++a)
    for (int b = 0; b < 7; ++b) {
      int t[96] = {}, q[96] = {};
      for (int i = 0; i < 32; ++i) {
        const u8 *r = x + ((a * 32 + i) * side + b * 32) * 3;
        for (int j = 0; j < 96; ++j) {
          t[j] += r[j];
          q[j] += r[j] * r[j];
        }
      }
      for (int c = 0; c < 3; ++c) {
        int u = 0;
        int64_t v = 0;
        for (int j = 0; j < 32; ++j)
          u += t[3 * j + c], v += q[3 * j + c];
        double me = u / 1024.0;
        m[(a * 7 + b) * 3 + c] = f(me);
        s[(a * 7 + b) * 3 + c] = f(std::sqrt(v / 1024.0 - me * me));
      }
    }
}
CHAIN(yuv_planes) {
  const u8 *__restrict x = input<u8>(in, 0);
  f *__restrict y = output<f>(out, 0);
  constexpr int n = side * side;
  for (int i = 0; i < n; ++i) {
    f r = x[3 * i], g = x[3 * i + 1], b = x[3 * i + 2];
    y[i] = 0.299f * r + 0.587f * g + 0.114f * b;
    y[n + i] = -0.147f * r - 0.289f * g + 0.436f * b;
    y[2 * n + i] = 0.615f * r - 0.515f * g - 0.1f * b;
  }
}
CHAIN(hsv_hue) {
  const u8 *__restrict x = input<u8>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int i = 0; i < side * side; ++i) {
    f r = x[3 * i], g = x[3 * i + 1], b = x[3 * i + 2];
    f hi = std::max(std::max(r, g), b), d = hi - std::min(std::min(r, g), b);
    f n = hi == r ? g - b : hi == g ? b - r : r - g, o = hi == r ? 0.f : hi == g ? 2.f : 4.f;
    y[i] = d == 0 ? 0.f : (o + n / d) * 60.f;
  }
}
CHAIN(iou) {
  const f *__restrict a = input<f>(in, 0), *__restrict b = input<f>(in, 1);
  f *__restrict y = output<f>(out, 0);
  f t[4][200], ar[200];
  for (int j = 0; j < 200; ++j) {
    for (int c = 0; c < 4; ++c)
      t[c][j] = b[4 * j + c];
    ar[j] = (t[2][j] - t[0][j]) * (t[3][j] - t[1][j]);
  }
  for (int i = 0; i < 200; ++i) {
    const f *p = a + 4 * i;
    f s = (p[2] - p[0]) * (p[3] - p[1]);
    for (int j = 0; j < 200; ++j) {
      f w = std::max(std::min(p[2], t[2][j]) - std::max(p[0], t[0][j]), 0.f),
        h = std::max(std::min(p[3], t[3][j]) - std::max(p[1], t[1][j]), 0.f), q = w * h;
      y[i * 200 + j] = q / std::max(s + ar[j] - q, 1e-6f);
    }
  }
}
CHAIN(frame_diff_mean) {
  const u8 *__restrict x = input<u8>(in, 0);
  f *__restrict y = output<f>(out, 0);
  int *m = output<int>(out, 1);
  constexpr int n = 12544;
  for (int t = 0; t < 8; ++t) {
    const u8 *a = x + t * n * 3, *b = a + n * 3;
    int s = 0;
    for (int i = 0; i < n; ++i) {
      int d = std::abs(a[3 * i] - b[3 * i]) + std::abs(a[3 * i + 1] - b[3 * i + 1]) +
              std::abs(a[3 * i + 2] - b[3 * i + 2]);
      s += d;
      y[t * n + i] = d / 3.f;
    }
    m[t] = s;
  }
}
CHAIN(temporal_mean) {
  const u8 *__restrict x = input<u8>(in, 0);
  u8 *__restrict y = output<u8>(out, 0);
  constexpr int n = 12544;
  for (int i = 0; i < n; i += 64) {
    uint16_t s[64] = {};
    for (int t = 0; t < 16; ++t)
      for (int l = 0; l < 64; ++l)
        s[l] += x[t * n + i + l];
    for (int l = 0; l < 64; ++l)
      y[i + l] = (s[l] + 8) / 16;
  }
}
CHAIN(zero_crossings) {
  const f *__restrict x = input<f>(in, 0);
  int *y = output<int>(out, 0);
  for (int t = 0; t < 98; ++t) {
    int s = 0;
    for (int k = 1; k < 400; ++k)
      s += (x[t * 160 + k] >= 0.5f) != (x[t * 160 + k - 1] >= 0.5f);
    y[t] = s;
  }
}
CHAIN(rms_frames) {
  const f *__restrict x = input<f>(in, 0);
  f *y = output<f>(out, 0);
  for (int t = 0; t < 98; ++t) {
    f s[16] = {};
    for (int k = 0; k < 400; k += 16)
      for (int l = 0; l < 16; ++l) {
        f v = x[t * 160 + k + l];
        s[l] += v * v;
      }
    f q = 0;
    for (f v : s)
      q += v;
    y[t] = std::sqrt(q / 400);
  }
}
CHAIN(up2) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int c = 0; c < 8; ++c)
    for (int i = 0; i < 112; ++i) {
      const f *r = x + (c * 56 + i / 2) * 56;
      f *o = y + (c * 112 + i) * 112;
      for (int j = 0; j < 56; ++j) {
        o[2 * j] = r[j];
        o[2 * j + 1] = r[j];
      }
    }
}
static inline f bil(const f *x, int n, double yy, double xx) {
  double a = yy - 0.5, b = xx - 0.5;
  double fa = std::floor(a), fb = std::floor(b);
  f u = f(a - fa), v = f(b - fb);
  int i = int(fa), j = int(fb);
  int i0 = inside(i, n), i1 = inside(i + 1, n), j0 = inside(j, n), j1 = inside(j + 1, n);
  f p = x[i0 * n + j0] + (x[i0 * n + j1] - x[i0 * n + j0]) * v,
    q = x[i1 * n + j0] + (x[i1 * n + j1] - x[i1 * n + j0]) * v;
  return p + (q - p) * u;
}
CHAIN(grid_sample) {
  const f *__restrict x = input<f>(in, 0), *__restrict d = input<f>(in, 1);
  f *__restrict y = output<f>(out, 0);
  for (int i = 0; i < 128; ++i)
    for (int j = 0; j < 128; ++j)
      y[i * 128 + j] = bil(x, 128, i + 0.5 + 5.0 * double(d[i * 128 + j]),
                           j + 0.5 + 5.0 * double(d[16384 + i * 128 + j]));
}
