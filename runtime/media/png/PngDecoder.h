// SPDX-License-Identifier: Apache-2.0
//
// PNG to pixels, with libspng.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/Status.h"
#include "runtime/media/Image.h"

#include <cstdint>
#include <span>

namespace penstock::runtime {

/// Writes the pixels of `target.region` as Pillow's convert("RGB") and
/// convert("L") have them: alpha and transparent colours are dropped, no gamma
/// or profile is applied, 16-bit colour and 16-bit gray with alpha lose their
/// low bytes, plain 16-bit gray saturates at 255. Reading stops behind the last
/// row that is needed, except in interlaced files. `work` is kept memory.
///
/// The checksums of all chunks are compared first, whatever the region, and a
/// file without its end chunk is decoded as a whole: so damage that checksums
/// show, and truncation, do not depend on the region.
Status decodePng(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                 Buffer &work, DecodeStats &stats);

/// Checks a file of which no pixel is needed: its checksums, and if its end
/// chunk is missing, its pixels.
Status checkPng(std::span<const uint8_t> bytes, const ImageLimits &limits, Buffer &work,
                DecodeStats &stats);

} // namespace penstock::runtime
