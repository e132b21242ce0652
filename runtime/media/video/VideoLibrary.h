// SPDX-License-Identifier: Apache-2.0
//
// Finds libpenstock_video.so.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/video/VideoModule.h"

namespace penstock::runtime {

/// The module that decodes videos, opened by the first call, from any thread:
/// the file that the environment variable PENSTOCK_VIDEO_MODULE names, else the
/// one beside this library, else the system's. Unsupported where there is none,
/// with what to do.
Result<const pst_video_module *> videoModule();

} // namespace penstock::runtime
