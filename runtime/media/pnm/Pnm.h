// SPDX-License-Identifier: Apache-2.0
//
// Portable bit, gray and pixel maps, as text (P1, P2, P3) and binary (P4, P5, P6), and float
// maps (Pf, PF).
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/Status.h"
#include "runtime/media/Image.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::runtime {

struct PnmInfo {
  uint32_t width = 0;
  uint32_t height = 0;
  unsigned channels = 3;   ///< 1: gray, or bits where `most` is 1 and `isBits`
  bool isBits = false;     ///< eight pixels a byte, 1 is black
  bool isText = false;     ///< numbers with white space between them; bits need none
  bool isFloat = false;    ///< f32, the lowest row first
  bool isBigEndian = true; ///< of floats
  uint32_t most = 255;     ///< the value of white; above 255 they take two bytes
  size_t pixels = 0;       ///< where the first row begins
  size_t stride = 0;

  /// Bits of a channel.
  uint8_t depth() const { return isFloat ? 32 : isBits ? 1 : most <= 255 ? 8 : 16; }
};

/// Never reads outside `bytes`; what it accepts is whole, but for text.
///
/// Errors: Limit; Truncated, where the pixels are not all there; Corrupt.
Result<PnmInfo> probePnm(std::span<const uint8_t> bytes, const ImageLimits &limits = {});

/// As Pillow's convert("RGB") and convert("L"): values are scaled to 255, and
/// those of gray maps with two bytes a value saturate at 255 after having been
/// scaled to 65535. Text is read as a whole, into `work`. Floats are those of the file, whatever
/// the magnitude of its scale; Unsupported where floats are asked for as bytes or colours as gray.
Status decodePnm(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                 Buffer &work, DecodeStats &stats);
/// Checks that a text has all its numbers.
Status checkPnm(std::span<const uint8_t> bytes, const ImageLimits &limits, Buffer &work);

} // namespace penstock::runtime
