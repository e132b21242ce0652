// The one EXIF field that decoding needs.
#pragma once

#include <cstdint>
#include <span>

namespace penstock::runtime {

/// The orientation, 1 ... 8, that a TIFF structure (the contents of an EXIF
/// block, with or without the mark "Exif\0\0" before it) holds in its first
/// directory; 1 where it holds none or a senseless one. Safe on any bytes.
uint8_t exifOrientation(std::span<const uint8_t> block);

} // namespace penstock::runtime
