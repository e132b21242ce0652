// SPDX-License-Identifier: Apache-2.0
//
// Windows bitmaps: a reader of our own, since no row depends on another.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/Pixels.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::runtime {

struct BmpInfo {
  uint32_t width = 0;
  uint32_t height = 0;
  bool topDown = false; ///< rows as they are seen, not from the last one up
  unsigned bits = 24;   ///< per pixel: 1, 4, 8 (indices), 16, 24, 32
  unsigned runBits = 0; ///< of indices in run lengths: 4 or 8; 0: all pixels are there
  /// The bits of a channel in a pixel: to shift and to keep.
  struct Channel {
    unsigned shift = 0;
    unsigned bits = 8;
  };
  Channel red, green, blue;
  size_t pixels = 0; ///< where the first row begins
  size_t stride = 0; ///< bytes of a row
  size_t palette = 0;
  unsigned colours = 0;     ///< of the palette
  unsigned colourBytes = 4; ///< of one of its colours
};

/// Headers of 12 (OS/2), 40, 64, 108 and 124 bytes; uncompressed pixels, run
/// lengths and bit fields. Never reads outside `bytes`; what it accepts is whole,
/// but for run lengths.
///
/// Errors: Unsupported for bit fields that Pillow does not know either; Limit;
/// Truncated, where the pixels are not all there; Corrupt.
Result<BmpInfo> probeBmp(std::span<const uint8_t> bytes, const ImageLimits &limits = {});

/// As Pillow's convert("RGB") and convert("L"); alpha is dropped. Run lengths are
/// expanded as a whole, into `work`.
Status decodeBmp(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                 Buffer &work, DecodeStats &stats);
/// Checks that run lengths make up the whole picture.
Status checkBmp(std::span<const uint8_t> bytes, const ImageLimits &limits, Buffer &work);

} // namespace penstock::runtime
