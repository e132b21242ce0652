// SPDX-License-Identifier: Apache-2.0
//
// The one field of EXIF and XMP that decoding needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace penstock::runtime {

/// The orientation, 1 ... 8, that a TIFF structure (the contents of an EXIF
/// block, with or without the mark "Exif\0\0" before it) holds in its first
/// directory; 1 where it holds none or a senseless one. Safe on any bytes.
uint8_t exifOrientation(std::span<const uint8_t> block);
/// As exifOrientation(); none if there is no such field.
std::optional<uint8_t> findExifOrientation(std::span<const uint8_t> block);

/// The orientation of an XMP packet, where Pillow finds it: the digit behind the first
/// `tiff:Orientation="` or `tiff:Orientation>`; 1 where there is none or a senseless one.
uint8_t xmpOrientation(std::string_view packet);

} // namespace penstock::runtime
