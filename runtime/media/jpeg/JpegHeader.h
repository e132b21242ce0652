// SPDX-License-Identifier: Apache-2.0
//
// Headers of a JPEG file, read without decoding anything.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::runtime {

/// Chroma resolution of three-component files; Other is anything unusual.
enum class JpegSampling : uint8_t { None, S444, S422, S420, S440, S411, Other };

struct JpegInfo {
  uint32_t width = 0;      ///< 1 ... 65500
  uint32_t height = 0;     ///< 1 ... 65500
  uint8_t components = 0;  ///< 1, 3 or 4
  uint8_t orientation = 1; ///< EXIF, 1 ... 8; 1 where absent or senseless
  bool progressive = false;
  bool arithmetic = false;
  JpegSampling sampling = JpegSampling::None;
  bool isYcc = false;                  ///< three components are Y, Cb and Cr, by libjpeg's rules
  std::array<uint8_t, 4> horizontal{}; ///< sampling factors, 1 ... 4
  std::array<uint8_t, 4> vertical{};
  /// Offset of the entropy-coded data: behind the first SOS header.
  size_t scanOffset = 0;
};

/// Reads the marker segments up to the first scan. Never reads outside
/// `bytes`, whatever they hold.
///
/// Errors: Unsupported for files that are no JPEG, and for lossless, hierarchical and
/// 12-bit files and for two components; Limit for sizes; Truncated; Corrupt.
Result<JpegInfo> probeJpeg(std::span<const uint8_t> bytes, const ImageLimits &limits = {});

/// True when an end-of-image marker follows the first scan's header. Inside
/// entropy-coded data it cannot occur by chance.
bool hasEndOfImage(std::span<const uint8_t> bytes, const JpegInfo &info);

} // namespace penstock::runtime
