// SPDX-License-Identifier: Apache-2.0
//
// Frames as decoders give them, to pixels.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/video/VideoModule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::runtime {

/// Converts in integers, so that results are the same everywhere; docs/media.md
/// has the formula. Keeps some rows of numbers; one thread at a time.
class VideoColor {
public:
  /// Writes the pixels of a region, which must lie within the frame: row y
  /// begins at `out + y * rowStride`. Unsupported for colour matrices that are
  /// none of Y'CbCr with constant weights.
  Status convert(const pst_video_frame &frame, PixelFormat format, const Region &region,
                 uint8_t *out, size_t rowStride);

private:
  std::vector<int32_t> luma, red, green, blue; // of one row, before the last shift
};

} // namespace penstock::runtime
