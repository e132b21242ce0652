// SPDX-License-Identifier: Apache-2.0
//
// The C interface: no exception leaves.
#include "runtime/media/video/ffmpeg/Decoder.h"
#include "runtime/media/video/ffmpeg/Reports.h"
#include "runtime/media/video/ffmpeg/Sound.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>

struct pst_video {
  penstock::video::Index index;
};

struct pst_sound {
  penstock::video::Sound sound;
};

namespace penstock::video {
namespace {

/// What `work` keeps or gives it has looked at with checkMemory(); what it refuses is looked at
/// here.
template <typename Work> int guarded(char *message, Work work) {
  const Reports reports;
  errno = 0;
  try {
    work();
    return PST_VIDEO_OK;
  } catch (const Failure &failure) {
    if (errno == ENOMEM) // no file is to blame
      return PST_VIDEO_MEMORY;
    std::snprintf(message, PST_VIDEO_MESSAGE, "%s", failure.message.c_str());
    return failure.code;
  } catch (const std::bad_alloc &) {
    return PST_VIDEO_MEMORY;
  } catch (const std::exception &) {
    std::snprintf(message, PST_VIDEO_MESSAGE, "no memory to decode the file");
    return PST_VIDEO_LIMIT;
  }
}

template <typename T> T *copied(const std::vector<T> &from) {
  T *copy = static_cast<T *>(std::malloc(std::max(from.size(), size_t(1)) * sizeof(T)));
  if (!copy)
    throw std::bad_alloc();
  std::copy(from.begin(), from.end(), copy);
  return copy;
}

int makeIndex(const pst_video_bytes *bytes, const pst_video_limits *limits, uint8_t **out,
              uint64_t *outSize, char *message) {
  *out = nullptr;
  *outSize = 0;
  return guarded(message, [&] {
    const auto made = Index::make(*bytes, *limits).bytes();
    *out = copied(made);
    *outSize = made.size();
  });
}

int openVideo(const uint8_t *bytes, uint64_t size, pst_video **out, uint64_t *outBytes,
              char *message) {
  *out = nullptr;
  *outBytes = 0;
  return guarded(message, [&] {
    auto video = std::make_unique<pst_video>(pst_video{Index::parse({bytes, size_t(size)})});
    *outBytes = video->index.memory();
    *out = video.release();
  });
}

void closeVideo(pst_video *video) { delete video; }

int partsOf(const pst_video *video, const pst_video_range *range, pst_video_part **out,
            uint64_t *outCount, char *message) {
  *out = nullptr;
  *outCount = 0;
  return guarded(message, [&] {
    const Index &index = video->index;
    if (!index.isDirect() || index.isSequential())
      throw Failure{PST_VIDEO_UNSUPPORTED, "the video is read as a whole"};
    std::vector<pst_video_part> parts;
    for (const Piece &piece : piecesFor(index, Frames(index, *range)))
      for (int64_t i = piece.begin; i <= piece.end; ++i)
        parts.push_back(
            {uint64_t(index.packets[size_t(i)].offset), uint64_t(index.packets[size_t(i)].size)});
    std::sort(parts.begin(), parts.end(),
              [](const pst_video_part &a, const pst_video_part &b) { return a.offset < b.offset; });
    *out = copied(parts);
    *outCount = parts.size();
  });
}

void release(void *memory) { std::free(memory); }

int decode(const pst_video *video, const pst_video_bytes *bytes, const pst_video_range *range,
           const pst_video_client *client, pst_video_costs *costs, char *message) {
  return guarded(message, [&] { Decoder(*bytes, video->index, *range, *client, *costs).run(); });
}

int indexSound(const pst_video_bytes *bytes, uint8_t **out, uint64_t *outSize, char *message) {
  *out = nullptr;
  *outSize = 0;
  return guarded(message, [&] {
    const auto made = SoundIndex::make(*bytes).bytes();
    *out = copied(made);
    *outSize = made.size();
  });
}

int openSound(const uint8_t *bytes, uint64_t size, pst_sound **out, uint64_t *outBytes,
              char *message) {
  *out = nullptr;
  *outBytes = 0;
  return guarded(message, [&] {
    *out = new pst_sound{Sound(SoundIndex::parse({bytes, size_t(size)}))};
    *outBytes = (*out)->sound.index.memory();
  });
}

void closeSound(pst_sound *sound) { delete sound; }

int partsOfSound(const pst_sound *sound, int64_t first, int64_t count, pst_video_part **out,
                 uint64_t *outCount, char *message) {
  *out = nullptr;
  *outCount = 0;
  return guarded(message, [&] {
    const auto parts = soundParts(sound->sound, first, count);
    *out = copied(parts);
    *outCount = parts.size();
  });
}

int decodeSamples(const pst_sound *sound, const pst_video_bytes *bytes, int64_t first,
                  int64_t count, const pst_sound_client *client, pst_video_costs *costs,
                  char *message) {
  return guarded(message,
                 [&] { decodeSound(sound->sound, *bytes, first, count, *client, *costs); });
}

pst_video_module describeModule() {
  static char name[64];
  const unsigned version = avcodec_version();
  std::snprintf(name, sizeof name, "libavcodec %u.%u.%u", version >> 16, version >> 8 & 255,
                version & 255);
  return {PST_VIDEO_ABI, version,    soundLibrary(), name,         makeIndex,
          openVideo,     closeVideo, partsOf,        release,      decode,
          indexSound,    openSound,  closeSound,     partsOfSound, decodeSamples};
}

} // namespace
} // namespace penstock::video

extern "C" __attribute__((visibility("default"))) const pst_video_module *
penstock_video_module(void) {
  static const pst_video_module module = penstock::video::describeModule();
  return &module;
}
