// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/ffmpeg/Input.h"

#include "runtime/media/video/ffmpeg/Reports.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace penstock::video {

namespace {

/// Containers with the media inside. Playlists and the like name other files.
constexpr const char *containers = "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg,ivf,nut";
constexpr const char *soundContainers =
    "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg,nut,mp3,aac,loas,"
    "ac3,eac3,aiff,au,caf,w64,wav,wv,amr";
constexpr int window = 1 << 16;
constexpr int64_t farthest = int64_t(1) << 40; // behind the end: file systems have a limit, too

int refuseToOpen(AVFormatContext *, AVIOContext **, const char *, int, AVDictionary **) {
  return AVERROR(EPERM);
}

/// AVFormatContext's class, with a place for that number: the context's `opaque`,
/// which is for its user.
const AVClass *quietClass() {
  static const AVClass made = [] {
    AVClass copy = *avformat_get_class();
    copy.log_level_offset_offset = offsetof(AVFormatContext, opaque);
    return copy;
  }();
  return &made;
}

/// Options for the decoders that probing opens, one set per stream.
class ProbeOptions {
public:
  explicit ProbeOptions(unsigned streams) : sets(std::max(streams, 1u)) {
    for (AVDictionary *&set : sets)
      av_dict_set_int(&set, "log_level_offset", quiet, 0);
  }
  ~ProbeOptions() {
    for (AVDictionary *&set : sets)
      av_dict_free(&set);
  }
  ProbeOptions(const ProbeOptions &) = delete;
  ProbeOptions &operator=(const ProbeOptions &) = delete;
  AVDictionary **data() { return sets.data(); }

private:
  std::vector<AVDictionary *> sets;
};

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

std::string reported() {
  const std::string first = Reports::take();
  return first.empty() ? "" : " (" + first + ")";
}

PacketPtr newPacket() { return PacketPtr(made(av_packet_alloc())); }
FramePtr newFrame() { return FramePtr(made(av_frame_alloc())); }
Parameters newParameters() { return Parameters(made(avcodec_parameters_alloc())); }

void readBytes(const pst_video_bytes &bytes, uint64_t offset, uint64_t count, uint8_t *out) {
  const KeptErrno kept;
  if (offset > bytes.size || count > bytes.size - offset ||
      bytes.read(bytes.user, offset, count, out))
    throw Failure{PST_VIDEO_CORRUPT, "the file cannot be read"};
}

int Input::read(void *self, uint8_t *out, int size) {
  auto &input = *static_cast<Input *>(self);
  const int64_t rest = int64_t(input.file.size) - input.at; // below 0 behind the end
  if (rest <= 0 || size <= 0)
    return AVERROR_EOF;
  const int count = int(std::min<int64_t>(size, rest));
  const KeptErrno kept;
  if (input.file.read(input.file.user, uint64_t(input.at), uint64_t(count), out)) {
    input.unreadable = true; // demuxers may take it for the end
    return AVERROR(EIO);
  }
  input.at += count;
  return count;
}

int64_t Input::seek(void *self, int64_t offset, int whence) {
  auto &input = *static_cast<Input *>(self);
  const int64_t size = int64_t(input.file.size);
  whence &= ~AVSEEK_FORCE;
  if (whence == AVSEEK_SIZE)
    return size;
  const int64_t base = whence == SEEK_CUR ? input.at : whence == SEEK_END ? size : 0;
  int64_t to = 0;
  if (__builtin_add_overflow(base, offset, &to) || to < 0 || to - farthest > size)
    return AVERROR(EINVAL);
  // Behind the end, too, as in files: demuxers then see that it ends, and look no further.
  return input.at = to;
}

Input::Input(const pst_video_bytes &file, AVMediaType kind) : file(file) {
  uint8_t *buffer = static_cast<uint8_t *>(made(av_malloc(window)));
  io = avio_alloc_context(buffer, window, 0, this, read, nullptr, seek);
  if (!io)
    av_free(buffer);
  context = avformat_alloc_context();
  if (!io || !context) {
    close();
    throw std::bad_alloc();
  }
  context->av_class = quietClass();
  context->opaque = reinterpret_cast<void *>(intptr_t(quiet));
  context->pb = io;
  context->flags |= AVFMT_FLAG_CUSTOM_IO;
  context->io_open = refuseToOpen;
  try {
    context->format_whitelist =
        made(av_strdup(kind == AVMEDIA_TYPE_AUDIO ? soundContainers : containers));
    findStream(kind);
  } catch (...) {
    close();
    throw;
  }
}

/// Why a file was not opened; in words of ours where it is of a format that is not read.
static std::string whyNotOpened(int code) {
  const std::string why = reported(); // " (tta: Format not on whitelist 'mov,mp4,...')"
  const size_t end = why.find(": Format not on whitelist");
  constexpr size_t begin = 2;
  return end == std::string::npos || end < begin
             ? textOf(code) + why
             : "it is of the format `" + why.substr(begin, end - begin) + "`";
}

void Input::findStream(AVMediaType kind) {
  const bool isSound = kind == AVMEDIA_TYPE_AUDIO;
  AVDictionary *scan = nullptr;
  av_dict_set_int(&scan, "scan_all_pmts", 1, 0); // of MPEG-TS, as FFmpeg's program has it
  int code = avformat_open_input(&context, "", nullptr, &scan); // frees it where it fails
  av_dict_free(&scan);
  if (code >= 0) {
    ProbeOptions options(context->nb_streams);
    code = avformat_find_stream_info(context, options.data());
  }
  if (code >= 0)
    stream = av_find_best_stream(context, kind, -1, -1, nullptr, 0);
  if (unreadable)
    throw Failure{PST_VIDEO_CORRUPT, "the file cannot be read"};
  checkMemory(code);
  if (code < 0)
    throw Failure{PST_VIDEO_CORRUPT,
                  std::string(isSound ? "no sound file" : "no video file") +
                      " of a format that is read, or damaged: " + whyNotOpened(code)};
  if (stream < 0)
    throw Failure{PST_VIDEO_UNSUPPORTED,
                  isSound ? "the file has no sound" : "the file has no video stream"};
  if (chosen().disposition & AV_DISPOSITION_ATTACHED_PIC)
    throw Failure{PST_VIDEO_UNSUPPORTED, "the file has a picture and no video stream"};
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
    if (unreadable)
      throw Failure{PST_VIDEO_CORRUPT, "the file cannot be read"};
    checkMemory(code);
    if (code < 0)
      return false;
    if (packet.stream_index == stream && packet.size != 0)
      return true;
  }
}

constexpr size_t blankSize = 4096;

/// What stands in a picture's memory before it is decoded, again and again; `isOther`: what differs
/// from that in each byte. The first bytes follow the last ones.
static const std::array<uint8_t, blankSize + 8> &blank(bool isOther) {
  static const auto patterns = [] {
    std::array<std::array<uint8_t, blankSize + 8>, 2> made{};
    uint32_t state = 1;
    for (size_t i = 0; i < blankSize + 8; ++i) {
      if (i == blankSize)
        state = 1;
      made[0][i] = uint8_t((state = state * 1664525u + 1013904223u) >> 24);
      made[1][i] = uint8_t(~made[0][i]);
    }
    return made;
  }();
  return patterns[isOther];
}

/// Whether decoders write all of a picture, unless it is damaged, and may not say then that it is.
static bool writesAll(const AVCodecContext &codec) {
  const AVCodecDescriptor *known = codec.codec_descriptor;
  if (!known)
    return false;
  switch (known->id) {
  case AV_CODEC_ID_H261:
  case AV_CODEC_ID_HEVC:
    return true;
  case AV_CODEC_ID_FFV1:
    // Of several slices some chroma is in none, where an edge lies between two samples. Versions
    // that have them have a header, and checksums.
    return codec.extradata_size == 0;
  default:
    return known->props & AV_CODEC_PROP_INTRA_ONLY;
  }
}

struct Row {
  const uint8_t *at;
  size_t width, place, step; ///< bytes; in the plane's memory; from pixel to pixel
  bool isLast;               ///< of its plane
};

/// Calls `visit(row)` for each row of a picture, until it returns true.
template <typename Visit> static bool anyRow(const AVFrame &frame, Visit visit) {
  const auto kind = AVPixelFormat(frame.format);
  const AVPixFmtDescriptor *format = av_pix_fmt_desc_get(kind);
  for (int plane = 0; format && plane < av_pix_fmt_count_planes(kind); ++plane) {
    const AVBufferRef *buffer = av_frame_get_plane_buffer(const_cast<AVFrame *>(&frame), plane);
    const bool isChroma = (plane == 1 || plane == 2) && !(format->flags & AV_PIX_FMT_FLAG_RGB);
    const int rows = isChroma ? AV_CEIL_RSHIFT(frame.height, format->log2_chroma_h) : frame.height;
    const int width = av_image_get_linesize(kind, frame.width, plane);
    int step = 1;
    for (int i = 0; i < format->nb_components; ++i)
      if (format->comp[i].plane == plane && !(format->flags & AV_PIX_FMT_FLAG_BITSTREAM))
        step = std::max(step, format->comp[i].step);
    for (int row = 0; buffer && width > 0 && row < rows; ++row) {
      const uint8_t *at = frame.data[plane] + ptrdiff_t(row) * frame.linesize[plane];
      if (visit(Row{at, size_t(width), size_t(at - buffer->data), size_t(step), row == rows - 1}))
        return true;
    }
  }
  return false;
}

/// The highest bit of each byte that is the same, of eight.
static uint64_t equalBytes(const uint8_t *a, const uint8_t *b) {
  uint64_t x = 0, y = 0;
  std::memcpy(&x, a, 8);
  std::memcpy(&y, b, 8);
  constexpr uint64_t low = 0x7F7F7F7F7F7F7F7F;
  return ~((((x ^ y) & low) + low) | (x ^ y) | low);
}

bool mayBeUnwritten(const AVCodecContext &codec, const AVFrame &frame, int64_t packets) {
  if (!writesAll(codec))
    return false;
  uint64_t bytes = 0;
  anyRow(frame, [&](const Row &row) {
    bytes += row.width;
    return false;
  });
  // Bytes of the pattern in a row by which chance leads to no more than a 16th of the decoding.
  size_t least = 2;
  for (double odds = 65536; odds < 32.0 * double(bytes) * double(packets) && least < 8; odds *= 256)
    ++least;
  return anyRow(frame, [&](const Row &row) {
    const uint8_t *at = row.at;
    const size_t width = row.width, place = row.place, step = row.step;
    const auto &filled = blank(false);
    const auto isLeft = [&](size_t i) { return at[i] == filled[(place + i) % blankSize]; };
    const auto isRun = [&](size_t i, size_t by) {
      size_t length = 0;
      for (; length < least && i < width && isLeft(i); i += by)
        ++length;
      return length == least;
    };
    // What is left out most often; a few packets cost little.
    for (size_t i = width - std::min(step, width); row.isLast && packets < 4 && i < width; ++i)
      if (isLeft(i))
        return true;
    static_assert(std::endian::native == std::endian::little);
    const size_t far = std::min<size_t>(step, 8);
    const auto hasPair = [](uint64_t equal, uint64_t before, size_t by) {
      return (equal & ((by < 8 ? equal << 8 * by : 0) | before >> (64 - 8 * by))) != 0;
    };
    uint64_t before = 0;
    for (size_t i = 0; i < width; i += 8) { // bytes behind a row's end are memory, too
      const uint64_t equal = equalBytes(at + i, filled.data() + (place + i) % blankSize);
      if (hasPair(equal, before, 1) || hasPair(equal, before, far))
        for (size_t j = i < 8 ? 0 : i - 8; j < std::min(i + 8, width); ++j)
          if (isRun(j, 1) || isRun(j, far))
            return true;
      before = equal;
    }
    return false;
  });
}

uint64_t sumOf(const AVFrame &frame) {
  uint64_t sum = 0xCBF29CE484222325;
  anyRow(frame, [&](const Row &row) {
    for (size_t i = 0; i < row.width; ++i)
      sum = (sum ^ row.at[i]) * 0x100000001B3;
    return false;
  });
  return sum;
}

// As avcodec_default_get_buffer2 does it, from memory that outlives the decoder, and of which is
// known what stands in it.
int FrameMemory::allocate(AVCodecContext *codec, AVFrame *frame, int) {
  auto &self = *static_cast<FrameMemory *>(codec->opaque);
  ++self.count;
  const auto format = AVPixelFormat(frame->format);
  int width = frame->width, height = frame->height, alignments[AV_NUM_DATA_POINTERS] = {};
  avcodec_align_dimensions2(codec, &width, &height, alignments);
  int strides[4] = {};
  for (bool isAligned = false; !isAligned; width += width & ~(width - 1)) {
    if (const int code = av_image_fill_linesizes(strides, format, width); code < 0)
      return code;
    isAligned = true;
    for (int i = 0; i < 4; ++i)
      isAligned = isAligned && strides[i] % alignments[i] == 0;
  }
  const ptrdiff_t wide[4] = {strides[0], strides[1], strides[2], strides[3]};
  size_t sizes[4] = {};
  if (const int code = av_image_fill_plane_sizes(sizes, format, height, wide); code < 0)
    return code;
  constexpr size_t behind = 128; // loops read and write beyond a row's end
  const bool isPatterned = writesAll(*codec);
  for (int i = 0; i < 4 && sizes[i]; ++i) {
    frame->buf[i] = self.block(sizes[i] + behind, isPatterned);
    if (!frame->buf[i]) {
      av_frame_unref(frame);
      return AVERROR(ENOMEM);
    }
    frame->data[i] = frame->buf[i]->data;
    frame->linesize[i] = strides[i];
  }
  frame->extended_data = frame->data;
  return 0;
}

/// A damaged picture may leave parts unwritten: they must not show what was there before, which
/// depends on the clip.
AVBufferRef *FrameMemory::block(size_t size, bool isPatterned) {
  auto found = std::find_if(blocks.begin(), blocks.end(),
                            [&](const Block &one) { return !one.isUsed && one.size == size; });
  if (found == blocks.end()) {
    if (!take(size))
      return nullptr;
    auto *data = static_cast<uint8_t *>(av_malloc(size));
    if (!data)
      return nullptr;
    try {
      found = blocks.insert(blocks.end(), {data, size, false});
    } catch (const std::bad_alloc &) { // FFmpeg's code is on the stack
      av_free(data);
      return nullptr;
    }
  }
  if (isPatterned)
    for (size_t at = 0; at < size; at += blankSize)
      std::memcpy(found->data + at, blank(isOther).data(), std::min(blankSize, size - at));
  else
    std::memset(found->data, 0, size); // as FFmpeg's own memory begins
  AVBufferRef *buffer = av_buffer_create(found->data, size, giveBack, this, 0);
  found->isUsed = buffer;
  return buffer;
}

void FrameMemory::giveBack(void *self, uint8_t *data) {
  for (Block &one : static_cast<FrameMemory *>(self)->blocks)
    if (one.data == data)
      one.isUsed = false;
}

FrameMemory::~FrameMemory() {
  for (const Block &one : blocks)
    av_free(one.data);
}

bool FrameMemory::take(uint64_t bytes) {
  if (refused)
    return false;
  held += bytes;
  const KeptErrno kept;
  refused = hold(user, bytes) != 0;
  return !refused;
}

bool FrameMemory::takeOwn(uint64_t bytes) {
  const uint64_t more = bytes > own ? bytes - own : 0;
  own += more;
  return take(more);
}

void FrameMemory::check() const {
  if (refused)
    throw Failure{PST_VIDEO_LIMIT, "the decoder needs " + std::to_string(held) +
                                       " bytes or more for frames that refer to one another, "
                                       "beside the clip's own: more than a sample may take"};
}

/// Of a codec that FFmpeg has no name for: what the file calls it, and how many bits a sample has.
static std::string nameOf(const AVCodecParameters &parameters) {
  if (parameters.codec_id != AV_CODEC_ID_NONE)
    return avcodec_get_name(parameters.codec_id);
  std::string name = "what it holds";
  if (parameters.codec_tag) {
    const auto byte = [&](int i) { return uint8_t(parameters.codec_tag >> 8 * i); };
    bool isWord = true;
    for (int i = 0; i < 4; ++i)
      isWord = isWord && byte(i) >= ' ' && byte(i) <= '~';
    char text[16];
    std::snprintf(text, sizeof text, isWord ? "`%c%c%c%c`" : "tag 0x%04X",
                  isWord ? byte(0) : int(parameters.codec_tag), byte(1), byte(2), byte(3));
    name = text;
  }
  if (parameters.codec_type == AVMEDIA_TYPE_AUDIO && parameters.bits_per_coded_sample)
    name += " of " + std::to_string(parameters.bits_per_coded_sample) + " bits";
  return name;
}

CodecPtr newCodec(const AVCodecParameters &parameters) {
  const AVCodec *codec = avcodec_find_decoder(parameters.codec_id);
  if (!codec)
    throw Failure{PST_VIDEO_UNSUPPORTED, "this FFmpeg has no decoder for " + nameOf(parameters)};
  CodecPtr context(made(avcodec_alloc_context3(codec)));
  if (avcodec_parameters_to_context(context.get(), &parameters) < 0)
    throw std::bad_alloc();
  context->thread_count = 1;
  context->log_level_offset = quiet;
#ifdef __aarch64__
  // Its inverse DCT for Neon rounds otherwise than all its others. For MPEG-4 it chooses by who
  // made the stream, unless it is told.
  if (parameters.codec_id != AV_CODEC_ID_MPEG4)
    context->idct_algo = FF_IDCT_SIMPLE;
#endif
  return context;
}

void open(AVCodecContext &context) {
  const char *name = context.codec->name; // which is forgotten where it fails
  const int code = avcodec_open2(&context, context.codec, nullptr);
  checkMemory(code); // without some of its tables AAC's decoder ends the process later
  if (code < 0)
    throw Failure{PST_VIDEO_CORRUPT,
                  std::string("the ") + name + " decoder cannot start: " + textOf(code)};
}

/// What Microsoft's codecs of MPEG-4's kind are to look at: wrong codes of coefficients, and bits
/// behind a picture beyond those that encoders leave. Else they take both.
static int more(AVCodecID codec) {
  switch (codec) {
  case AV_CODEC_ID_MSMPEG4V1:
  case AV_CODEC_ID_MSMPEG4V2:
  case AV_CODEC_ID_MSMPEG4V3:
  case AV_CODEC_ID_WMV1:
  case AV_CODEC_ID_WMV2:
    return AV_EF_BITSTREAM | AV_EF_BUFFER;
  default:
    return 0;
  }
}

CodecPtr openCodec(const AVCodecParameters &parameters, uint64_t maxPixels, FrameMemory &memory,
                   Damaged pictures, int bugs) {
  CodecPtr context = newCodec(parameters);
  context->workaround_bugs = bugs;
  const AVCodec *codec = context->codec;
  context->max_pixels = int64_t(maxPixels);
  // Else many decoders keep damage to themselves, and do not compare the checksums that streams
  // have. That of H.264 marks its frames, and would refuse whole ones for messages beside them;
  // that of TIFF, for tags that it does not know.
  if (codec->id != AV_CODEC_ID_H264 && codec->id != AV_CODEC_ID_TIFF && pictures == Damaged::Refuse)
    context->err_recognition |= AV_EF_EXPLODE | AV_EF_CRCCHECK | more(codec->id);
  if (!(codec->capabilities & AV_CODEC_CAP_DR1)) {
    // A library with memory of its own (dav1d): AV1's eight references, the frame
    // at hand and one that is shown.
    const int frame = av_image_get_buffer_size(AVPixelFormat(parameters.format), parameters.width,
                                               parameters.height, 64);
    (void)memory.takeOwn(10 * uint64_t(std::max(frame, 0)));
    memory.check();
  }
  context->opaque = &memory;
  context->get_buffer2 = FrameMemory::allocate;
  open(*context);
  return context;
}

} // namespace penstock::video
