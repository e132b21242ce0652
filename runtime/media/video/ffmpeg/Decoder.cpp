#include "runtime/media/video/ffmpeg/Decoder.h"

#include <algorithm>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace penstock::video {

namespace {

constexpr uint64_t maxPixels = 8192 * 4320; // of later frames; the index has seen the first

/// What planes and samples mean. Throws Failure for what is not Y'CbCr, gray or
/// RGB of 8 to 12 bits.
pst_video_frame describe(const AVFrame &frame) {
  const auto format = AVPixelFormat(frame.format);
  const AVPixFmtDescriptor *known = av_pix_fmt_desc_get(format);
  const uint64_t no = AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                      AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;
  const bool fits = known && !(known->flags & no) &&
                    (known->nb_components <= 2 || known->comp[0].depth == known->comp[1].depth) &&
                    known->comp[0].depth >= 8 && known->comp[0].depth <= 12 &&
                    known->comp[0].shift == 0 && known->log2_chroma_w <= 2 &&
                    known->log2_chroma_h <= 2;
  if (!fits)
    throw Failure{PST_VIDEO_UNSUPPORTED, std::string("frames of the pixel format ") +
                                             (known ? known->name : "none") +
                                             " are not converted to pixels here"};
  pst_video_frame result{};
  result.width = uint32_t(frame.width);
  result.height = uint32_t(frame.height);
  result.components = known->nb_components <= 2 ? 1 : 3; // alpha is dropped
  result.is_rgb = (known->flags & AV_PIX_FMT_FLAG_RGB) != 0;
  result.depth = uint8_t(known->comp[0].depth);
  result.shift_x = result.is_rgb ? 0 : known->log2_chroma_w;
  result.shift_y = result.is_rgb ? 0 : known->log2_chroma_h;
  const std::string_view name = known->name;
  result.full_range = frame.color_range == AVCOL_RANGE_JPEG || name.starts_with("yuvj");
  result.matrix = uint8_t(frame.colorspace);
  for (int i = 0; i < result.components; ++i) {
    const AVComponentDescriptor &component = known->comp[i];
    result.planes[i] = {frame.data[component.plane] + component.offset,
                        frame.linesize[component.plane], component.step};
  }
  return result;
}

} // namespace

Frames::Frames(const Index &index, const pst_video_range &range) : range(range) {
  const int64_t frames = index.frames();
  int64_t length = 0;
  if (range.first < 0 || range.count < 0 || range.step < 1 ||
      __builtin_mul_overflow(range.count ? range.count - 1 : 0, range.step, &length) ||
      range.first >= frames || length > frames - 1 - range.first) {
    const int64_t end = range.count < 1                    ? range.first
                        : range.first > INT64_MAX - length ? INT64_MAX
                                                           : range.first + length;
    throw Failure{PST_VIDEO_RANGE, "frames " + std::to_string(range.first) + " to " +
                                       std::to_string(end) + " are wanted, and the video has " +
                                       std::to_string(frames)};
  }
}

int64_t Frames::placeOf(int64_t frame) const {
  const int64_t from = frame - range.first;
  const bool isOne = from >= 0 && from % range.step == 0 && from / range.step < range.count;
  return isOne ? from / range.step : -1;
}

std::vector<Piece> piecesFor(const Index &index, const Frames &frames) {
  std::vector<Piece> pieces;
  for (int64_t place = 0; place < frames.count(); ++place) {
    const int64_t packet = index.packetOf(frames.number(place));
    const int64_t start = index.startFor(packet);
    if (pieces.empty() || start > pieces.back().end + 1)
      pieces.push_back({start, packet, place, place});
    pieces.back().end = std::max(pieces.back().end, packet);
    pieces.back().last = place + 1;
  }
  return pieces;
}

Decoder::Decoder(const pst_video_bytes &file, const Index &index, const pst_video_range &range,
                 const pst_video_client &client, pst_video_costs &costs)
    : file(file), index(index), wanted(index, range), client(client), costs(costs) {
  if (file.size != index.head.file_size)
    throw Failure{PST_VIDEO_CORRUPT, "the file has " + std::to_string(file.size) +
                                         " bytes, and had " + std::to_string(index.head.file_size) +
                                         " when it was indexed"};
  given.assign(size_t(range.count), false);
}

void Decoder::give(const AVFrame &decoded, int64_t number) {
  if (uint32_t(decoded.width) != index.head.width || uint32_t(decoded.height) != index.head.height)
    throw Failure{PST_VIDEO_UNSUPPORTED,
                  "frame " + std::to_string(number) + " has " + std::to_string(decoded.height) +
                      " rows and " + std::to_string(decoded.width) + " columns, the first one " +
                      std::to_string(index.head.height) + " and " +
                      std::to_string(index.head.width)};
  const int64_t place = wanted.placeOf(number);
  const pst_video_frame described = describe(decoded);
  if (client.take(client.user, place, &described))
    throw Failure{PST_VIDEO_UNSUPPORTED, ""}; // the caller knows why
  given[size_t(place)] = true;
}

void Decoder::load(int64_t at) {
  const Packet &known = index.packets[size_t(at)];
  if (index.isDirect()) {
    // Decoders read some bytes more than there are, and want them to be 0.
    av_packet_unref(packet.get());
    if (av_new_packet(packet.get(), int(known.size)) < 0)
      throw std::bad_alloc();
    readBytes(file, uint64_t(known.offset), uint64_t(known.size), packet->data);
    packet->pts = known.pts;
    packet->flags = (known.flags & Packet::Key ? AV_PKT_FLAG_KEY : 0) |
                    (known.flags & Packet::Discard ? AV_PKT_FLAG_DISCARD : 0);
    return;
  }
  if (!input || inputAt > at) {
    input = std::make_unique<Input>(file);
    inputAt = 0;
  }
  for (; inputAt <= at; ++inputAt)
    if (!input->next(*packet) || (inputAt == at && packet->size != known.size))
      throw Failure{PST_VIDEO_CORRUPT, "the packets are not those of the index"};
}

void Decoder::receive(bool last) {
  while (avcodec_receive_frame(codec.get(), frame.get()) >= 0) {
    const std::optional<int64_t> number = index.frameAt(frame->pts);
    const int64_t place = number ? wanted.placeOf(*number) : -1;
    if (place < 0 || given[size_t(place)])
      continue;
    const bool damaged = (frame->flags & AV_FRAME_FLAG_CORRUPT) || frame->decode_error_flags;
    if (!damaged)
      give(*frame, *number);
    else if (last)
      throw Failure{PST_VIDEO_CORRUPT, "frame " + std::to_string(*number) + " is damaged"};
  }
}

bool Decoder::decode(const Piece &piece, int64_t begin, int64_t end, bool last) {
  if (codec) {
    avcodec_flush_buffers(codec.get());
  } else {
    codec = openCodec(*index.parameters, maxPixels, memory);
    // H.264 else holds back frames before a recovery point, and with the first of
    // them at the end of the packets all that wait behind it.
    codec->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  }
  for (int64_t i = begin; i <= end; ++i) {
    load(i);
    const std::optional<int64_t> number = index.frameAt(packet->pts);
    // Frames that no other one refers to are left out where they are not wanted.
    codec->skip_frame = number && wanted.has(*number) ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
    ++costs.packets;
    const int code = avcodec_send_packet(codec.get(), packet.get());
    memory.check();
    if (code == AVERROR(ENOMEM))
      throw std::bad_alloc();
    receive(last);
  }
  // The rest comes without more packets.
  (void)avcodec_send_packet(codec.get(), nullptr);
  receive(last);
  memory.check();
  return std::all_of(given.begin() + piece.first, given.begin() + piece.last,
                     [](bool is) { return is; });
}

void Decoder::decodeAll() {
  codec = openCodec(*index.parameters, maxPixels, memory);
  int64_t number = 0, left = wanted.count();
  auto receiveInOrder = [&] {
    while (left > 0 && avcodec_receive_frame(codec.get(), frame.get()) >= 0) {
      if (wanted.has(number)) {
        if ((frame->flags & AV_FRAME_FLAG_CORRUPT) || frame->decode_error_flags)
          throw Failure{PST_VIDEO_CORRUPT, "frame " + std::to_string(number) + " is damaged"};
        give(*frame, number);
        --left;
      }
      ++number;
    }
  };
  for (int64_t i = 0; left > 0 && i < int64_t(index.packets.size()); ++i) {
    load(i);
    ++costs.packets;
    (void)avcodec_send_packet(codec.get(), packet.get());
    receiveInOrder();
    memory.check();
  }
  (void)avcodec_send_packet(codec.get(), nullptr);
  receiveInOrder();
  memory.check();
}

void Decoder::run() {
  if (wanted.count() == 0)
    return;
  if (index.isSequential()) {
    decodeAll();
  } else {
    for (const Piece &piece : piecesFor(index, wanted))
      if (!decode(piece, piece.begin, piece.end, piece.begin == 0) && piece.begin > 0) {
        ++costs.restarts;
        (void)decode(piece, 0, piece.end, true);
      }
  }
  const auto missing = std::find(given.begin(), given.end(), false);
  if (missing != given.end())
    throw Failure{PST_VIDEO_CORRUPT, "frame " +
                                         std::to_string(wanted.number(missing - given.begin())) +
                                         " does not come out of the decoder"};
}

} // namespace penstock::video
