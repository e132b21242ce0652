// FFmpeg's objects, owned; and a file in memory as its demuxer's input.
#pragma once

#include "runtime/media/video/VideoModule.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace penstock::video {

/// Why there is no frame; does not leave the library.
struct Failure {
  int code; ///< PST_VIDEO_*
  std::string message;
};

/// "Invalid data found when processing input"
std::string textOf(int averror);

template <auto function> struct Free {
  template <typename T> void operator()(T *object) const { function(&object); }
};
using PacketPtr = std::unique_ptr<AVPacket, Free<av_packet_free>>;
using FramePtr = std::unique_ptr<AVFrame, Free<av_frame_free>>;
using CodecPtr = std::unique_ptr<AVCodecContext, Free<avcodec_free_context>>;
using Parameters = std::unique_ptr<AVCodecParameters, Free<avcodec_parameters_free>>;

PacketPtr newPacket();
FramePtr newFrame();
Parameters newParameters();

/// A demuxer over bytes, which must outlive it. Opens nothing else: containers
/// that name other files are refused.
class Input {
public:
  explicit Input(std::span<const uint8_t> file);
  ~Input();
  Input(const Input &) = delete;
  Input &operator=(const Input &) = delete;

  /// The video stream; all others are left out.
  AVStream &video() const { return *context->streams[stream]; }
  int videoNumber() const { return stream; }
  /// The next packet of the video stream; false at the end. Throws Failure.
  bool next(AVPacket &packet);

private:
  static int read(void *self, uint8_t *out, int size);
  static int64_t seek(void *self, int64_t offset, int whence);
  void close();

  std::span<const uint8_t> file;
  int64_t at = 0;
  AVIOContext *io = nullptr;
  AVFormatContext *context = nullptr;
  int stream = -1;
};

/// A decoder for a stream, on the calling thread alone. Throws Failure.
CodecPtr openCodec(const AVCodecParameters &parameters, uint64_t maxPixels);

} // namespace penstock::video
