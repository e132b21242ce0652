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

uint8_t pixel(int32_t value, int shift) { return uint8_t(std::clamp(value >> shift, 0, 255)); }

template <typename Sample> Sample sampleAt(const uint8_t *row, ptrdiff_t step, size_t x) {
  return *reinterpret_cast<const Sample *>(row + ptrdiff_t(x) * step);
}

} // namespace

template <typename Sample>
void VideoColor::convertRows(const pst_video_frame &frame, PixelFormat format, const Region &region,
                             uint8_t *out, size_t rowStride) {
  const Factors f = factorsOf(frame, weightsOf(frame.is_rgb ? 2 : frame.matrix).value());
  const size_t width = region.width;
  const int32_t half = 1 << (f.shift - 1);
  const bool gray = format == PixelFormat::Gray;
  const bool flat = frame.components == 1 || (gray && !frame.is_rgb);
  for (auto *row : {&luma, &red, &green, &blue})
    row->resize(width);
  auto scaled = [&](int component, uint32_t y, std::vector<int32_t> &to) {
    const pst_video_plane &plane = frame.planes[component];
    const uint8_t *row = plane.data + ptrdiff_t(y) * plane.stride + region.left * plane.step;
    for (size_t x = 0; x < width; ++x)
      to[x] = f.luma * (int32_t(sampleAt<Sample>(row, plane.step, x)) - f.black) + half;
  };
  // What chroma adds, the same for all rows that share its samples.
  auto spread = [&](uint32_t y) {
    const pst_video_plane &u = frame.planes[1], &v = frame.planes[2];
    const uint8_t *uRow = u.data + ptrdiff_t(y) * u.stride,
                  *vRow = v.data + ptrdiff_t(y) * v.stride;
    for (size_t x = 0; x < width; ++x) {
      const size_t at = (region.left + x) >> frame.shift_x;
      const int32_t cb = int32_t(sampleAt<Sample>(uRow, u.step, at)) - f.neutral;
      const int32_t cr = int32_t(sampleAt<Sample>(vRow, v.step, at)) - f.neutral;
      red[x] = f.redV * cr;
      green[x] = -f.greenU * cb - f.greenV * cr;
      blue[x] = f.blueU * cb;
    }
  };
  for (uint32_t i = 0; i < region.height; ++i, out += rowStride) {
    const uint32_t y = region.top + i;
    if (frame.is_rgb) {
      scaled(0, y, red), scaled(1, y, green), scaled(2, y, blue);
      std::fill(luma.begin(), luma.end(), 0);
    } else {
      scaled(0, y, luma);
      if (!flat && (i == 0 || (y & ((1u << frame.shift_y) - 1)) == 0))
        spread(y >> frame.shift_y);
    }
    if (flat) {
      for (size_t x = 0; x < width; ++x) {
        const uint8_t value = pixel(luma[x], f.shift);
        if (gray)
          out[x] = value;
        else
          out[3 * x] = out[3 * x + 1] = out[3 * x + 2] = value;
      }
      continue;
    }
    for (size_t x = 0; x < width; ++x) {
      const uint8_t r = pixel(luma[x] + red[x], f.shift), g = pixel(luma[x] + green[x], f.shift),
                    b = pixel(luma[x] + blue[x], f.shift);
      if (gray) {
        out[x] = uint8_t((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
      } else {
        out[3 * x] = r;
        out[3 * x + 1] = g;
        out[3 * x + 2] = b;
      }
    }
  }
}

Status VideoColor::convert(const pst_video_frame &frame, PixelFormat format, const Region &region,
                           uint8_t *out, size_t rowStride) {
  if (!frame.is_rgb && !weightsOf(frame.matrix))
    return Error{Code::Unsupported, "frames with the colour matrix number " +
                                        std::to_string(frame.matrix) +
                                        " are not converted to pixels here"};
  if (frame.depth > 8)
    convertRows<uint16_t>(frame, format, region, out, rowStride);
  else
    convertRows<uint8_t>(frame, format, region, out, rowStride);
  return {};
}

} // namespace penstock::runtime
