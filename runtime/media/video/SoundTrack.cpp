// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/SoundTrack.h"

#include "runtime/media/video/Video.h"
#include "runtime/media/video/VideoLibrary.h"

#include <cstring>

namespace penstock::runtime {

Result<std::vector<uint8_t>> SoundTrack::index(MediaBytes &file, const ImageLimits &) {
  auto module = videoModule();
  if (!module)
    return module.error();
  uint8_t *index = nullptr;
  uint64_t size = 0;
  char message[PST_VIDEO_MESSAGE] = {};
  VideoInput input(file);
  const int code = (*module)->index_sound(&input.given, &index, &size, message);
  if (!input.status)
    return input.status.error();
  if (code != PST_VIDEO_OK)
    return videoError(code, message);
  std::vector<uint8_t> result(index, index + size);
  (*module)->release(index);
  return result;
}

Result<std::shared_ptr<const SoundTrack>> SoundTrack::open(std::span<const uint8_t> index) {
  auto module = videoModule();
  if (!module)
    return module.error();
  pst_sound_index head;
  if (index.size() < sizeof head)
    return Error{Code::Corrupt, "the index of the sound is damaged"};
  std::memcpy(&head, index.data(), sizeof head);
  if (std::memcmp(head.magic, "PSTKSND3", sizeof head.magic) || head.size != index.size() ||
      head.library != (*module)->sound_library || head.samples <= 0 || head.channels == 0 ||
      head.rate == 0)
    return Error{Code::Corrupt, "the index of the sound is damaged, or of another FFmpeg"};
  std::shared_ptr<SoundTrack> result(new SoundTrack(**module));
  char message[PST_VIDEO_MESSAGE] = {};
  const int code =
      (*module)->open_sound(index.data(), index.size(), &result->sound, &result->bytes, message);
  if (code != PST_VIDEO_OK)
    return videoError(code, message);
  result->known = {head.samples, head.channels, head.rate, head.bits, head.file_size};
  result->direct = head.flags & PST_VIDEO_DIRECT;
  return std::shared_ptr<const SoundTrack>(std::move(result));
}

SoundTrack::~SoundTrack() {
  if (sound)
    module.close_sound(sound);
}

Result<std::vector<ByteRange>> SoundTrack::parts(int64_t low, int64_t high) const {
  pst_video_part *parts = nullptr;
  uint64_t count = 0;
  char message[PST_VIDEO_MESSAGE] = {};
  if (const int code = module.sound_parts(sound, low, high - low, &parts, &count, message);
      code != PST_VIDEO_OK)
    return videoError(code, message);
  std::vector<ByteRange> result;
  for (uint64_t i = 0; i < count; ++i)
    result.push_back({parts[i].offset, parts[i].size});
  module.release(parts);
  return result;
}

Status SoundTrack::decode(MediaBytes &file, int64_t low, int64_t high, const Take &take,
                          pst_video_costs &costs) const {
  auto give = [](void *user, int64_t first, int64_t count, const float *samples) {
    (*static_cast<const Take *>(user))(first, count, samples);
    return 0;
  };
  const pst_sound_client client{const_cast<Take *>(&take), give};
  VideoInput input(file);
  char message[PST_VIDEO_MESSAGE] = {};
  const int code =
      module.decode_sound(sound, &input.given, low, high - low, &client, &costs, message);
  if (code == PST_VIDEO_OK)
    return {};
  return input.status ? Status(videoError(code, message)) : input.status;
}

} // namespace penstock::runtime
