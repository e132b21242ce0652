// SPDX-License-Identifier: Apache-2.0
//
// Chains of bench/pipelines/unseen_wide.pipe in C: orders, neighbours, norms, running numbers.
#include "unseen_chain.h"
using f = float;

/// By a network along rows: the K-th of all neighbours, less another one where it is given.
template <int R, typename T, int K, int... Ks> static void median(const T *x, T *y) {
  constexpr int N = (2 * R + 1) * (2 * R + 1);
  static Padded<R, T> padded(x);
  new (&padded) Padded<R, T>(x);
  for (int i = 0; i < side; ++i) {
    T v[N][side];
    for (int p = 0, q = 0; p < 2 * R + 1; ++p)
      for (int r = 0; r < 2 * R + 1; ++r, ++q)
        for (int j = 0; j < side; ++j)
          v[q][j] = padded.rows[i + p][j + r];
    for (int run = 1; run < N; run *= 2)
      for (int apart = run; apart >= 1; apart /= 2)
        for (int first = apart % run; first + apart < N; first += 2 * apart)
          for (int a = first; a < std::min(first + apart, N - apart); ++a)
            if (a / (2 * run) == (a + apart) / (2 * run))
              for (int j = 0; j < side; ++j) {
                T s = v[a][j], t = v[a + apart][j];
                v[a][j] = s < t ? s : t;
                v[a + apart][j] = s < t ? t : s;
              }
    if constexpr (sizeof...(Ks)) {
      constexpr int ks[] = {Ks...};
      for (int j = 0; j < side; ++j)
        y[i * side + j] = v[K][j] - v[ks[0]][j];
    } else
      std::memcpy(y + i * side, v[K], side * sizeof(T));
  }
}
/// Columns are put in order first, which neighbours share.
template <typename T, int C> static void median3(const T *x, T *y) {
  constexpr int w = side * C, pw = (side + 2) * C;
  static T p[(side + 2) * pw];
  for (int i = 0; i < side + 2; ++i) {
    const T *r = x + inside(i - 1, side) * w;
    std::memcpy(p + i * pw + C, r, w * sizeof(T));
    for (int c = 0; c < C; ++c) {
      p[i * pw + c] = r[c];
      p[i * pw + C + w + c] = r[w - C + c];
    }
  }
  auto lo = [](T a, T b) { return a < b ? a : b; };
  auto hi = [](T a, T b) { return a > b ? a : b; };
  for (int i = 0; i < side; ++i) {
    const T *__restrict a = p + i * pw, *__restrict b = a + pw, *__restrict c = b + pw;
    T low[pw], middle[pw], high[pw];
    for (int j = 0; j < pw; ++j) {
      const T s = lo(a[j], b[j]), q = hi(a[j], b[j]);
      low[j] = lo(s, c[j]);
      high[j] = hi(q, c[j]);
      middle[j] = hi(s, lo(q, c[j]));
    }
    auto mid = [&](T p, T q, T r) { return hi(lo(p, q), lo(hi(p, q), r)); };
    for (int j = 0; j < w; ++j)
      y[i * w + j] = mid(hi(hi(low[j], low[j + C]), low[j + 2 * C]),
                         mid(middle[j], middle[j + C], middle[j + 2 * C]),
                         lo(lo(high[j], high[j + C]), high[j + 2 * C]));
  }
}
CHAIN(med3) { median3<f, 1>(input<f>(in, 0), output<f>(out, 0)); }
CHAIN(med5) { median<2, f, 12>(input<f>(in, 0), output<f>(out, 0)); }
CHAIN(percentile) { median<2, f, 22, 2>(input<f>(in, 0), output<f>(out, 0)); }
CHAIN(med_rgb) { median3<u8, 3>(input<u8>(in, 0), output<u8>(out, 0)); }
CHAIN(topk) {
  const f *x = input<f>(in, 0);
  f *y = output<f>(out, 0);
  for (int t = 0; t < 512; ++t) {
    f v[64];
    std::memcpy(v, x + t * 64, 256);
    std::partial_sort(v, v + 5, v + 64, [](f a, f b) { return a > b; });
    std::memcpy(y + t * 5, v, 20);
  }
}
CHAIN(morph_grad) {
  static Padded<1> p(input<u8>(in, 0));
  new (&p) Padded<1>(input<u8>(in, 0));
  u8 *y = output<u8>(out, 0);
  for (int i = 0; i < side; ++i) {
    u8 lo[side + 2], hi[side + 2];
    auto *a = p.rows[i], *b = p.rows[i + 1], *c = p.rows[i + 2];
    for (int j = 0; j < side + 2; ++j) {
      lo[j] = std::min(std::min(a[j], b[j]), c[j]);
      hi[j] = std::max(std::max(a[j], b[j]), c[j]);
    }
    for (int j = 0; j < side; ++j)
      y[i * side + j] = std::max(std::max(hi[j], hi[j + 1]), hi[j + 2]) -
                        std::min(std::min(lo[j], lo[j + 1]), lo[j + 2]);
  }
}
/// Sums of squares of neighbours, along one axis after the other.
template <int R> static void boxed(const f *x, f *y, f by) {
  static Padded<R, f> p(x);
  new (&p) Padded<R, f>(x);
  constexpr int W = side + 2 * R;
  for (int i = 0; i < side; ++i) {
    f s[W] = {};
    for (int k = 0; k <= 2 * R; ++k)
      for (int j = 0; j < W; ++j)
        s[j] += p.rows[i + k][j];
    for (int j = 0; j < side; ++j) {
      f t = 0;
      for (int k = 0; k <= 2 * R; ++k)
        t += s[j + k];
      y[i * side + j] = t * by;
    }
  }
}
CHAIN(bilateral_f) {
  const f *x = input<f>(in, 0);
  f *y = output<f>(out, 0);
  static Padded<2, f> p(x);
  new (&p) Padded<2, f>(x);
  for (int i = 0; i < side; ++i) {
    f s[side] = {}, t[side] = {};
    for (int a = 0; a < 5; ++a)
      for (int b = 0; b < 5; ++b)
        for (int j = 0; j < side; ++j) {
          f v = p.rows[i + a][j + b], d = v - x[i * side + j], w = std::exp(-(d * d * 50.f));
          s[j] += w * v;
          t[j] += w;
        }
    for (int j = 0; j < side; ++j)
      y[i * side + j] = s[j] / t[j];
  }
}
CHAIN(guided) {
  const f *x = input<f>(in, 0);
  f *y = output<f>(out, 0);
  constexpr int n = side * side;
  static f m[n], s[n], xx[n], a[n], b[n], ma[n], mb[n];
  for (int i = 0; i < n; ++i)
    xx[i] = x[i] * x[i];
  boxed<2>(x, m, 0.04f);
  boxed<2>(xx, s, 0.04f);
  for (int i = 0; i < n; ++i) {
    f v = s[i] - m[i] * m[i];
    a[i] = v / (v + 0.01f);
    b[i] = m[i] - a[i] * m[i];
  }
  boxed<2>(a, ma, 0.04f);
  boxed<2>(b, mb, 0.04f);
  for (int i = 0; i < n; ++i)
    y[i] = ma[i] * x[i] + mb[i];
}
static u8 paddedPixels[(side + 2) * (side + 2) * 3];
static void padPixels(const u8 *x) {
  constexpr int w = side * 3, pw = (side + 2) * 3;
  for (int i = 0; i < side + 2; ++i) {
    const u8 *r = x + inside(i - 1, side) * w;
    std::memcpy(paddedPixels + i * pw + 3, r, w);
    for (int c = 0; c < 3; ++c) {
      paddedPixels[i * pw + c] = r[c];
      paddedPixels[i * pw + 3 + w + c] = r[w - 3 + c];
    }
  }
}
CHAIN(laplace_rgb) {
  padPixels(input<u8>(in, 0));
  int16_t *__restrict y = output<int16_t>(out, 0);
  constexpr int w = side * 3, pw = w + 6;
  for (int i = 0; i < side; ++i) {
    const u8 *__restrict a = paddedPixels + i * pw, *__restrict b = a + pw, *__restrict c = b + pw;
    for (int j = 0; j < w; ++j)
      y[i * w + j] = 4 * b[j + 3] - a[j + 3] - c[j + 3] - b[j] - b[j + 6];
  }
}
CHAIN(dilated) {
  const f *x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  static Padded<4, f> p(x);
  new (&p) Padded<4, f>(x);
  for (int i = 0; i < side; ++i) {
    auto *a = p.rows[i], *b = p.rows[i + 4], *c = p.rows[i + 8];
    for (int j = 0; j < side; ++j)
      y[i * side + j] = 0.1f * a[j] + 0.15f * a[j + 4] + 0.1f * a[j + 8] + 0.15f * b[j] +
                        0.2f * b[j + 4] + 0.1f * b[j + 8] + 0.05f * c[j] + 0.05f * c[j + 4] +
                        0.1f * c[j + 8];
  }
}
CHAIN(strided_conv) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  const f k[3][3] = {{.1f, .2f, .1f}, {.2f, .3f, .2f}, {.1f, .2f, .1f}};
  for (int i = 0; i < 112; ++i)
    for (int j = 0; j < 112; ++j) {
      f s = 0;
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
          s += x[(2 * i + a) * 225 + 2 * j + b] * k[a][b];
      y[i * 112 + j] = s;
    }
}
CHAIN(pool_argmax) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  u8 *__restrict k = output<u8>(out, 1);
  for (int i = 0; i < 8 * 56; ++i) {
    const f *a = x + i * 224, *b = a + 112;
    for (int j = 0; j < 56; ++j) {
      f m = a[2 * j];
      int q = 0;
      if (a[2 * j + 1] > m)
        m = a[2 * j + 1], q = 1;
      if (b[2 * j] > m)
        m = b[2 * j], q = 2;
      if (b[2 * j + 1] > m)
        m = b[2 * j + 1], q = 3;
      y[i * 56 + j] = m;
      k[i * 56 + j] = q;
    }
  }
}
CHAIN(pool_3d) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int z = 0; z < 16; ++z)
    for (int i = 0; i < 32; ++i) {
      const f *a = x + 2 * z * 4096 + 2 * i * 64, *b = a + 64, *c = a + 4096, *d = c + 64;
      f t[64];
      for (int j = 0; j < 64; ++j)
        t[j] = std::max(std::max(a[j], b[j]), std::max(c[j], d[j]));
      for (int j = 0; j < 32; ++j)
        y[(z * 32 + i) * 32 + j] = std::max(t[2 * j], t[2 * j + 1]);
    }
}
CHAIN(lbp_rotation) {
  static Padded<1> p(input<u8>(in, 0));
  new (&p) Padded<1>(input<u8>(in, 0));
  u8 *__restrict y = output<u8>(out, 0);
  for (int i = 0; i < side; ++i) {
    const u8 *a = p.rows[i], *b = p.rows[i + 1], *c = p.rows[i + 2];
    for (int j = 0; j < side; ++j) {
      u8 v = b[j + 1];
      u8 q[8] = {u8(a[j] >= v),     u8(a[j + 1] >= v), u8(a[j + 2] >= v), u8(b[j + 2] >= v),
                 u8(c[j + 2] >= v), u8(c[j + 1] >= v), u8(c[j] >= v),     u8(b[j] >= v)};
      u8 s = 0, t = q[0] ^ q[7];
      for (int k = 0; k < 8; ++k)
        s += q[k];
      for (int k = 0; k < 7; ++k)
        t += q[k] ^ q[k + 1];
      y[i * side + j] = t <= 2 ? s : 9;
    }
  }
}
CHAIN(nms) {
  const f *x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  static Padded<2, f> p(x);
  new (&p) Padded<2, f>(x);
  for (int i = 0; i < side; ++i) {
    f m[side + 4];
    for (int j = 0; j < side + 4; ++j) {
      f s = p.rows[i][j];
      for (int k = 1; k < 5; ++k)
        s = std::max(s, p.rows[i + k][j]);
      m[j] = s;
    }
    for (int j = 0; j < side; ++j) {
      f s = m[j];
      for (int k = 1; k < 5; ++k)
        s = std::max(s, m[j + k]);
      f v = x[i * side + j];
      y[i * side + j] = v >= s ? v : 0.f;
    }
  }
}
CHAIN(harris) {
  static Padded<1> p(input<u8>(in, 0));
  new (&p) Padded<1>(input<u8>(in, 0));
  f *__restrict y = output<f>(out, 0);
  constexpr int n = side * side;
  static f a[n], b[n], c[n], A[n], B[n], C[n];
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      f gx = f(p.rows[i + 1][j + 2]) - f(p.rows[i + 1][j]),
        gy = f(p.rows[i + 2][j + 1]) - f(p.rows[i][j + 1]);
      a[i * side + j] = gx * gx;
      b[i * side + j] = gy * gy;
      c[i * side + j] = gx * gy;
    }
  boxed<1>(a, A, 1);
  boxed<1>(b, B, 1);
  boxed<1>(c, C, 1);
  for (int i = 0; i < n; ++i)
    y[i] = A[i] * B[i] - C[i] * C[i] - 0.04f * (A[i] + B[i]) * (A[i] + B[i]);
}
CHAIN(unsharp) {
  const u8 *x = input<u8>(in, 0);
  padPixels(x);
  u8 *__restrict y = output<u8>(out, 0);
  constexpr int w = side * 3, pw = w + 6;
  for (int i = 0; i < side; ++i) {
    const u8 *__restrict a = paddedPixels + i * pw, *__restrict b = a + pw, *__restrict c = b + pw;
    int16_t s[pw];
    for (int j = 0; j < pw; ++j)
      s[j] = a[j] + b[j] + c[j];
    for (int j = 0; j < w; ++j) {
      int16_t v = b[j + 3], t = s[j] + s[j + 3] + s[j + 6];
      int16_t r = v + int16_t(9 * v - t) / 9;
      y[i * w + j] = std::clamp<int16_t>(r, 0, 255);
    }
  }
}
CHAIN(emboss) {
  const u8 *x = input<u8>(in, 0);
  u8 *__restrict y = output<u8>(out, 0);
  static u8 p[226][226];
  auto ref = [](int i) { return i < 0 ? -i : i >= side ? 2 * side - 2 - i : i; };
  for (int i = 0; i < 226; ++i)
    for (int j = 0; j < 226; ++j)
      p[i][j] = x[ref(i - 1) * side + ref(j - 1)];
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      y[i * side + j] =
          std::clamp(-2 * p[i][j] - p[i][j + 1] - p[i + 1][j] + p[i + 1][j + 1] + p[i + 1][j + 2] +
                         p[i + 2][j + 1] + 2 * p[i + 2][j + 2] + 128,
                     0, 255);
}
CHAIN(entropy) {
  const u8 *x = input<u8>(in, 0);
  f *__restrict y = output<f>(out, 0);
  static u8 p[114][114];
  for (int i = 0; i < 114; ++i)
    for (int j = 0; j < 114; ++j)
      p[i][j] = x[inside(i - 1, 112) * 112 + inside(j - 1, 112)] / 32;
  for (int i = 0; i < 112; ++i) {
    int t[112] = {};
    for (int k = 0; k < 8; ++k) {
      u8 s[112] = {};
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
          for (int j = 0; j < 112; ++j)
            s[j] += p[i + a][j + b] == k;
      for (int j = 0; j < 112; ++j)
        t[j] += s[j] * s[j];
    }
    for (int j = 0; j < 112; ++j)
      y[i * 112 + j] = t[j];
  }
}
CHAIN(group_norm) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  constexpr int n = 6272;
  for (int g = 0; g < 4; ++g) {
    const f *a = x + g * n;
    f s[16] = {}, q[16] = {};
    for (int i = 0; i < n; i += 16)
      for (int l = 0; l < 16; ++l)
        s[l] += a[i + l];
    f m = 0;
    for (f v : s)
      m += v;
    m /= n;
    for (int i = 0; i < n; i += 16)
      for (int l = 0; l < 16; ++l)
        q[l] += (a[i + l] - m) * (a[i + l] - m);
    f v = 0;
    for (f t : q)
      v += t;
    f r = 1 / std::sqrt(v / n + 1e-5f);
    for (int i = 0; i < n; ++i)
      y[g * n + i] = (a[i] - m) * r;
  }
}
CHAIN(layer_norm_hw) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int t = 0; t < 3136; ++t) {
    const f *a = x + t * 64;
    f s[16] = {}, q[16] = {};
    for (int i = 0; i < 64; i += 16)
      for (int l = 0; l < 16; ++l)
        s[l] += a[i + l];
    f m = 0;
    for (f v : s)
      m += v;
    m /= 64;
    for (int i = 0; i < 64; i += 16)
      for (int l = 0; l < 16; ++l)
        q[l] += (a[i + l] - m) * (a[i + l] - m);
    f v = 0;
    for (f t : q)
      v += t;
    f r = 1 / std::sqrt(v / 64 + 1e-5f);
    for (int i = 0; i < 64; ++i)
      y[t * 64 + i] = (a[i] - m) * r;
  }
}
CHAIN(minmax_rows) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  for (int i = 0; i < side; ++i) {
    const f *a = x + i * side;
    f s[16], q[16];
    for (int l = 0; l < 16; ++l)
      s[l] = q[l] = a[l];
    for (int j = 0; j < side; j += 16)
      for (int l = 0; l < 16; ++l) {
        f v = a[j + l];
        s[l] = v < s[l] ? v : s[l];
        q[l] = v > q[l] ? v : q[l];
      }
    f lo = s[0], hi = q[0];
    for (int l = 1; l < 16; ++l)
      lo = std::min(lo, s[l]), hi = std::max(hi, q[l]);
    for (int j = 0; j < side; ++j)
      y[i * side + j] = (a[j] - lo) / (hi - lo + 0.001f);
  }
}
CHAIN(standard_cols) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  f m[40] = {}, s[40] = {};
  for (int t = 0; t < 1000; ++t)
    for (int j = 0; j < 40; ++j)
      m[j] += x[t * 40 + j];
  for (f &v : m)
    v /= 1000;
  for (int t = 0; t < 1000; ++t)
    for (int j = 0; j < 40; ++j) {
      f d = x[t * 40 + j] - m[j];
      s[j] += d * d;
    }
  for (int j = 0; j < 40; ++j)
    s[j] = 1 / (std::sqrt(s[j] / 1000) + 0.001f);
  for (int t = 0; t < 1000; ++t)
    for (int j = 0; j < 40; ++j)
      y[t * 40 + j] = (x[t * 40 + j] - m[j]) * s[j];
}
CHAIN(cum_max_h) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  f m[side];
  std::memcpy(m, x, sizeof m);
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      f v = x[i * side + j];
      m[j] = v > m[j] ? v : m[j];
      y[i * side + j] = m[j];
    }
}
CHAIN(ema) {
  const f *__restrict x = input<f>(in, 0);
  f *__restrict y = output<f>(out, 0);
  f s[16] = {};
  for (int t = 0; t < 1000; ++t)
    for (int c = 0; c < 16; ++c) {
      s[c] = x[c * 1000 + t] * 0.1f + 0.9f * s[c];
      y[c * 1000 + t] = s[c];
    }
}
