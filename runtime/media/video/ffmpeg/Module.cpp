// The C interface: no exception leaves.
#include "runtime/media/video/ffmpeg/Decoder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

extern "C" {
#include <libavutil/log.h>
}

namespace penstock::video {
namespace {

template <typename Work> int guarded(char *message, Work work) {
  try {
    work();
    return PST_VIDEO_OK;
  } catch (const Failure &failure) {
    std::snprintf(message, PST_VIDEO_MESSAGE, "%s", failure.message.c_str());
    return failure.code;
  } catch (const std::exception &) {
    std::snprintf(message, PST_VIDEO_MESSAGE, "no memory to decode a video");
    return PST_VIDEO_LIMIT;
  }
}

int makeIndex(const uint8_t *bytes, uint64_t size, uint64_t maxPixels, uint8_t **out,
              uint64_t *outSize, char *message) {
  *out = nullptr;
  *outSize = 0;
  return guarded(message, [&] {
    const auto made = Index::make({bytes, size_t(size)}, maxPixels).bytes();
    *out = static_cast<uint8_t *>(std::malloc(made.size()));
    if (!*out)
      throw std::bad_alloc();
    std::memcpy(*out, made.data(), made.size());
    *outSize = made.size();
  });
}

void release(uint8_t *index) { std::free(index); }

int decode(const uint8_t *bytes, uint64_t size, const uint8_t *index, uint64_t indexSize,
           const pst_video_range *range, pst_video_take take, void *user, pst_video_costs *costs,
           char *message) {
  return guarded(message, [&] {
    const std::span<const uint8_t> file(bytes, size_t(size));
    const Index known = Index::parse({index, size_t(indexSize)}, size);
    Decoder(file, known, *range, take, user, *costs).run();
  });
}

pst_video_module describeModule() {
  static char name[64];
  const unsigned version = avcodec_version();
  std::snprintf(name, sizeof name, "libavcodec %u.%u.%u", version >> 16, version >> 8 & 255,
                version & 255);
  // Its reports would mix with the user's output; errors come back by value.
  av_log_set_level(AV_LOG_QUIET);
  return {PST_VIDEO_ABI, version, name, makeIndex, release, decode};
}

} // namespace
} // namespace penstock::video

extern "C" __attribute__((visibility("default"))) const pst_video_module *
penstock_video_module(void) {
  static const pst_video_module module = penstock::video::describeModule();
  return &module;
}
