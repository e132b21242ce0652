// SPDX-License-Identifier: Apache-2.0
//
// Flash Screen Video. Where a block of a picture is damaged FFmpeg's decoder shows what its memory
// held before, of anybody, and returns no error.
#pragma once

#include "runtime/media/video/ffmpeg/Pictures.h"

namespace penstock::video {

/// Returns the reader of AV_CODEC_ID_FLASHSV, or of FLASHSV2. Throws Failure where zlib, which
/// FFmpeg's own decoder needs, is not there.
std::unique_ptr<PictureReader> screenVideoReader(AVCodecID codec);

} // namespace penstock::video
