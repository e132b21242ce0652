// SPDX-License-Identifier: Apache-2.0
//
// The components of a JPEG file as libjpeg has them before upsampling.
#pragma once

#include "runtime/media/Planes.h"
#include "runtime/media/jpeg/JpegHeader.h"

#include <cstdio>
#include <jpeglib.h>
#include <optional>

namespace penstock::runtime {

/// The planes that make the pixels of a region inside the image. Nothing where libjpeg makes them
/// in another way: gray, RGB, CMYK, 4:1:1 and odd samplings, and chroma so narrow that it is not
/// filtered.
std::optional<Planes> planesOf(const JpegInfo &info, const Region &region);

/// Room that readPlanes() needs for an image of this width.
size_t planesScratch(uint32_t width);

/// Copies the planes of a decompressor that was started with raw_data_out to `out`, and reads on to
/// its end if `toTheEnd`. The decoded part begins at (left, top) of the image, in pixels, both at
/// the first of an MCU. Returns the number of rows read. Errors are libjpeg's.
uint64_t readPlanes(jpeg_decompress_struct &info, const Planes &planes, uint32_t left, uint32_t top,
                    bool toTheEnd, uint8_t *scratch, uint8_t *out);

} // namespace penstock::runtime
