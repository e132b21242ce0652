// SPDX-License-Identifier: Apache-2.0
//
// Types shared by all image decoders and encoders: pixel formats, regions, limits and statistics.
#pragma once

#include "runtime/core/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::runtime {

/// Interleaved rows of bytes, or of u16 or f32 as this machine has them. `Index` is the number that
/// a file has of each pixel, whatever colour or gray it stands for.
enum class PixelFormat : uint8_t { Rgb, Gray, Index, Rgb16, Gray16, RgbFloat, GrayFloat };

inline bool isColour(PixelFormat format) {
  return format == PixelFormat::Rgb || format == PixelFormat::Rgb16 ||
         format == PixelFormat::RgbFloat;
}
inline uint32_t channelsOf(PixelFormat format) { return isColour(format) ? 3 : 1; }
inline uint32_t channelBytes(PixelFormat format) {
  return format <= PixelFormat::Index ? 1 : format <= PixelFormat::Gray16 ? 2 : 4;
}
inline uint32_t pixelBytes(PixelFormat format) { return channelsOf(format) * channelBytes(format); }

/// A box of pixels; `top` and `left` count from the upper left corner of the
/// image as stored (before any EXIF orientation).
struct Region {
  uint32_t top = 0;
  uint32_t left = 0;
  uint32_t height = 0;
  uint32_t width = 0;
};

/// The pixels to decode, and their place: row y of the region begins at `out + y * rowStride`.
struct Target {
  PixelFormat format = PixelFormat::Rgb;
  Region region;
  uint8_t *out = nullptr;
  size_t rowStride = 0;
};

/// Pixels to encode: row y begins at `rows + y * rowStride`.
struct Picture {
  const uint8_t *rows = nullptr;
  size_t rowStride = 0;
  uint32_t height = 0;
  uint32_t width = 0;
  PixelFormat format = PixelFormat::Rgb;
};
/// Returns InvalidArgument unless both sides are 1 ... 65,500 pixels.
Status checkSides(const Picture &picture);

/// The decoder of a JPEG file's entropy-coded data: ours, or libjpeg's, by the reason.
enum class EntropyPath : uint8_t {
  Own,
  OtherCoding,  ///< arithmetic; without checkpoints, also progressive
  SeveralScans, ///< missing, repeated or too many; without checkpoints, any number
  OddHeader,    ///< segments that libjpeg refuses or takes in its own way
  NoEnd,        ///< no end-of-image marker, and not one scan that is complete
  OddData,      ///< codes, restart markers or lengths that are not right
  OtherLibrary, ///< libjpeg's inside is not as expected
};
inline constexpr size_t entropyPathCount = 7;
/// "own", "other_coding" ...
const char *nameOf(EntropyPath path);

/// Costs of decoding, summed over calls.
struct DecodeStats {
  /// 8x8 blocks that went through the inverse DCT.
  uint64_t blocksTransformed = 0;
  /// Rows of pixels that were read, those above the region included.
  uint64_t rowsDecoded = 0;
  uint64_t images = 0;
  /// Parts of JPEG files that were read from checkpoints, and those for which
  /// there were none of this very file.
  uint64_t indexUses = 0, indexMisses = 0;
  /// JPEG decodes by EntropyPath.
  std::array<uint64_t, entropyPathCount> entropyPaths{};
};

/// Sizes above which a file is refused before memory is taken for it.
struct ImageLimits {
  /// Pillow's limit, above which it speaks of a decompression bomb.
  uint64_t maxPixels = 178956970;
  /// Working memory of the decoder for one image.
  uint64_t maxWorkBytes = uint64_t(1) << 30;
  /// Scans of a progressive file.
  uint32_t maxScans = 500;
};

} // namespace penstock::runtime
