// SPDX-License-Identifier: Apache-2.0
//
// Pictures of Motion JPEG and its kin, whose tables may stand in earlier pictures.
#pragma once

#include "runtime/media/video/ffmpeg/Pictures.h"

namespace penstock::video {

std::unique_ptr<PictureReader> motionJpegReader(AVCodecID codec);

} // namespace penstock::video
