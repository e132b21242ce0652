// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/VideoDecoder.h"

#include "runtime/media/video/VideoLibrary.h"

namespace penstock::runtime {

struct VideoDecoder::Clip {
  VideoDecoder &self;
  const Target &target;
  const Hold &mayHold;
  Status status;
};

int VideoDecoder::hold(void *user, uint64_t bytes) {
  return static_cast<Clip *>(user)->mayHold(bytes) ? 0 : 1;
}

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

Status VideoDecoder::decode(MediaBytes &file, const Video &video, const pst_video_range &range,
                            const Target &target, const Hold &mayHold, pst_video_costs &costs) {
  auto module = videoModule();
  if (!module)
    return module.error();
  Clip clip{*this, target, mayHold, {}};
  VideoInput input(file);
  const pst_video_client client{&clip, take, hold};
  char message[PST_VIDEO_MESSAGE] = {};
  const int code =
      (*module)->decode(video.handle(), &input.given, &range, &client, &costs, message);
  if (code == PST_VIDEO_OK)
    return {};
  if (!input.status)
    return input.status;
  return clip.status ? Status(videoError(code, message)) : clip.status;
}

} // namespace penstock::runtime
