// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/Orientation.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock::runtime {

Orientation::Orientation(int exif)
    : transposed(exif >= 5 && exif <= 8),
      flipsRows(exif == 3 || exif == 4 || exif == 6 || exif == 7),
      flipsColumns(exif == 2 || exif == 3 || exif == 7 || exif == 8) {}

Region Orientation::stored(const Region &upright, uint32_t height, uint32_t width) const {
  Region region = upright;
  if (transposed)
    region = {upright.left, upright.top, upright.width, upright.height};
  if (flipsRows)
    region.top = height - region.top - region.height;
  if (flipsColumns)
    region.left = width - region.left - region.width;
  return region;
}

void Orientation::copy(const uint8_t *from, const Region &upright, uint32_t pixelBytes,
                       uint8_t *out, size_t rowStride) const {
  const ptrdiff_t pixel = ptrdiff_t(pixelBytes);
  uint32_t rows = upright.height, columns = upright.width; // as stored
  if (transposed)
    std::swap(rows, columns);
  // Steps in the stored pixels for one row and one column of the upright ones.
  ptrdiff_t down = pixel * ptrdiff_t(columns), right = pixel;
  if (flipsRows) {
    from += down * (ptrdiff_t(rows) - 1);
    down = -down;
  }
  if (flipsColumns) {
    from += right * (ptrdiff_t(columns) - 1);
    right = -right;
  }
  if (transposed)
    std::swap(down, right);
  // In squares, so that what a column reads is still in the cache for the next.
  constexpr uint32_t side = 32;
  for (uint32_t top = 0; top < upright.height; top += side)
    for (uint32_t left = 0; left < upright.width; left += side)
      for (uint32_t y = top; y < std::min(top + side, upright.height); ++y) {
        const uint8_t *in = from + ptrdiff_t(y) * down + ptrdiff_t(left) * right;
        uint8_t *to = out + size_t(y) * rowStride + size_t(left) * pixelBytes;
        const uint32_t count = std::min(side, upright.width - left);
        for (uint32_t x = 0; x < count; ++x, in += right, to += pixelBytes)
          std::memcpy(to, in, pixelBytes);
      }
}

} // namespace penstock::runtime
