// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/ffmpeg/Decoder.h"

#include "runtime/media/video/ffmpeg/Reports.h"

#include <algorithm>
#include <array>
#include <unordered_map>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace penstock::video {

namespace {

constexpr uint64_t maxPixels = 8192 * 4320; // of later frames; the index has seen the first

/// Describes a frame's planes and samples. Throws Failure for pixel formats other than Y'CbCr,
/// gray or RGB of 8 to 12 bits.
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

bool isError(int code) { return code < 0 && code != AVERROR(EAGAIN) && code != AVERROR_EOF; }

/// Whether FFmpeg's decoder allows for faults of encoders by what it counted of pictures before,
/// and for no others. MPEG-4 has more of them.
bool countsEnds(AVCodecID codec) {
  return codec == AV_CODEC_ID_H263 || codec == AV_CODEC_ID_H263P || codec == AV_CODEC_ID_H263I ||
         codec == AV_CODEC_ID_FLV1;
}

Failure damage(int64_t number, bool isItsOwn, const std::string &why) {
  return {PST_VIDEO_CORRUPT, "frame " + std::to_string(number) +
                                 (isItsOwn ? " is damaged" : " depends on a damaged one") + why};
}

} // namespace

Frames::Frames(const Index &index, const pst_video_range &range) : range(range) {
  const int64_t frames = index.frames();
  int64_t length = 0; // from the first to the last
  const bool isHuge =
      range.count > 0 && __builtin_mul_overflow(range.count - 1, range.step, &length);
  if (range.first < 0 || range.count < 0 || range.step < 1 || isHuge || range.first >= frames ||
      length > frames - 1 - range.first) {
    const bool isBeyond = isHuge || (range.first > 0 && length > INT64_MAX - range.first);
    const int64_t end = isBeyond ? INT64_MAX : range.first + length;
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
    const int64_t frame = frames.number(place);
    const int64_t start = index.startFor(index.packetOf(frame)), end = index.endOf(frame);
    if (pieces.empty() || start != pieces.back().begin)
      pieces.push_back({start, end, place, place});
    pieces.back().end = std::max(pieces.back().end, end);
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
  const KeptErrno kept;
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
    packet->flags = (known.flags & Packet::Key ? AV_PKT_FLAG_KEY : 0) |
                    (known.flags & Packet::Discard ? AV_PKT_FLAG_DISCARD : 0);
    return;
  }
  if (!input || inputAt > at) {
    input = std::make_unique<Input>(file, AVMEDIA_TYPE_VIDEO);
    inputAt = 0;
  }
  for (; inputAt <= at; ++inputAt)
    if (!input->next(*packet) || (inputAt == at && packet->size != known.size))
      throw Failure{PST_VIDEO_CORRUPT, "the packets are not those of the index"};
}

void Decoder::send(int64_t at) {
  load(at);
  packet->pts = at; // which comes back with the frame
  packet->dts = AV_NOPTS_VALUE;
  ++costs.packets;
  const uint64_t pictures = memory.pictures();
  const int code = avcodec_send_packet(codec.get(), packet.get());
  memory.check();
  checkMemory(code);
  if (code == AVERROR(ENOMEM))
    throw Failure{PST_VIDEO_LIMIT, "no memory to decode the file"};
  // For a picture that is missing the decoder of H.265 makes one up, and says so nowhere else.
  // Where decoding begins it does so for those that are left out then.
  const bool isMadeUp = codec->codec_id == AV_CODEC_ID_HEVC && memory.pictures() > pictures + 1 &&
                        !(index.packets[size_t(at)].flags & Packet::Recovery);
  if (isError(code) || isMadeUp)
    noteDamage(at);
}

bool Decoder::next(int64_t at) {
  for (;;) {
    const int code = avcodec_receive_frame(codec.get(), frame.get());
    if (isError(code)) {
      noteDamage(at);
      continue;
    }
    if (code < 0)
      return false;
    if ((frame->flags & AV_FRAME_FLAG_CORRUPT) || frame->decode_error_flags)
      noteDamage(frame->pts);
    else if (mayBeUnwritten(*codec, *frame, frame->pts - begun + 1))
      suspected.push_back({frame->pts, came, sumOf(*frame)});
    ++came;
    return true;
  }
}

void Decoder::receive(int64_t at) {
  while (next(at)) {
    const std::optional<int64_t> number = index.frameOf(frame->pts);
    const int64_t place = number ? wanted.placeOf(*number) : -1;
    if (place >= 0 && !given[size_t(place)] && !isInDoubt())
      give(*frame, *number);
  }
}

void Decoder::checkDamage(int64_t number, const Piece &piece, int64_t begin) const {
  const bool dependsOnStarts =
      begin < piece.begin && index.parameters->codec_id == AV_CODEC_ID_MSMPEG4V3;
  for (const Damage &one : damaged) {
    const bool isStart = index.packets[size_t(one.packet)].flags & Packet::Start;
    if (index.dependsOn(number, one.packet) ||
        (dependsOnStarts && isStart && one.packet < piece.begin))
      throw damage(number, one.packet >= index.packetOf(number), one.why);
  }
}

// How DivX 3 rounds from an I picture on stands behind its blocks, and where more bytes follow
// FFmpeg leaves that as it was. Nothing but its report tells.
bool Decoder::leavesWhatWas(int64_t at) const {
  if (codec->codec_id != AV_CODEC_ID_MSMPEG4V3 || at == 0)
    return false;
  const std::string why = Reports::areHeard() ? reported() : "unheard";
  return !why.empty() && why.find("ext header missing") == std::string::npos;
}

// FFmpeg's decoder of MPEG-4 counts whether pictures end as they should. Until two do it takes any
// bits behind one for a fault of encoders, which hides damage, unless it is told to look at them;
// then that is what pictures before decide. That of H.263 does so as well: where decoding begins
// later it is told to allow for none, and what it finds then is for pictures before to decide.
bool Decoder::isInDoubt() const {
  return std::any_of(damaged.begin(), damaged.end(), [&](const Damage &one) {
    return one.packet >= doubtful.first && one.packet < doubtful.second;
  });
}

void Decoder::forgetDamage() {
  damaged.clear();
  for (int64_t packet : index.damaged())
    damaged.push_back({packet, ""});
}

void Decoder::start(int64_t begin) {
  begun = begin;
  came = 0;
  // Decoders keep more over a flush than frames: tables, how they round.
  codec.reset();
  const bool isExact = begin > 0 && countsEnds(index.parameters->codec_id);
  codec = openCodec(*index.parameters, maxPixels, memory, Damaged::Refuse,
                    isExact ? 0 : FF_BUG_AUTODETECT);
  if (index.isSequential())
    return;
  // H.264 else holds back frames before a recovery point, and with the first of
  // them at the end of the packets all that wait behind it.
  codec->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
  const bool isMpeg4 = codec->codec_id == AV_CODEC_ID_MPEG4 && begin > 0;
  codec->err_recognition |= isMpeg4 ? AV_EF_BUFFER : 0;
  doubtful = {begin, isMpeg4 ? begin + 2 : isExact ? INT64_MAX : begin};
}

// Frames that no other one refers to are left out where they are not wanted.
void Decoder::skipUnless(int64_t at) {
  if (index.isSequential())
    return;
  const bool isSecond = index.packets[size_t(at)].flags & Packet::SecondField;
  const std::optional<int64_t> number = index.frameOf(at - isSecond);
  const bool isWanted = number && wanted.has(*number);
  const bool isNeeded = isWanted || (index.packets[size_t(at)].flags & Packet::Referenced);
  codec->skip_frame = isNeeded || !index.mayLeaveOut() ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
}

// What differs in other memory was not written.
void Decoder::decodeOtherwise(int64_t begin, int64_t end) {
  if (suspected.empty())
    return;
  memory.beginOtherwise(true);
  start(begin);
  const auto compare = [&] {
    int code = 0;
    while ((code = avcodec_receive_frame(codec.get(), frame.get())) >= 0 || isError(code)) {
      for (const Suspect &one : suspected)
        if (code >= 0 && one.place == came && one.packet == frame->pts && one.sum != sumOf(*frame))
          noteDamage(one.packet);
      came += code >= 0;
    }
  };
  for (int64_t i = begin; i <= end; ++i) {
    load(i);
    packet->pts = i;
    packet->dts = AV_NOPTS_VALUE;
    skipUnless(i);
    (void)avcodec_send_packet(codec.get(), packet.get());
    compare();
  }
  (void)avcodec_send_packet(codec.get(), nullptr);
  compare();
  memory.beginOtherwise(false);
  memory.check();
}

bool Decoder::decode(const Piece &piece, int64_t begin) {
  forgetDamage();
  suspected.clear();
  auto check = [&] {
    for (int64_t place = piece.first; place < piece.last; ++place)
      checkDamage(wanted.number(place), piece, begin);
  };
  check();
  start(begin);
  (void)reported(); // of what was before
  for (int64_t i = begin; i <= piece.end; ++i) {
    skipUnless(i);
    send(i);
    if (i == begin && leavesWhatWas(i)) {
      check();
      return false;
    }
    receive(i);
    if (isInDoubt())
      return false;
  }
  // The rest comes without more packets.
  (void)avcodec_send_packet(codec.get(), nullptr);
  receive(piece.end);
  memory.check();
  if (!isInDoubt())
    decodeOtherwise(begin, piece.end);
  if (isInDoubt())
    return false;
  check();
  return std::all_of(given.begin() + piece.first, given.begin() + piece.last,
                     [](bool is) { return is; });
}

void Decoder::decodeAll() {
  start(0);
  forgetDamage();
  // Frames are told by the packets that they come of: what is refused here has a number all the
  // same.
  int64_t left = wanted.count(), recovery = 0;
  std::unordered_map<int64_t, int64_t> nth;
  std::vector<std::array<int64_t, 3>> checked; // numbers, packets, where damage begins
  const auto check = [&](int64_t number, int64_t from) {
    for (const Damage &one : damaged) // packets may hold parts of two frames
      if (one.packet >= recovery && one.packet <= from + 1)
        throw damage(number, one.packet >= from, one.why);
  };
  auto receiveAll = [&](int64_t at) {
    while (left > 0 && next(at)) {
      const int64_t from = std::clamp<int64_t>(frame->pts, 0, at);
      if (index.packets[size_t(from)].flags & Packet::Recovery)
        recovery = index.damageBegin(from);
      const std::optional<int64_t> number = index.frameOf(from, nth[from]++);
      if (number && wanted.has(*number)) {
        check(*number, from);
        checked.push_back({*number, from, recovery});
        give(*frame, *number);
        --left;
      }
    }
  };
  const int64_t count = int64_t(index.packets.size());
  int64_t sent = 0;
  for (; left > 0 && sent < count; ++sent) {
    send(sent);
    receiveAll(sent);
  }
  (void)avcodec_send_packet(codec.get(), nullptr);
  receiveAll(count - 1);
  memory.check();
  decodeOtherwise(0, sent - 1);
  for (const auto &[number, from, begin] : checked) {
    recovery = begin;
    check(number, from);
  }
  for (int64_t place = 0; place < wanted.count(); ++place)
    if (!given[size_t(place)]) {
      recovery = index.packetOf(wanted.number(place));
      check(wanted.number(place), recovery);
    }
}

void Decoder::run() {
  if (wanted.count() == 0)
    return;
  if (index.isSequential()) {
    decodeAll();
  } else {
    for (const Piece &piece : piecesFor(index, wanted))
      if (!decode(piece, piece.begin) && piece.begin > 0) {
        ++costs.restarts;
        (void)decode(piece, 0);
      }
  }
  checkMemory();
  const auto missing = std::find(given.begin(), given.end(), false);
  if (missing != given.end())
    throw Failure{PST_VIDEO_CORRUPT, "frame " +
                                         std::to_string(wanted.number(missing - given.begin())) +
                                         " does not come out of the decoder"};
}

} // namespace penstock::video
