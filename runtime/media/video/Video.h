// SPDX-License-Identifier: Apache-2.0
//
// Videos by their index: properties, and places of packets.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/MediaBytes.h"
#include "runtime/media/video/VideoModule.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace penstock::runtime {

/// Properties of a video, from its index.
struct VideoInfo {
  int64_t frames = 0;
  uint32_t width = 0, height = 0;
  uint8_t orientation = 1;
  uint64_t fileSize = 0;
};

/// The reading of a clip's packets: alone, or of all of the file, by the reason.
enum class VideoReading : uint8_t {
  Packets,
  Scattered, ///< its packets lie in pieces (transport streams) or need bytes beside them
  NoTimes,   ///< it is decoded from its start
  NoPlace,   ///< the table has no files
};
inline constexpr size_t videoReadingCount = 4;
/// "packets", "scattered_packets" ...
const char *nameOf(VideoReading reading);

/// Reads every packet of a file, and decodes its beginning. Errors as
/// VideoDecoder's.
Result<std::vector<uint8_t>> indexVideo(MediaBytes &file, const ImageLimits &limits);
/// The head of an index of this version of FFmpeg; Corrupt where it is none.
Result<VideoInfo> readVideoIndex(std::span<const uint8_t> index);

/// An index that was read. Immutable: any thread may use it.
class Video {
public:
  /// Takes some milliseconds for an hour of video. Corrupt where it is damaged.
  static Result<std::shared_ptr<const Video>> open(std::span<const uint8_t> index);
  ~Video();
  Video(const Video &) = delete;
  Video &operator=(const Video &) = delete;

  const VideoInfo &info() const { return known; }
  VideoReading reading() const { return how; }
  /// Returns about the bytes that it takes.
  uint64_t memory() const { return bytes; }
  /// Returns the ranges of bytes that frames need, ascending. Only where reading() is Packets.
  /// Errors as VideoDecoder's.
  Result<std::vector<ByteRange>> parts(const pst_video_range &range) const;
  const pst_video *handle() const { return video; }

private:
  explicit Video(const pst_video_module &module) : module(module) {}

  const pst_video_module &module; // is never closed
  pst_video *video = nullptr;
  VideoInfo known;
  VideoReading how = VideoReading::Packets;
  uint64_t bytes = 0;
};

/// As the module tells it.
Error videoError(int code, const char *message);

/// Bytes for the module, and why they cannot be read.
struct VideoInput {
  explicit VideoInput(MediaBytes &bytes) : bytes(bytes), given{bytes.size(), this, read} {}
  VideoInput(const VideoInput &) = delete;
  VideoInput &operator=(const VideoInput &) = delete;
  static int read(void *self, uint64_t offset, uint64_t count, uint8_t *out);

  MediaBytes &bytes;
  Status status;
  const pst_video_bytes given;
};

} // namespace penstock::runtime
