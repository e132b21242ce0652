// SPDX-License-Identifier: Apache-2.0
//
// Pictures of H.264 and H.265.
#pragma once

#include "runtime/media/video/ffmpeg/Pictures.h"

namespace penstock::video {

/// `extra` has the container's parameter sets.
std::unique_ptr<PictureReader> h264Reader(std::span<const uint8_t> extra);
std::unique_ptr<PictureReader> h265Reader(std::span<const uint8_t> extra);

} // namespace penstock::video
