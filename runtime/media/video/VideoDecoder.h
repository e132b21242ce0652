// Clips of video files.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/Orientation.h"
#include "runtime/media/video/VideoColor.h"
#include "runtime/media/video/VideoModule.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace penstock::runtime {

/// What an index says of its video.
struct VideoInfo {
  int64_t frames = 0;
  uint32_t width = 0, height = 0;
  uint8_t orientation = 1;
};

/// Reads every packet of a file, and decodes its beginning. Errors as
/// VideoDecoder's.
Result<std::vector<uint8_t>> indexVideo(std::span<const uint8_t> file, const ImageLimits &limits);
/// The head of an index of this version of FFmpeg; Corrupt where it is none.
Result<VideoInfo> readVideoIndex(std::span<const uint8_t> index);

/// Decodes with libpenstock_video.so; docs/media.md has which frame is which, and
/// what pixels are. One object serves one thread.
///
/// Errors: Unsupported where there is no such library, or the file is of a kind
/// that it does not read; Corrupt; Limit; InvalidArgument for frames that the
/// video does not have.
class VideoDecoder {
public:
  /// Where pixels go: row y of frame t begins at `out + t * frameStride + y *
  /// rowStride`.
  struct Target {
    PixelFormat format = PixelFormat::Rgb;
    Region region; ///< of the upright frame
    Orientation orientation{1};
    uint8_t *out = nullptr;
    size_t frameStride = 0, rowStride = 0;
  };

  /// \param index  of this very file, from indexVideo(); it is checked as far as
  ///               its size goes.
  Status decode(std::span<const uint8_t> file, std::span<const uint8_t> index,
                const pst_video_range &range, const Target &target, pst_video_costs &costs);

private:
  struct Clip;
  static int take(void *clip, int64_t number, const pst_video_frame *frame);

  VideoColor color;
  std::vector<uint8_t> stored; // pixels of a frame that is to be turned
};

} // namespace penstock::runtime
