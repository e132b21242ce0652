// SPDX-License-Identifier: Apache-2.0
//
// Format, size and orientation of an image, read from the headers of its file.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"

#include <cstdint>
#include <span>
#include <string>

namespace penstock::runtime {

enum class ImageFormat : uint8_t { Jpeg, Png, WebP, Bmp, Pnm };

struct ImageInfo {
  ImageFormat format = ImageFormat::Jpeg;
  uint32_t width = 0;
  uint32_t height = 0;
  uint8_t orientation = 1; ///< EXIF, 1 ... 8; 1 where absent or senseless
  uint8_t depth = 8;       ///< bits of a channel as stored; 8 where it is no power of two
  bool hasIndices = false; ///< whether a pixel is one number of at most 8 bits: PixelFormat::Index
};

/// Reads the headers of a file; its first bytes tell the format, names never do.
/// Never reads outside `bytes`, whatever they hold.
///
/// Errors: Unsupported, by name, for formats and kinds of files that are not
/// decoded; Limit for sizes; Truncated; Corrupt.
Result<ImageInfo> probeImage(std::span<const uint8_t> bytes, const ImageLimits &limits = {});

/// Returns words for a file by its first bytes: "a PNG file", "a GIF file"; null if they are
/// unknown.
const char *nameOfFormat(std::span<const uint8_t> bytes);

/// Returns Corrupt if a side is 0, Limit if the pixels are too many; `format` is for the message.
Status checkImageSize(const std::string &format, uint64_t width, uint64_t height,
                      const ImageLimits &limits);

} // namespace penstock::runtime
