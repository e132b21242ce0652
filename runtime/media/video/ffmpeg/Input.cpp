#include "runtime/media/video/ffmpeg/Input.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace penstock::video {

namespace {

/// Containers with the media inside. Playlists and the like name other files.
constexpr const char *containers = "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg,ivf,nut";
constexpr int window = 1 << 16;

int refuseToOpen(AVFormatContext *, AVIOContext **, const char *, int, AVDictionary **) {
  return AVERROR(EPERM);
}

template <typename T> T *made(T *object) {
  if (!object)
    throw std::bad_alloc();
  return object;
}

} // namespace

std::string textOf(int averror) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(averror, text, sizeof text);
  return text;
}

PacketPtr newPacket() { return PacketPtr(made(av_packet_alloc())); }
FramePtr newFrame() { return FramePtr(made(av_frame_alloc())); }
Parameters newParameters() { return Parameters(made(avcodec_parameters_alloc())); }

int Input::read(void *self, uint8_t *out, int size) {
  auto &input = *static_cast<Input *>(self);
  const int64_t rest = int64_t(input.file.size()) - input.at;
  const int count = int(std::min<int64_t>(size, rest));
  if (count <= 0)
    return AVERROR_EOF;
  std::memcpy(out, input.file.data() + input.at, size_t(count));
  input.at += count;
  return count;
}

int64_t Input::seek(void *self, int64_t offset, int whence) {
  auto &input = *static_cast<Input *>(self);
  const int64_t size = int64_t(input.file.size());
  whence &= ~AVSEEK_FORCE;
  if (whence == AVSEEK_SIZE)
    return size;
  const int64_t base = whence == SEEK_CUR ? input.at : whence == SEEK_END ? size : 0;
  int64_t to = 0;
  if (__builtin_add_overflow(base, offset, &to) || to < 0 || to > size)
    return AVERROR(EINVAL);
  return input.at = to;
}

Input::Input(std::span<const uint8_t> file) : file(file) {
  uint8_t *buffer = static_cast<uint8_t *>(made(av_malloc(window)));
  io = avio_alloc_context(buffer, window, 0, this, read, nullptr, seek);
  if (!io)
    av_free(buffer);
  context = avformat_alloc_context();
  if (!io || !context) {
    close();
    throw std::bad_alloc();
  }
  context->pb = io;
  context->flags |= AVFMT_FLAG_CUSTOM_IO;
  context->io_open = refuseToOpen;
  context->format_whitelist = av_strdup(containers);
  int code = avformat_open_input(&context, "", nullptr, nullptr); // frees it where it fails
  if (code >= 0)
    code = avformat_find_stream_info(context, nullptr);
  if (code >= 0)
    stream = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (code < 0 || stream < 0 || (video().disposition & AV_DISPOSITION_ATTACHED_PIC)) {
    close();
    if (code < 0)
      throw Failure{PST_VIDEO_CORRUPT, "no video file, or damaged: " + textOf(code)};
    throw Failure{PST_VIDEO_UNSUPPORTED, "the file has no video stream"};
  }
  for (unsigned i = 0; i < context->nb_streams; ++i)
    if (int(i) != stream)
      context->streams[i]->discard = AVDISCARD_ALL;
}

void Input::close() {
  if (context)
    avformat_close_input(&context);
  if (io) {
    av_freep(&io->buffer);
    avio_context_free(&io);
  }
}

Input::~Input() { close(); }

bool Input::next(AVPacket &packet) {
  for (;;) {
    av_packet_unref(&packet);
    const int code = av_read_frame(context, &packet);
    if (code == AVERROR_EOF)
      return false;
    if (code < 0)
      throw Failure{PST_VIDEO_CORRUPT, "truncated or damaged video: " + textOf(code)};
    if (packet.stream_index != stream || packet.size == 0)
      continue;
    if (packet.flags & AV_PKT_FLAG_CORRUPT)
      throw Failure{PST_VIDEO_CORRUPT, "truncated or damaged video: a packet is not whole"};
    return true;
  }
}

CodecPtr openCodec(const AVCodecParameters &parameters, uint64_t maxPixels) {
  const AVCodec *codec = avcodec_find_decoder(parameters.codec_id);
  if (!codec)
    throw Failure{PST_VIDEO_UNSUPPORTED, std::string("this FFmpeg has no decoder for ") +
                                             avcodec_get_name(parameters.codec_id)};
  CodecPtr context(made(avcodec_alloc_context3(codec)));
  int code = avcodec_parameters_to_context(context.get(), &parameters);
  context->thread_count = 1;
  context->max_pixels = int64_t(maxPixels);
  if (code >= 0)
    code = avcodec_open2(context.get(), codec, nullptr);
  if (code < 0)
    throw Failure{PST_VIDEO_CORRUPT,
                  std::string("the ") + codec->name + " decoder cannot start: " + textOf(code)};
  return context;
}

} // namespace penstock::video
