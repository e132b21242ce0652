// SPDX-License-Identifier: Apache-2.0
//
// The chains of bench/pipelines/unseen.pipe as one would write them in C: a fused loop nest
// each, in the order that suits a compiler that vectorises loops, without intrinsics.
#include "unseen_chain.h"

//===--- sums, scans, pools ---===//

CHAIN(sum_c) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int i = 0; i < side * side; ++i)
    y[i] = x[3 * i] + x[3 * i + 1] + x[3 * i + 2];
}

CHAIN(sum_w) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int r = 0; r < 3 * side; ++r) {
    float sums[32] = {};
    for (int j = 0; j < side; j += 32)
      for (int k = 0; k < 32; ++k)
        sums[k] += x[r * side + j + k];
    float all = 0;
    for (float sum : sums)
      all += sum;
    y[r] = all;
  }
}

CHAIN(sum_h) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int c = 0; c < 3; ++c) {
    float sums[side] = {};
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j)
        sums[j] += x[(c * side + i) * side + j];
    std::copy_n(sums, side, y + c * side);
  }
}

CHAIN(sum_hw) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  float sums[96] = {}, all[3] = {};
  for (int i = 0; i < 3 * side * side; i += 96)
    for (int k = 0; k < 96; ++k)
      sums[k] += x[i + k];
  for (int k = 0; k < 96; ++k)
    all[k % 3] += sums[k];
  std::copy_n(all, 3, y);
}

CHAIN(scan_h) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  float sums[side] = {};
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      y[i * side + j] = sums[j] += x[i * side + j];
}

CHAIN(scan_w) { // four rows at once, since each waits for itself
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int i = 0; i < side; i += 4) {
    float sums[4] = {};
    for (int j = 0; j < side; ++j)
      for (int k = 0; k < 4; ++k)
        y[(i + k) * side + j] = sums[k] += x[(i + k) * side + j];
  }
}

CHAIN(scan_c) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int i = 0; i < side * side; ++i) {
    float sum = 0;
    for (int c = 0; c < 4; ++c)
      y[4 * i + c] = sum += x[4 * i + c];
  }
}

CHAIN(integral) {
  const u8 *__restrict x = input<u8>(in);
  int *__restrict y = output<int>(out);
  for (int i = 0; i < side; ++i) {
    int row[side], sum = 0;
    for (int j = 0; j < side; ++j)
      row[j] = sum += x[i * side + j];
    for (int j = 0; j < side; ++j)
      y[i * side + j] = row[j] + (i ? y[(i - 1) * side + j] : 0);
  }
}

template <int size> static void means(const u8 *__restrict x, float *__restrict y) {
  for (int i = 0; i < side / size; ++i) {
    int sums[side / size] = {}; // whole numbers: the same bits as in floats
    for (int k = 0; k < size; ++k)
      for (int j = 0; j < side / size; ++j)
        for (int n = 0; n < size; ++n)
          sums[j] += x[(i * size + k) * side + j * size + n];
    for (int j = 0; j < side / size; ++j)
      y[i * (side / size) + j] = float(sums[j]) / (size * size);
  }
}
CHAIN(mean_2) { means<2>(input<u8>(in), output<float>(out)); }
CHAIN(mean_8) { means<8>(input<u8>(in), output<float>(out)); }

CHAIN(max_pool) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int r = 0; r < 8 * 56; ++r)
    for (int j = 0; j < 56; ++j) {
      const float *p = x + 2 * r * 112 + 2 * j;
      const float a = p[0] > p[1] ? p[0] : p[1], b = p[112] > p[113] ? p[112] : p[113];
      y[r * 56 + j] = a > b ? a : b;
    }
}

CHAIN(max_pool_3) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int c = 0; c < 8; ++c)
    for (int i = 0; i < 56; ++i) {
      const float *p = x + (c * 113 + 2 * i) * 113;
      float down[113]; // of three rows, then of three columns
      for (int j = 0; j < 113; ++j) {
        const float a = p[j] > p[j + 113] ? p[j] : p[j + 113];
        down[j] = a > p[j + 226] ? a : p[j + 226];
      }
      for (int j = 0; j < 56; ++j) {
        const float a = down[2 * j] > down[2 * j + 1] ? down[2 * j] : down[2 * j + 1];
        y[(c * 56 + i) * 56 + j] = a > down[2 * j + 2] ? a : down[2 * j + 2];
      }
    }
}

CHAIN(mean_7) { // rows first: that much is vectors
  const u8 *__restrict x = input<u8>(in);
  float *__restrict y = output<float>(out);
  for (int i = 0; i < side / 7; ++i) {
    uint16_t down[side] = {};
    for (int k = 0; k < 7; ++k)
      for (int j = 0; j < side; ++j)
        down[j] += x[(7 * i + k) * side + j];
    for (int j = 0; j < side / 7; ++j) {
      int sum = 0;
      for (int n = 0; n < 7; ++n)
        sum += down[7 * j + n];
      y[i * (side / 7) + j] = float(sum) / 49.0f;
    }
  }
}

CHAIN(plane_mean) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int c = 0; c < 1024; ++c) {
    const float *__restrict p = x + 49 * c;
    float sums[16], all = p[48];
    for (int k = 0; k < 16; ++k)
      sums[k] = p[k] + p[16 + k] + p[32 + k];
    for (float sum : sums)
      all += sum;
    y[c] = all / 49.0f;
  }
}

CHAIN(sum_last) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int r = 0; r < 56 * 56; ++r) {
    float sums[16] = {}, all = 0;
    for (int j = 0; j < 64; j += 16)
      for (int k = 0; k < 16; ++k)
        sums[k] += x[r * 64 + j + k];
    for (float sum : sums)
      all += sum;
    y[r] = all;
  }
}

CHAIN(argmax_last) {
  const float *__restrict x = input<float>(in);
  int64_t *__restrict y = output<int64_t>(out);
  for (int t = 0; t < 8192; ++t) {
    const float *__restrict row = x + 10 * t;
    int64_t best = 0;
    float most = row[0];
    for (int k = 1; k < 10; ++k) {
      best = row[k] > most ? k : best;
      most = row[k] > most ? row[k] : most;
    }
    y[t] = best;
  }
}

CHAIN(max_w) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int i = 0; i < side; i += 4) {
    float most[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int j = 0; j < side; ++j)
      for (int k = 0; k < 4; ++k) {
        const float p = x[(i + k) * side + j];
        y[(i + k) * side + j] = most[k] = p > most[k] ? p : most[k];
      }
  }
}

CHAIN(layer_norm) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int t = 0; t < 197; ++t) {
    const float *__restrict row = x + t * 192;
    float *__restrict to = y + t * 192;
    float sums[32] = {}, squares[32] = {}, sum = 0, square = 0;
    for (int k = 0; k < 192; k += 32)
      for (int n = 0; n < 32; ++n)
        sums[n] += row[k + n];
    for (float one : sums)
      sum += one;
    const float mean = sum / 192.0f;
    for (int k = 0; k < 192; k += 32)
      for (int n = 0; n < 32; ++n)
        squares[n] += (row[k + n] - mean) * (row[k + n] - mean);
    for (float one : squares)
      square += one;
    const float scale = std::sqrt(square / 192.0f + 0.00001f);
    for (int k = 0; k < 192; ++k)
      to[k] = (row[k] - mean) / scale;
  }
}

CHAIN(softmax_last) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int t = 0; t < 64; ++t) {
    const float *__restrict row = x + t * 1000;
    float *__restrict to = y + t * 1000;
    float most[8];
    std::copy_n(row, 8, most);
    for (int k = 0; k < 1000; k += 8)
      for (int n = 0; n < 8; ++n)
        most[n] = row[k + n] > most[n] ? row[k + n] : most[n];
    const float high = *std::max_element(most, most + 8);
    for (int k = 0; k < 1000; ++k)
      to[k] = expf(row[k] - high);
    float sums[8] = {}, all = 0;
    for (int k = 0; k < 1000; k += 8)
      for (int n = 0; n < 8; ++n)
        sums[n] += to[k + n];
    for (float sum : sums)
      all += sum;
    for (int k = 0; k < 1000; ++k)
      to[k] /= all;
  }
}

//===--- products ---===//

CHAIN(matmul) {
  const float *__restrict a = input<float>(in, 0), *__restrict b = input<float>(in, 1);
  float *__restrict y = output<float>(out);
  for (int i = 0; i < 128; i += 4) { // four rows share what is read of b
    for (int k = 0; k < 192; k += 64) {
      float sums[4][64] = {};
      for (int j = 0; j < 160; ++j)
        for (int r = 0; r < 4; ++r)
          for (int n = 0; n < 64; ++n)
            sums[r][n] += a[(i + r) * 160 + j] * b[j * 192 + k + n];
      for (int r = 0; r < 4; ++r)
        std::copy_n(sums[r], 64, y + (i + r) * 192 + k);
    }
  }
}

CHAIN(dct) {
  const u8 *__restrict x = input<u8>(in);
  float *__restrict y = output<float>(out);
  static float table[8][8], turned[8][8];
  static const bool made = [] {
    for (int i = 0; i < 8; ++i)
      for (int u = 0; u < 8; ++u)
        table[i][u] = turned[u][i] =
            float((u == 0 ? std::sqrt(0.125) : 0.5) * std::cos((2 * i + 1) * u * M_PI / 16));
    return true;
  }();
  (void)made;
  for (int h = 0; h < side / 8; ++h)
    for (int w = 0; w < side / 8; ++w) {
      float half[8][8] = {}, whole[8][8] = {}; // [u][j], [u][v]
      for (int i = 0; i < 8; ++i) {
        float row[8];
        for (int j = 0; j < 8; ++j)
          row[j] = float(x[(8 * h + i) * side + 8 * w + j]) - 128.0f;
        for (int u = 0; u < 8; ++u)
          for (int j = 0; j < 8; ++j)
            half[u][j] += row[j] * table[i][u];
      }
      for (int u = 0; u < 8; ++u)
        for (int j = 0; j < 8; ++j)
          for (int v = 0; v < 8; ++v)
            whole[u][v] += half[u][j] * table[j][v];
      std::memcpy(y + (h * (side / 8) + w) * 64, whole, sizeof whole);
    }
}

//===--- neighbours ---===//

CHAIN(lbp) {
  static Padded<1> padded(input<u8>(in));
  new (&padded) Padded<1>(input<u8>(in));
  u8 *__restrict y = output<u8>(out);
  for (int i = 0; i < side; ++i) {
    const u8 *__restrict a = padded.rows[i], *__restrict b = padded.rows[i + 1],
                         *__restrict c = padded.rows[i + 2];
    for (int j = 0; j < side; ++j) {
      const u8 p = b[j + 1];
      y[i * side + j] =
          u8((a[j] >= p) | (a[j + 1] >= p) << 1 | (a[j + 2] >= p) << 2 | (b[j + 2] >= p) << 3 |
             (c[j + 2] >= p) << 4 | (c[j + 1] >= p) << 5 | (c[j] >= p) << 6 | (b[j] >= p) << 7);
    }
  }
}

CHAIN(bilateral) {
  static const float near[5][5] = {{0.1f, 0.3f, 0.4f, 0.3f, 0.1f},
                                   {0.3f, 0.7f, 0.9f, 0.7f, 0.3f},
                                   {0.4f, 0.9f, 1.0f, 0.9f, 0.4f},
                                   {0.3f, 0.7f, 0.9f, 0.7f, 0.3f},
                                   {0.1f, 0.3f, 0.4f, 0.3f, 0.1f}};
  static Padded<2> padded(input<u8>(in));
  new (&padded) Padded<2>(input<u8>(in));
  float *__restrict y = output<float>(out);
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j) {
      float total = 0, weights = 0;
      const float p = padded.rows[i + 2][j + 2];
      for (int k = 0; k < 5; ++k)
        for (int n = 0; n < 5; ++n) {
          const float q = padded.rows[i + k][j + n], d = q - p;
          const float weight = near[k][n] / (1.0f + d * d * 0.01f);
          total += weight * q;
          weights += weight;
        }
      y[i * side + j] = total / weights;
    }
}

CHAIN(edges) {
  static Padded<1> padded(input<u8>(in));
  new (&padded) Padded<1>(input<u8>(in));
  u8 *__restrict y = output<u8>(out);
  static int gx[side][side], gy[side][side], size[side + 2][side + 2];
  for (int i = 0; i < side; ++i) {
    const u8 *__restrict a = padded.rows[i], *__restrict b = padded.rows[i + 1],
                         *__restrict c = padded.rows[i + 2];
    for (int j = 0; j < side; ++j) {
      const int across = a[j + 2] + 2 * b[j + 2] + c[j + 2] - a[j] - 2 * b[j] - c[j];
      const int down = c[j] + 2 * c[j + 1] + c[j + 2] - a[j] - 2 * a[j + 1] - a[j + 2];
      gx[i][j] = across;
      gy[i][j] = down;
      size[i + 1][j + 1] = std::abs(across) + std::abs(down);
    }
    size[i + 1][0] = size[i + 1][1];
    size[i + 1][side + 1] = size[i + 1][side];
  }
  std::memcpy(size[0], size[1], sizeof size[0]);
  std::memcpy(size[side + 1], size[side], sizeof size[0]);
  for (int i = 0; i < side; ++i) {
    const int *__restrict t = size[i], *__restrict m = size[i + 1], *__restrict b = size[i + 2];
    for (int j = 0; j < side; ++j) {
      const int p = gx[i][j], q = gy[i][j], s = m[j + 1];
      const int across = std::max(m[j], m[j + 2]), down = std::max(t[j + 1], b[j + 1]);
      const int falling = std::max(t[j], b[j + 2]), rising = std::max(t[j + 2], b[j]);
      const int slanted = (p < 0) == (q < 0) ? falling : rising;
      const int steep = 5 * std::abs(p) < 2 * std::abs(q) ? down : slanted;
      const int other = 5 * std::abs(q) < 2 * std::abs(p) ? across : steep;
      y[i * side + j] = u8(s >= other ? std::min(s / 4, 255) : 0);
    }
  }
}

/// `better` of five each way: across, then down.
template <typename Better>
static void extreme(const u8 *__restrict x, u8 *__restrict y, Better better) {
  static u8 across[side + 4][side];
  for (int i = 0; i < side; ++i) {
    u8 row[side + 4];
    std::memset(row, x[i * side], 2);
    std::memcpy(row + 2, x + i * side, side);
    std::memset(row + 2 + side, x[i * side + side - 1], 2);
    for (int j = 0; j < side; ++j)
      across[i + 2][j] =
          better(better(better(row[j], row[j + 1]), better(row[j + 2], row[j + 3])), row[j + 4]);
  }
  for (int i : {0, 1}) {
    std::memcpy(across[i], across[2], side);
    std::memcpy(across[side + 2 + i], across[side + 1], side);
  }
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      y[i * side + j] = better(better(better(across[i][j], across[i + 1][j]),
                                      better(across[i + 2][j], across[i + 3][j])),
                               across[i + 4][j]);
}
CHAIN(top_hat) {
  const u8 *__restrict x = input<u8>(in);
  u8 *__restrict y = output<u8>(out);
  static u8 low[side * side];
  extreme(x, low, [](u8 a, u8 b) { return a < b ? a : b; });
  extreme(low, y, [](u8 a, u8 b) { return a > b ? a : b; });
  for (int i = 0; i < side * side; ++i)
    y[i] = u8(x[i] - y[i]);
}

//===--- pieces, places ---===//

CHAIN(tiles) {
  const u8 *__restrict x = input<u8>(in);
  float *__restrict y = output<float>(out);
  for (int h = 0; h < side / 16; ++h)
    for (int w = 0; w < side / 16; ++w)
      for (int c = 0; c < 3; ++c)
        for (int i = 0; i < 16; ++i)
          for (int j = 0; j < 16; ++j)
            y[(((h * (side / 16) + w) * 3 + c) * 16 + i) * 16 + j] =
                float(x[((16 * h + i) * side + 16 * w + j) * 3 + c]) / 255.0f;
}

CHAIN(ycbcr) {
  const u8 *__restrict x = input<u8>(in);
  u8 *__restrict y = output<u8>(out, 0), *__restrict cb = output<u8>(out, 1),
                 *__restrict cr = output<u8>(out, 2);
  auto clamped = [](int v) { return u8(std::clamp(v, 0, 255)); };
  for (int i = 0; i < side * side; ++i)
    y[i] = clamped((19595 * x[3 * i] + 38470 * x[3 * i + 1] + 7471 * x[3 * i + 2] + 32768) >> 16);
  for (int i = 0; i < side / 2; ++i)
    for (int j = 0; j < side / 2; ++j) {
      const u8 *a = x + (2 * i * side + 2 * j) * 3, *b = a + 3 * side;
      const int red = a[0] + a[3] + b[0] + b[3], green = a[1] + a[4] + b[1] + b[4],
                blue = a[2] + a[5] + b[2] + b[5];
      cb[i * (side / 2) + j] =
          clamped((-11059 * red - 21709 * green + 32768 * blue + 33685504) >> 18);
      cr[i * (side / 2) + j] =
          clamped((32768 * red - 27439 * green - 5329 * blue + 33685504) >> 18);
    }
}

CHAIN(hog) {
  const u8 *__restrict x = input<u8>(in);
  float *__restrict y = output<float>(out);
  std::memset(y, 0, size_t(side / 8) * (side / 8) * 9 * sizeof(float));
  for (int i = 0; i < side; ++i) {
    const u8 *__restrict above = x + inside(i - 1, side) * side,
                         *__restrict below = x + inside(i + 1, side) * side,
                         *__restrict here = x + i * side;
    float size[side];
    int bin[side];
    for (int j = 0; j < side; ++j) {
      const float a = float(here[j < side - 1 ? j + 1 : j]) - float(here[j > 0 ? j - 1 : 0]),
                  b = float(below[j]) - float(above[j]);
      size[j] = std::sqrt(a * a + b * b);
      const float p = b < 0 ? -a : a, q = std::fabs(b);
      bin[j] = (q * 0.93969262f > p * 0.34202014f) + (q * 0.76604444f > p * 0.64278761f) +
               (q * 0.5f > p * 0.8660254f) + (q * 0.17364818f > p * 0.98480775f) +
               (q * -0.17364818f > p * 0.98480775f) + (q * -0.5f > p * 0.8660254f) +
               (q * -0.76604444f > p * 0.64278761f) + (q * -0.93969262f > p * 0.34202014f);
    }
    for (int j = 0; j < side; ++j)
      y[(i / 8 * (side / 8) + j / 8) * 9 + bin[j]] += size[j];
  }
}

CHAIN(matched) {
  const u8 *__restrict x = input<u8>(in, 0), *__restrict like = input<u8>(in, 1);
  u8 *__restrict y = output<u8>(out);
  int mine[4][256] = {}, theirs[4][256] = {}; // neighbours are often equal
  for (int i = 0; i < side * side; i += 4)
    for (int k = 0; k < 4; ++k) {
      ++mine[k][x[i + k]];
      ++theirs[k][like[i + k]];
    }
  u8 table[256];
  int place = 0, sum = 0, reached = theirs[0][0] + theirs[1][0] + theirs[2][0] + theirs[3][0];
  for (int v = 0; v < 256; ++v) {
    sum += mine[0][v] + mine[1][v] + mine[2][v] + mine[3][v];
    while (place < 256 && reached < sum) {
      ++place;
      if (place < 256)
        reached += theirs[0][place] + theirs[1][place] + theirs[2][place] + theirs[3][place];
    }
    table[v] = u8(std::min(place, 255));
  }
  for (int i = 0; i < side * side; ++i)
    y[i] = table[x[i]];
}

CHAIN(affine_3d) {
  const float *__restrict x = input<float>(in);
  float *__restrict y = output<float>(out);
  for (int k = 0; k < 32; ++k)
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 64; ++j) {
        const double a = 0.95 * k + 0.10 * i - 0.05 * j + 1.03137,
                     b = 0.90 * i - 0.10 * k + 0.20 * j + 0.51713;
        const double c = 0.97 * j - 0.20 * i + 0.05 * k + 4.07219;
        if (!(a >= 0 && a < 32 && b >= 0 && b < 64 && c >= 0 && c < 64)) {
          y[(k * 64 + i) * 64 + j] = 0;
          continue;
        }
        const int z0 = int(std::floor(a - 0.5)), h0 = int(std::floor(b - 0.5)),
                  w0 = int(std::floor(c - 0.5));
        const float dz = float(a - 0.5 - z0), dh = float(b - 0.5 - h0), dw = float(c - 0.5 - w0);
        const int zs[2] = {inside(z0, 32), inside(z0 + 1, 32)},
                  hs[2] = {inside(h0, 64), inside(h0 + 1, 64)},
                  ws[2] = {inside(w0, 64), inside(w0 + 1, 64)};
        float planes[2];
        for (int n = 0; n < 2; ++n) {
          float rows[2];
          for (int m = 0; m < 2; ++m) {
            const float *p = x + (zs[n] * 64 + hs[m]) * 64;
            rows[m] = p[ws[0]] + (p[ws[1]] - p[ws[0]]) * dw;
          }
          planes[n] = rows[0] + (rows[1] - rows[0]) * dh;
        }
        y[(k * 64 + i) * 64 + j] = planes[0] + (planes[1] - planes[0]) * dz;
      }
}
