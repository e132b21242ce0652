// SPDX-License-Identifier: Apache-2.0
//
// EXIF orientation: the stored places of the upright image's pixels.
#pragma once

#include "runtime/media/Image.h"

#include <cstddef>
#include <cstdint>

namespace penstock::runtime {

/// One of the eight orientations, as a change of coordinates: the upright pixel
/// (y, x) is the stored pixel (y, x) or, where transposed, (x, y), counted from
/// the last row or column where these are flipped. Upright is what Pillow's
/// ImageOps.exif_transpose gives.
class Orientation {
public:
  /// \param exif  1 ... 8; anything else counts as 1.
  explicit Orientation(int exif);

  bool isUpright() const { return !transposed && !flipsRows && !flipsColumns; }
  /// Returns whether the stored image's width is the upright one's height.
  bool isTransposed() const { return transposed; }

  /// Returns the region of the stored image, of `height` rows and `width` columns, that a region of
  /// the upright image shows.
  Region stored(const Region &upright, uint32_t height, uint32_t width) const;
  /// Copies the stored pixels of `stored(upright)`, row after row without gaps,
  /// to where they belong in the upright region.
  void copy(const uint8_t *from, const Region &upright, uint32_t pixelBytes, uint8_t *out,
            size_t rowStride) const;

private:
  bool transposed, flipsRows, flipsColumns;
};

} // namespace penstock::runtime
