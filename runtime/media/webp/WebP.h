// SPDX-License-Identifier: Apache-2.0
//
// WebP to pixels, with libwebp.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/Status.h"
#include "runtime/media/Image.h"

#include <cstdint>
#include <span>

namespace penstock::runtime {

struct WebPInfo {
  uint32_t width = 0; ///< of the canvas, where there are several frames
  uint32_t height = 0;
  uint8_t orientation = 1; ///< of a chunk EXIF
};

/// Reads the header. Never reads outside `bytes`.
Result<WebPInfo> probeWebP(std::span<const uint8_t> bytes, const ImageLimits &limits = {});

/// Lossy and lossless, as Pillow's convert("RGB") and convert("L"): alpha is
/// dropped. Of an animation, the first frame on a black canvas, as Image.open()
/// gives it. Only the macroblocks that the region needs are reconstructed;
/// lossless files are decoded down to its last row. `work` is kept memory.
///
/// A file that is shorter than its header says is refused, whatever the region.
Status decodeWebP(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                  Buffer &work, DecodeStats &stats);

/// Checks a file of which no pixel is needed.
Status checkWebP(std::span<const uint8_t> bytes);

} // namespace penstock::runtime
