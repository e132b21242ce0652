// SPDX-License-Identifier: Apache-2.0
//
// More chains of bench/pipelines/unseen.pipe in C, as unseen_chains.cpp has the first ones.
#include "unseen_chain.h"

CHAIN(gauss_5) {
  static const float near[5][5] = {{0.01f, 0.03f, 0.05f, 0.03f, 0.01f},
                                   {0.03f, 0.06f, 0.08f, 0.06f, 0.03f},
                                   {0.05f, 0.08f, 0.11f, 0.08f, 0.05f},
                                   {0.03f, 0.06f, 0.08f, 0.06f, 0.03f},
                                   {0.01f, 0.03f, 0.05f, 0.03f, 0.01f}};
  static Padded<2, float> padded(input<float>(in));
  new (&padded) Padded<2, float>(input<float>(in));
  float *__restrict y = output<float>(out);
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      float sum = 0;
      for (int k = 0; k < 5; ++k)
        for (int n = 0; n < 5; ++n)
          sum += near[k][n] * padded.rows[i + k][j + n];
      y[i * side + j] = sum;
    }
}

CHAIN(dilate_7) { // across, then down
  static Padded<3> padded(input<u8>(in));
  new (&padded) Padded<3>(input<u8>(in));
  u8 *__restrict y = output<u8>(out);
  static u8 across[side + 6][side];
  for (int i = 0; i < side + 6; ++i) {
    const u8 *__restrict p = padded.rows[i];
    for (int j = 0; j < side; ++j)
      across[i][j] = std::max(std::max(std::max(p[j], p[j + 1]), std::max(p[j + 2], p[j + 3])),
                              std::max(std::max(p[j + 4], p[j + 5]), p[j + 6]));
  }
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      u8 most = across[i][j];
      for (int k = 1; k < 7; ++k)
        most = std::max(most, across[i + k][j]);
      y[i * side + j] = most;
    }
}

CHAIN(variance_5) { // down, then across
  static Padded<2> padded(input<u8>(in));
  new (&padded) Padded<2>(input<u8>(in));
  float *__restrict y = output<float>(out);
  for (int i = 0; i < side; ++i) {
    int sums[side + 4] = {}, squares[side + 4] = {};
    for (int k = 0; k < 5; ++k)
      for (int j = 0; j < side + 4; ++j) {
        const int p = padded.rows[i + k][j];
        sums[j] += p;
        squares[j] += p * p;
      }
    for (int j = 0; j < side; ++j) {
      int sum = 0, square = 0;
      for (int n = 0; n < 5; ++n) {
        sum += sums[j + n];
        square += squares[j + n];
      }
      const float mean = float(sum) / 25.0f;
      y[i * side + j] = float(square) / 25.0f - mean * mean;
    }
  }
}

CHAIN(median_3) {
  static Padded<1> padded(input<u8>(in));
  new (&padded) Padded<1>(input<u8>(in));
  u8 *__restrict y = output<u8>(out);
  auto least = [](u8 a, u8 b) { return a < b ? a : b; };
  auto most = [](u8 a, u8 b) { return a > b ? a : b; };
  for (int i = 0; i < side; ++i) {
    const u8 *__restrict a = padded.rows[i], *__restrict b = padded.rows[i + 1],
                         *__restrict c = padded.rows[i + 2];
    u8 low[side + 2], middle[side + 2], high[side + 2]; // of each column
    for (int j = 0; j < side + 2; ++j) {
      const u8 p = least(a[j], b[j]), q = most(a[j], b[j]);
      low[j] = least(p, c[j]);
      high[j] = most(q, c[j]);
      middle[j] = most(p, least(q, c[j]));
    }
    auto between = [&](u8 p, u8 q, u8 r) { return most(least(p, q), least(most(p, q), r)); };
    for (int j = 0; j < side; ++j)
      y[i * side + j] = between(most(most(low[j], low[j + 1]), low[j + 2]),
                                between(middle[j], middle[j + 1], middle[j + 2]),
                                least(least(high[j], high[j + 1]), high[j + 2]));
  }
}

CHAIN(argmax_c) {
  constexpr int n = 128 * 128;
  const float *__restrict x = input<float>(in);
  int64_t *__restrict y = output<int64_t>(out);
  for (int first = 0; first < n; first += 128) {
    float most[128];
    int best[128] = {};
    std::copy_n(x + first, 128, most);
    for (int c = 1; c < 21; ++c)
      for (int j = 0; j < 128; ++j) {
        const float p = x[c * n + first + j];
        best[j] = p > most[j] ? c : best[j];
        most[j] = p > most[j] ? p : most[j];
      }
    for (int j = 0; j < 128; ++j)
      y[first + j] = best[j];
  }
}

CHAIN(max_h) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  float most[3 * side];
  std::copy_n(x, 3 * side, most);
  for (int i = 1; i < side; ++i)
    for (int j = 0; j < 3 * side; ++j)
      most[j] = x[i * 3 * side + j] > most[j] ? x[i * 3 * side + j] : most[j];
  std::copy_n(most, 3 * side, y);
}

CHAIN(sum_h_pixels) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  float sums[3 * side] = {};
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < 3 * side; ++j)
      sums[j] += x[i * 3 * side + j];
  std::copy_n(sums, 3 * side, y);
}

CHAIN(one_hot) {
  const u8 *__restrict x = input<u8>(in);
  float *__restrict y = output<float>(out);
  for (int k = 0; k < 19; ++k)
    for (int i = 0; i < side * side; ++i)
      y[k * side * side + i] = x[i] == k ? 1.0f : 0.0f;
}

CHAIN(counts) {
  const u8 *__restrict x = input<u8>(in);
  int *__restrict y = output<int>(out);
  int bins[4][256] = {}; // neighbours are often equal
  for (int i = 0; i < side * side; i += 4)
    for (int k = 0; k < 4; ++k)
      ++bins[k][x[i + k]];
  for (int v = 0; v < 256; ++v)
    y[v] = bins[0][v] + bins[1][v] + bins[2][v] + bins[3][v];
}

CHAIN(lookup) {
  const u8 *__restrict x = input<u8>(in, 0);
  const float *__restrict table = input<float>(in, 1);
  float *__restrict y = output<float>(out);
  for (int i = 0; i < 3 * side * side; ++i)
    y[i] = table[x[i]];
}

/// The sum of what `of` makes of `count` elements, a multiple of 32.
template <typename Of> static float sumOf(int count, Of of) {
  float sums[32] = {}, all = 0;
  for (int i = 0; i < count; i += 32)
    for (int k = 0; k < 32; ++k)
      sums[k] += of(i + k);
  for (float sum : sums)
    all += sum;
  return all;
}

static void normalised(const float *__restrict x, float *__restrict y, int count) {
  const float mean = sumOf(count, [&](int i) { return x[i]; }) / float(count);
  const float square = sumOf(count, [&](int i) { return (x[i] - mean) * (x[i] - mean); });
  const float size = std::sqrt(square / float(count) + 0.00001f);
  for (int i = 0; i < count; ++i)
    y[i] = (x[i] - mean) / size;
}
CHAIN(norm_all) { normalised(input<float>(in), output<float>(out), 56 * 56 * 64); }
CHAIN(norm_planes) {
  for (int c = 0; c < 64; ++c)
    normalised(input<float>(in) + c * 3136, output<float>(out) + c * 3136, 3136);
}

CHAIN(masked_mean) {
  const float *__restrict x = input<float>(in, 0);
  const u8 *__restrict m = input<u8>(in, 1);
  float *__restrict y = output<float>(out);
  float sums[3][16] = {};
  int area = 0;
  for (int i = 0; i < side * side; i += 16)
    for (int k = 0; k < 16; ++k) {
      const float mask = m[i + k] > 100 ? 1.0f : 0.0f;
      area += m[i + k] > 100;
      for (int c = 0; c < 3; ++c)
        sums[c][k] += x[3 * (i + k) + c] * mask;
    }
  for (int c = 0; c < 3; ++c) {
    float all = 0;
    for (float sum : sums[c])
      all += sum;
    y[c] = all / std::max(float(area), 1.0f);
  }
}

CHAIN(cosine) {
  const float *__restrict a = input<float>(in, 0), *__restrict b = input<float>(in, 1);
  float *__restrict y = output<float>(out);
  for (int t = 0; t < 512; ++t) {
    float sums[3][16] = {}, all[3] = {};
    for (int i = 0; i < 128; i += 16)
      for (int k = 0; k < 16; ++k) {
        const float p = a[t * 128 + i + k], q = b[t * 128 + i + k];
        sums[0][k] += p * q;
        sums[1][k] += p * p;
        sums[2][k] += q * q;
      }
    for (int s = 0; s < 3; ++s)
      for (float sum : sums[s])
        all[s] += sum;
    y[t] = all[0] / std::sqrt(all[1] * all[2] + 0.00001f);
  }
}

CHAIN(distances) { // the second matrix turned first: that much is vectors
  const float *__restrict a = input<float>(in, 0), *__restrict b = input<float>(in, 1);
  float *__restrict y = output<float>(out);
  static float turned[32][128];
  for (int j = 0; j < 128; ++j)
    for (int k = 0; k < 32; ++k)
      turned[k][j] = b[j * 32 + k];
  for (int i = 0; i < 128; ++i)
    for (int first = 0; first < 128; first += 32) {
      float sums[32] = {};
      for (int k = 0; k < 32; ++k)
        for (int j = 0; j < 32; ++j) {
          const float d = a[i * 32 + k] - turned[k][first + j];
          sums[j] += d * d;
        }
      std::copy_n(sums, 32, y + i * 128 + first);
    }
}

CHAIN(thirds) {
  const u8 *__restrict x = input<u8>(in);
  u8 *__restrict y = output<u8>(out);
  for (int i = 0; i < 75; ++i) {
    uint16_t down[675];
    const u8 *__restrict p = x + 3 * i * 675;
    for (int j = 0; j < 675; ++j)
      down[j] = uint16_t(p[j] + p[675 + j] + p[1350 + j]);
    for (int j = 0; j < 75; ++j)
      for (int c = 0; c < 3; ++c)
        y[(i * 75 + j) * 3 + c] =
            u8((down[9 * j + c] + down[9 * j + 3 + c] + down[9 * j + 6 + c] + 4) / 9);
  }
}

CHAIN(mean_7_floats) { // rows first: that much is vectors
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int i = 0; i < side / 7; ++i) {
    float down[side] = {};
    for (int k = 0; k < 7; ++k)
      for (int j = 0; j < side; ++j)
        down[j] += x[(7 * i + k) * side + j];
    for (int j = 0; j < side / 7; ++j) {
      float sum = 0;
      for (int n = 0; n < 7; ++n)
        sum += down[7 * j + n];
      y[i * (side / 7) + j] = sum / 49.0f;
    }
  }
}

CHAIN(changes) {
  constexpr int frame = 112 * 112 * 3;
  const u8 *__restrict x = input<u8>(in);
  u8 *__restrict y = output<u8>(out);
  for (int i = 0; i < 7 * frame; ++i)
    y[i] = u8(std::max(x[i], x[i + frame]) - std::min(x[i], x[i + frame]));
}
