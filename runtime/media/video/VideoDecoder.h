// SPDX-License-Identifier: Apache-2.0
//
// Clips of video files.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/Orientation.h"
#include "runtime/media/video/Video.h"
#include "runtime/media/video/VideoColor.h"
#include "runtime/media/video/VideoModule.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace penstock::runtime {

/// Decodes with libpenstock_video.so; docs/media.md has which frame is which, and
/// what pixels are. One object serves one thread.
///
/// Errors: Unsupported where there is no such library, or the file is of a kind
/// that it does not read; Corrupt; Limit; InvalidArgument for frames that the
/// video does not have; those of reading the file.
class VideoDecoder {
public:
  /// The place of decoded pixels: row y of frame t begins at `out + t * frameStride + y *
  /// rowStride`.
  struct Target {
    PixelFormat format = PixelFormat::Rgb;
    Region region; ///< of the upright frame
    Orientation orientation{1};
    uint8_t *out = nullptr;
    size_t frameStride = 0, rowStride = 0;
  };
  /// Returns whether FFmpeg may hold so many bytes more for frames until decode() ends.
  using Hold = std::function<bool(uint64_t bytes)>;

  /// \param video  of this very file; its size is checked.
  Status decode(MediaBytes &file, const Video &video, const pst_video_range &range,
                const Target &target, const Hold &hold, pst_video_costs &costs);

private:
  struct Clip;
  static int take(void *clip, int64_t number, const pst_video_frame *frame);
  static int hold(void *clip, uint64_t bytes);

  VideoColor color;
  std::vector<uint8_t> stored; // pixels of a frame that is to be turned
};

} // namespace penstock::runtime
