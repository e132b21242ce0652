#include "runtime/media/video/VideoDecoder.h"

#include "runtime/media/video/VideoLibrary.h"

#include <algorithm>
#include <cstring>

namespace penstock::runtime {

namespace {

/// 8192 x 4320: a decoder keeps up to 17 frames.
constexpr uint64_t maxPixels = 8192 * 4320;

Error errorOf(int code, const char *message) {
  switch (code) {
  case PST_VIDEO_UNSUPPORTED:
    return {Code::Unsupported, message};
  case PST_VIDEO_LIMIT:
    return {Code::Limit, message};
  case PST_VIDEO_RANGE:
    return {Code::InvalidArgument, message};
  default:
    return {Code::Corrupt, message};
  }
}

} // namespace

Result<std::vector<uint8_t>> indexVideo(std::span<const uint8_t> file, const ImageLimits &limits) {
  auto module = videoModule();
  if (!module)
    return module.error();
  uint8_t *index = nullptr;
  uint64_t size = 0;
  char message[PST_VIDEO_MESSAGE] = {};
  const int code = (*module)->index(file.data(), file.size(), std::min(limits.maxPixels, maxPixels),
                                    &index, &size, message);
  if (code != PST_VIDEO_OK)
    return errorOf(code, message);
  std::vector<uint8_t> result(index, index + size);
  (*module)->release(index);
  return result;
}

Result<VideoInfo> readVideoIndex(std::span<const uint8_t> index) {
  auto module = videoModule();
  if (!module)
    return module.error();
  pst_video_index head;
  if (index.size() < sizeof head)
    return Error{Code::Corrupt, "the index of the video is damaged"};
  std::memcpy(&head, index.data(), sizeof head);
  if (std::memcmp(head.magic, "PSTKVID1", sizeof head.magic) || head.size != index.size() ||
      head.library != (*module)->library || head.frames <= 0 || head.orientation < 1 ||
      head.orientation > 8)
    return Error{Code::Corrupt, "the index of the video is damaged, or of another FFmpeg"};
  return VideoInfo{head.frames, head.width, head.height, uint8_t(head.orientation)};
}

struct VideoDecoder::Clip {
  VideoDecoder &self;
  const Target &target;
  Status status;
};

int VideoDecoder::take(void *user, int64_t number, const pst_video_frame *frame) {
  Clip &clip = *static_cast<Clip *>(user);
  const Target &target = clip.target;
  VideoDecoder &self = clip.self;
  uint8_t *out = target.out + size_t(number) * target.frameStride;
  if (target.orientation.isUpright()) {
    clip.status = self.color.convert(*frame, target.format, target.region, out, target.rowStride);
  } else {
    const Region stored = target.orientation.stored(target.region, frame->height, frame->width);
    const uint32_t channels = channelsOf(target.format);
    const size_t pitch = size_t(stored.width) * channels;
    self.stored.resize(pitch * stored.height);
    clip.status = self.color.convert(*frame, target.format, stored, self.stored.data(), pitch);
    if (clip.status)
      target.orientation.copy(self.stored.data(), target.region, channels, out, target.rowStride);
  }
  return clip.status ? 0 : 1;
}

Status VideoDecoder::decode(std::span<const uint8_t> file, std::span<const uint8_t> index,
                            const pst_video_range &range, const Target &target,
                            pst_video_costs &costs) {
  auto module = videoModule();
  if (!module)
    return module.error();
  Clip clip{*this, target, {}};
  char message[PST_VIDEO_MESSAGE] = {};
  const int code = (*module)->decode(file.data(), file.size(), index.data(), index.size(), &range,
                                     take, &clip, &costs, message);
  if (code == PST_VIDEO_OK)
    return {};
  return clip.status ? Status(errorOf(code, message)) : clip.status;
}

} // namespace penstock::runtime
