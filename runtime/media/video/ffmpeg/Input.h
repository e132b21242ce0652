// SPDX-License-Identifier: Apache-2.0
//
// FFmpeg's objects, owned; and bytes as its demuxer's input.
#pragma once

#include "runtime/media/video/VideoModule.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace penstock::video {

/// Thrown with the reason that there is no frame; does not leave the library.
struct Failure {
  int code; ///< PST_VIDEO_*
  std::string message;
};

/// Throws std::bad_alloc where memory has ended on this thread since errno was 0. FFmpeg may say
/// so, take what it lacks then for damage, or go on without. Its malloc() sets errno, and decoders
/// are on our thread alone. `code` is FFmpeg's, which alone has it where a report has set errno;
/// with an errno of 0 a file wants more than FFmpeg allows.
inline void checkMemory(int code = 0) {
  if (errno == ENOMEM || (code == AVERROR(ENOMEM) && errno != 0))
    throw std::bad_alloc();
}

/// Keeps errno over a call of the client's, which tells its own errors.
class KeptErrno {
public:
  KeptErrno() = default;
  ~KeptErrno() { errno = before; }
  KeptErrno(const KeptErrno &) = delete;
  KeptErrno &operator=(const KeptErrno &) = delete;

private:
  const int before = errno;
};

/// Returns the text of an error: "Invalid data found when processing input".
std::string textOf(int averror);
/// Returns FFmpeg's report since the last call, as " (h264: no frame!)", or "".
std::string reported();

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

/// Copies bytes of a file; throws Failure where they cannot be read.
void readBytes(const pst_video_bytes &bytes, uint64_t offset, uint64_t count, uint8_t *out);

/// A demuxer over bytes, which must outlive it. Opens nothing else: containers
/// that name other files are refused.
class Input {
public:
  Input(const pst_video_bytes &file, AVMediaType kind);
  ~Input();
  Input(const Input &) = delete;
  Input &operator=(const Input &) = delete;

  /// The best stream of the kind; all others are left out.
  AVStream &chosen() const { return *context->streams[stream]; }
  int chosenNumber() const { return stream; }
  /// Reads the next packet of that stream; false at the end, and where FFmpeg's own tools would
  /// read no further. Throws Failure if the bytes cannot be read, and as checkMemory().
  bool next(AVPacket &packet);

private:
  static int read(void *self, uint8_t *out, int size);
  static int64_t seek(void *self, int64_t offset, int whence);
  void close();
  void findStream(AVMediaType kind);

  const pst_video_bytes &file;
  int64_t at = 0;
  bool unreadable = false;
  AVIOContext *io = nullptr;
  AVFormatContext *context = nullptr;
  int stream = -1;
};

/// The memory of the frames of decoders that follow one another, and who allows it.
class FrameMemory {
public:
  using Hold = int (*)(void *user, uint64_t bytes);
  FrameMemory(Hold hold, void *user) : hold(hold), user(user) {}
  /// All frames must be gone.
  ~FrameMemory();
  FrameMemory(const FrameMemory &) = delete;
  FrameMemory &operator=(const FrameMemory &) = delete;
  /// Called by AVCodecContext::get_buffer2 of a decoder with this as `opaque`.
  static int allocate(AVCodecContext *codec, AVFrame *frame, int flags);
  /// Counts what a decoder has of its own; once, however many decoders follow one another.
  bool takeOwn(uint64_t bytes);
  /// Throws Failure where more was wanted than is allowed.
  void check() const;
  /// From here on pictures begin with other bytes, where they do not begin with zeros.
  void beginOtherwise(bool is) { isOther = is; }
  /// Pictures for which memory was wanted so far.
  uint64_t pictures() const { return count; }

private:
  struct Block {
    uint8_t *data;
    size_t size;
    bool isUsed;
  };
  AVBufferRef *block(size_t size, bool isPatterned);
  bool take(uint64_t bytes);
  static void giveBack(void *self, uint8_t *data);

  Hold hold;
  void *user;
  std::vector<Block> blocks;
  uint64_t held = 0, own = 0, count = 0;
  bool refused = false, isOther = false;
};

/// Returns whether some of a picture looks as it did before it was decoded: where it is so, it is
/// damaged, and some decoders say so nowhere else. It is where it looks otherwise when it is
/// decoded in other memory, from as many packets.
bool mayBeUnwritten(const AVCodecContext &codec, const AVFrame &frame, int64_t packets);
/// A checksum of a picture.
uint64_t sumOf(const AVFrame &frame);

/// Makes a decoder, to be opened, which reports nothing. Throws Failure if there is none.
CodecPtr newCodec(const AVCodecParameters &parameters);
void open(AVCodecContext &context);

/// What a decoder does with a damaged picture, where it has the choice.
enum class Damaged {
  Refuse, ///< and say so
  Conceal ///< as FFmpeg's own program does, which counts it as a frame
};

/// Opens a decoder for a video stream, on the calling thread alone. `memory` must outlive it;
/// `bugs` are faults of encoders to allow for (FF_BUG_*). Throws Failure.
CodecPtr openCodec(const AVCodecParameters &parameters, uint64_t maxPixels, FrameMemory &memory,
                   Damaged pictures = Damaged::Refuse, int bugs = FF_BUG_AUTODETECT);

} // namespace penstock::video
