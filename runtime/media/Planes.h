// SPDX-License-Identifier: Apache-2.0
//
// A picture as luma and chroma, before upsampling and colour conversion.
#pragma once

#include "runtime/media/Image.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::runtime {

/// Planes of which the pixels of a region are made: its luma, and the samples of Cb and Cr that
/// upsampling reads for it, one beyond the region on each side where the picture has one. Along an
/// axis that is halved, libjpeg's triangle filter makes two pixels of a chroma sample.
/// compiler/Transforms/PlanesKernel.cpp has the arithmetic.
struct Planes {
  Region luma;   ///< the region, in pixels
  Region chroma; ///< in samples of a chroma plane
  bool halvesRows = false, halvesColumns = false;

  /// Returns the region of plane Y, Cb or Cr.
  const Region &part(size_t plane) const { return plane == 0 ? luma : chroma; }
  /// Bytes from row to row, a multiple of 16, the size of a GPU's copies.
  size_t stride(size_t plane) const { return (size_t(part(plane).width) + 15) / 16 * 16; }
  /// The planes lie one behind the other, each at a multiple of 64.
  size_t offset(size_t plane) const {
    return plane == 0
               ? 0
               : (offset(plane - 1) + stride(plane - 1) * part(plane - 1).height + 63) / 64 * 64;
  }
  size_t bytes() const { return offset(3); }
  bool isEmpty() const { return luma.height == 0; }

  /// Offsets of the region's pixel (0, 0) from the first pixel of the first chroma sample.
  uint32_t rowPhase() const { return luma.top - (chroma.top << halvesRows); }
  uint32_t columnPhase() const { return luma.left - (chroma.left << halvesColumns); }
};

} // namespace penstock::runtime
