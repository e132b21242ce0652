// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/Video.h"

#include "runtime/core/Memory.h"
#include "runtime/media/video/VideoLibrary.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace penstock::runtime {

namespace {

/// 8192 x 4320: a decoder keeps up to 17 frames.
constexpr uint64_t maxPixels = 8192 * 4320;

VideoReading readingOf(uint32_t flags) {
  if (flags & PST_VIDEO_SEQUENTIAL)
    return VideoReading::NoTimes;
  return flags & PST_VIDEO_DIRECT ? VideoReading::Packets : VideoReading::Scattered;
}

struct OpenIndex {
  const pst_video_module *module;
  pst_video_index head;
};

Result<OpenIndex> openIndex(std::span<const uint8_t> index) {
  auto module = videoModule();
  if (!module)
    return module.error();
  OpenIndex opened{*module, {}};
  pst_video_index &head = opened.head;
  if (index.size() < sizeof head)
    return Error{Code::Corrupt, "the index of the video is damaged"};
  std::memcpy(&head, index.data(), sizeof head);
  if (std::memcmp(head.magic, "PSTKVID7", sizeof head.magic) || head.size != index.size() ||
      head.library != opened.module->library || head.frames <= 0 || head.orientation < 1 ||
      head.orientation > 8)
    return Error{Code::Corrupt, "the index of the video is damaged, or of another FFmpeg"};
  return opened;
}

VideoInfo infoOf(const pst_video_index &head) {
  return {head.frames, head.width, head.height, uint8_t(head.orientation), head.file_size};
}

} // namespace

const char *nameOf(VideoReading reading) {
  static constexpr const char *names[videoReadingCount] = {"packets", "scattered_packets",
                                                           "no_times", "no_place"};
  return names[static_cast<size_t>(reading)];
}

Error videoError(int code, const char *message) {
  switch (code) {
  case PST_VIDEO_UNSUPPORTED:
    return {Code::Unsupported, message};
  case PST_VIDEO_LIMIT:
    return {Code::Limit, message};
  case PST_VIDEO_MEMORY:
    return noMemory("to decode the file");
  case PST_VIDEO_RANGE:
    return {Code::InvalidArgument, message};
  default:
    return {Code::Corrupt, message};
  }
}

int VideoInput::read(void *self, uint64_t offset, uint64_t count, uint8_t *out) {
  auto &input = *static_cast<VideoInput *>(self);
  try {
    input.status = input.bytes.read(offset, {out, size_t(count)});
  } catch (const std::bad_alloc &) { // FFmpeg's code is on the stack
    input.status = noMemory("to read the file");
  }
  return input.status ? 0 : 1;
}

Result<std::vector<uint8_t>> indexVideo(MediaBytes &file, const ImageLimits &limits) {
  auto module = videoModule();
  if (!module)
    return module.error();
  uint8_t *index = nullptr;
  uint64_t size = 0;
  char message[PST_VIDEO_MESSAGE] = {};
  VideoInput input(file);
  const pst_video_limits most{std::min(limits.maxPixels, maxPixels), limits.maxWorkBytes};
  const int code = (*module)->index(&input.given, &most, &index, &size, message);
  if (!input.status)
    return input.status.error();
  if (code != PST_VIDEO_OK)
    return videoError(code, message);
  std::vector<uint8_t> result(index, index + size);
  (*module)->release(index);
  return result;
}

Result<VideoInfo> readVideoIndex(std::span<const uint8_t> index) {
  auto opened = openIndex(index);
  if (!opened)
    return opened.error();
  return infoOf(opened->head);
}

Result<std::shared_ptr<const Video>> Video::open(std::span<const uint8_t> index) {
  auto opened = openIndex(index);
  if (!opened)
    return opened.error();
  const auto &[module, head] = *opened;
  std::shared_ptr<Video> result(new Video(*module));
  char message[PST_VIDEO_MESSAGE] = {};
  const int code =
      module->open(index.data(), index.size(), &result->video, &result->bytes, message);
  if (code != PST_VIDEO_OK)
    return videoError(code, message);
  result->known = infoOf(head);
  result->how = readingOf(head.flags);
  return std::shared_ptr<const Video>(std::move(result));
}

Video::~Video() {
  if (video)
    module.close(video);
}

Result<std::vector<ByteRange>> Video::parts(const pst_video_range &range) const {
  pst_video_part *parts = nullptr;
  uint64_t count = 0;
  char message[PST_VIDEO_MESSAGE] = {};
  if (const int code = module.parts(video, &range, &parts, &count, message); code != PST_VIDEO_OK)
    return videoError(code, message);
  std::vector<ByteRange> result;
  for (uint64_t i = 0; i < count; ++i)
    result.push_back({parts[i].offset, parts[i].size});
  module.release(parts);
  return result;
}

} // namespace penstock::runtime
