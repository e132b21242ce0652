// SPDX-License-Identifier: Apache-2.0
//
// One decoder for all image formats.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/jpeg/JpegDecoder.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::runtime {

/// Decodes regions of the files that probeImage() accepts; the first bytes tell
/// the format. docs/media.md has the meaning of `format` for each, and what is
/// damage. One object serves one thread and keeps its memory from image to
/// image.
class ImageDecoder {
public:
  using Beside = JpegDecoder::Beside;

  ImageDecoder() : ImageDecoder(ImageLimits()) {}
  explicit ImageDecoder(const ImageLimits &limits) : limits(limits), jpeg({limits, false}) {}

  /// Writes the region's pixels to `out`: row y begins at `out + y * rowStride`
  /// and has `region.width * pixelBytes(format)` bytes. 16 bits are had of files that have
  /// them, else Unsupported. The region must not be empty, and lie within the image, else
  /// InvalidArgument. On failure, `out` may be partly written. `stats` is added to. `indexes`: see
  /// JpegDecoder.
  Status decodeRegion(std::span<const uint8_t> bytes, PixelFormat format, const Region &region,
                      uint8_t *out, size_t rowStride, DecodeStats &stats,
                      Beside beside = Beside::Kept, EntropyIndexes *indexes = nullptr);

  /// As JpegDecoder has them; other formats have none.
  std::optional<Planes> planesFor(std::span<const uint8_t> bytes, const Region &region) const {
    return jpeg.planesFor(bytes, region);
  }
  Status decodePlanes(std::span<const uint8_t> bytes, const Planes &planes, uint8_t *out,
                      DecodeStats &stats, EntropyIndexes *indexes = nullptr) {
    return jpeg.decodePlanes(bytes, planes, out, stats, indexes);
  }

  /// Checks a file of which no pixel is needed: returns the error that decodeRegion() would find
  /// in the file as a whole, such as its being cut off.
  Status checkEnd(std::span<const uint8_t> bytes, DecodeStats &stats);

private:
  ImageLimits limits;
  JpegDecoder jpeg;
  Buffer work;
};

} // namespace penstock::runtime
