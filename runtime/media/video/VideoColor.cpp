// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/VideoColor.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace penstock::runtime {

namespace {

/// Weights of red and blue in luma.
struct Weights {
  double red, blue;
};

std::optional<Weights> weightsOf(int matrix) {
  switch (matrix) { // MatrixCoefficients
  case 1:
    return Weights{0.2126, 0.0722}; // BT.709
  case 4:
    return Weights{0.30, 0.11}; // FCC
  case 2:                       // not said
  case 3:
  case 5:
  case 6:
    return Weights{0.299, 0.114}; // BT.601
  case 7:
    return Weights{0.212, 0.087}; // SMPTE 240M
  case 9:
    return Weights{0.2627, 0.0593}; // BT.2020
  default:
    return std::nullopt;
  }
}

/// Multiples of 2^-(16 + depth - 8).
struct Factors {
  int32_t luma, black, neutral;
  int32_t redV, greenU, greenV, blueU;
  int shift;
};

Factors factorsOf(const pst_video_frame &frame, Weights weights) {
  const int extra = frame.depth - 8;
  const double ones = double((1 << frame.depth) - 1), eight = double(1 << extra);
  const bool full = frame.full_range || frame.is_rgb;
  const double scale = full ? 255 * eight / ones : 255.0 / 219;
  const double chroma = 2 * (full ? 255 * eight / ones : 255.0 / 224);
  const double green = 1 - weights.red - weights.blue;
  auto fixed = [](double value) { return int32_t(std::lround(65536 * value)); };
  Factors f{};
  f.luma = fixed(scale);
  f.black = full ? 0 : 16 << extra;
  f.neutral = 128 << extra;
  f.redV = fixed(chroma * (1 - weights.red));
  f.blueU = fixed(chroma * (1 - weights.blue));
  f.greenU = fixed(chroma * weights.blue * (1 - weights.blue) / green);
  f.greenV = fixed(chroma * weights.red * (1 - weights.red) / green);
  f.shift = 16 + extra;
  return f;
}

// Everything below is compiled twice, plain and for AVX2: the loops are written so
// that compilers find their lanes.
#define PENSTOCK_INLINE inline __attribute__((always_inline))

PENSTOCK_INLINE uint8_t pixel(int32_t value, int shift) {
  return uint8_t(std::clamp(value >> shift, 0, 255));
}

/// The samples of a row of a plane, from column `left` on, side by side.
template <typename Sample>
PENSTOCK_INLINE const Sample *samplesOf(const pst_video_plane &plane, size_t y, size_t left,
                                        size_t count, std::vector<uint16_t> &gathered) {
  const uint8_t *row = plane.data + ptrdiff_t(y) * plane.stride + ptrdiff_t(left) * plane.step;
  if (plane.step == int32_t(sizeof(Sample)))
    return reinterpret_cast<const Sample *>(row);
  gathered.resize(count);
  auto *out = reinterpret_cast<Sample *>(gathered.data());
  for (size_t x = 0; x < count; ++x)
    out[x] = *reinterpret_cast<const Sample *>(row + ptrdiff_t(x) * plane.step);
  return out;
}

/// Repeats each of `count` numbers 2^shift times, in place.
PENSTOCK_INLINE void repeat(int32_t *numbers, size_t count, int shift, int32_t *scratch) {
  for (; shift > 0; --shift, count *= 2) {
    std::copy_n(numbers, count, scratch);
    for (size_t i = 0; i < count; ++i)
      numbers[2 * i] = numbers[2 * i + 1] = scratch[i];
  }
}

PENSTOCK_INLINE void mix(const int32_t *luma, const int32_t *red, const int32_t *green,
                         const int32_t *blue, size_t width, int shift, bool gray, uint8_t *out) {
  if (gray) {
    for (size_t x = 0; x < width; ++x)
      out[x] = uint8_t((19595 * pixel(luma[x] + red[x], shift) +
                        38470 * pixel(luma[x] + green[x], shift) +
                        7471 * pixel(luma[x] + blue[x], shift) + 32768) >>
                       16);
    return;
  }
  for (size_t x = 0; x < width; ++x) {
    out[3 * x] = pixel(luma[x] + red[x], shift);
    out[3 * x + 1] = pixel(luma[x] + green[x], shift);
    out[3 * x + 2] = pixel(luma[x] + blue[x], shift);
  }
}

/// Numbers of one row before the last shift.
struct Rows {
  std::vector<int32_t> &luma, &red, &green, &blue;
  std::vector<uint16_t> gathered[2];
};

template <typename Sample>
PENSTOCK_INLINE void convertRows(const pst_video_frame &frame, const Factors &f, PixelFormat format,
                                 const Region &region, Rows &rows, uint8_t *out, size_t rowStride) {
  const size_t width = region.width;
  const int shiftX = frame.shift_x;
  const size_t firstChroma = region.left >> shiftX, skipped = region.left & ((1u << shiftX) - 1);
  const size_t chroma = (skipped + width + (size_t(1) << shiftX) - 1) >> shiftX;
  const int32_t half = 1 << (f.shift - 1);
  const bool gray = format == PixelFormat::Gray;
  const bool flat = frame.components == 1 || (gray && !frame.is_rgb);
  for (auto *row : {&rows.luma, &rows.red, &rows.green, &rows.blue})
    row->assign((chroma << shiftX) + 8, 0);
  int32_t *luma = rows.luma.data();
  int32_t *added[3] = {rows.red.data(), rows.green.data(), rows.blue.data()};
  auto scale = [&](int component, size_t y, int32_t *to) {
    const Sample *from =
        samplesOf<Sample>(frame.planes[component], y, region.left, width, rows.gathered[0]);
    for (size_t x = 0; x < width; ++x)
      to[x] = f.luma * (int32_t(from[x]) - f.black) + half;
  };
  for (uint32_t i = 0; i < region.height; ++i, out += rowStride) {
    const uint32_t y = region.top + i;
    if (frame.is_rgb) {
      for (int component = 0; component < 3; ++component)
        scale(component, y, added[component]);
    } else if (!flat && (i == 0 || (y & ((1u << frame.shift_y) - 1)) == 0)) {
      // The contribution of chroma, the same for all rows that share its samples.
      const Sample *u = samplesOf<Sample>(frame.planes[1], y >> frame.shift_y, firstChroma, chroma,
                                          rows.gathered[0]);
      const Sample *v = samplesOf<Sample>(frame.planes[2], y >> frame.shift_y, firstChroma, chroma,
                                          rows.gathered[1]);
      for (size_t x = 0; x < chroma; ++x) {
        const int32_t cb = int32_t(u[x]) - f.neutral, cr = int32_t(v[x]) - f.neutral;
        added[0][x] = f.redV * cr;
        added[1][x] = -f.greenU * cb - f.greenV * cr;
        added[2][x] = f.blueU * cb;
      }
      for (int32_t *numbers : added)
        repeat(numbers, chroma, shiftX, luma);
    }
    if (!frame.is_rgb)
      scale(0, y, luma);
    if (!flat) {
      mix(luma, added[0] + skipped, added[1] + skipped, added[2] + skipped, width, f.shift, gray,
          out);
      continue;
    }
    for (size_t x = 0; x < width; ++x) {
      const uint8_t value = pixel(luma[x], f.shift);
      if (gray)
        out[x] = value;
      else
        out[3 * x] = out[3 * x + 1] = out[3 * x + 2] = value;
    }
  }
}

void convertPlain(const pst_video_frame &frame, const Factors &f, PixelFormat format,
                  const Region &region, Rows &rows, uint8_t *out, size_t rowStride) {
  if (frame.depth > 8)
    convertRows<uint16_t>(frame, f, format, region, rows, out, rowStride);
  else
    convertRows<uint8_t>(frame, f, format, region, rows, out, rowStride);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void convertAvx2(const pst_video_frame &frame, const Factors &f,
                                                 PixelFormat format, const Region &region,
                                                 Rows &rows, uint8_t *out, size_t rowStride) {
  if (frame.depth > 8)
    convertRows<uint16_t>(frame, f, format, region, rows, out, rowStride);
  else
    convertRows<uint8_t>(frame, f, format, region, rows, out, rowStride);
}
#endif

} // namespace

Status VideoColor::convert(const pst_video_frame &frame, PixelFormat format, const Region &region,
                           uint8_t *out, size_t rowStride) {
  if (!frame.is_rgb && !weightsOf(frame.matrix))
    return Error{Code::Unsupported, "frames with the colour matrix number " +
                                        std::to_string(frame.matrix) +
                                        " are not converted to pixels here"};
  const Factors factors = factorsOf(frame, weightsOf(frame.is_rgb ? 2 : frame.matrix).value());
  Rows rows{luma, red, green, blue, {}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    convertAvx2(frame, factors, format, region, rows, out, rowStride);
    return {};
  }
#endif
  convertPlain(frame, factors, format, region, rows, out, rowStride);
  return {};
}

} // namespace penstock::runtime
