// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/ffmpeg/Index.h"

#include "runtime/media/video/ffmpeg/Numbers.h"
#include "runtime/media/video/ffmpeg/PictureOrder.h"
#include "runtime/media/video/ffmpeg/Pictures.h"

#include <algorithm>
#include <cstring>

extern "C" {
#include <libavutil/display.h>
}

namespace penstock::video {

namespace {

constexpr char magic[8] = {'P', 'S', 'T', 'K', 'V', 'I', 'D', '7'};
constexpr uint32_t maxPackets = 1u << 27;

/// The numbers of the parameters that decoders look at.
template <typename Visit> void eachNumber(AVCodecParameters &p, Visit visit) {
  visit(p.codec_id), visit(p.codec_tag), visit(p.format), visit(p.bits_per_coded_sample);
  visit(p.bits_per_raw_sample), visit(p.profile), visit(p.level), visit(p.width), visit(p.height);
  visit(p.field_order), visit(p.color_range), visit(p.color_primaries), visit(p.color_trc);
  visit(p.color_space), visit(p.chroma_location), visit(p.video_delay);
}

/// Returns the orientation of EXIF that a display matrix of quarter turns and mirrors amounts to; 1
/// for any other, and for none.
uint32_t orientationOf(const uint8_t *matrix) {
  if (!matrix)
    return 1;
  int32_t m[9];
  std::memcpy(m, matrix, sizeof m);
  auto sign = [](int32_t value) { return (value > 0) - (value < 0); };
  // A stored pixel (x, y) is shown at (a x + c y, b x + d y).
  const int a = sign(m[0]), b = sign(m[1]), c = sign(m[3]), d = sign(m[4]);
  struct {
    int a, b, c, d;
  } const known[] = {{1, 0, 0, 1}, {-1, 0, 0, 1}, {-1, 0, 0, -1}, {1, 0, 0, -1},
                     {0, 1, 1, 0}, {0, 1, -1, 0}, {0, -1, -1, 0}, {0, -1, 1, 0}};
  for (uint32_t i = 0; i < 8; ++i)
    if (known[i].a == a && known[i].b == b && known[i].c == c && known[i].d == d)
      return i + 1;
  return 1;
}

bool mayShow(const Packet &packet) {
  return !(packet.flags & (Packet::Discard | Packet::SecondField));
}

uint16_t flagsOf(const AVPacket &packet, const Picture &picture) {
  uint16_t flags = 0;
  auto put = [&](bool is, uint16_t flag) { flags |= is ? flag : 0; };
  put(packet.flags & AV_PKT_FLAG_KEY, Packet::Key);
  put(packet.flags & AV_PKT_FLAG_DISCARD, Packet::Discard);
  put(picture.isStart, Packet::Start);
  put(picture.isRecovery, Packet::Recovery);
  put((packet.flags & AV_PKT_FLAG_CORRUPT) || picture.isDamaged, Packet::Damaged);
  put(picture.isSecondField, Packet::SecondField);
  put(picture.isReferenced, Packet::Referenced);
  put(picture.isRefreshed, Packet::Refreshed);
  put(picture.beginsRefresh, Packet::Refresh);
  return flags;
}

/// Checks that packets come in an order that fits their times. Of files that were put together, the
/// second part's may begin anew: then frames come out as their packets lie, whatever the times.
class TimesInOrder {
public:
  explicit TimesInOrder(AVCodecID codec) {
    const AVCodecDescriptor *known = avcodec_descriptor_get(codec);
    mayReorder = known && known->props & AV_CODEC_PROP_REORDER;
  }
  /// Takes the next packet in decoding order that is not a second field.
  void take(const AVPacket &packet, const Picture &picture) {
    if (packet.dts != AV_NOPTS_VALUE) {
      goesBack |= packet.dts < decoded;
      decoded = packet.dts;
    }
    if (packet.pts == AV_NOPTS_VALUE)
      return;
    if (!mayReorder || picture.isBehindAll)
      floor = latest;
    isWrong |= packet.pts < floor;
    latest = std::max(latest, packet.pts);
  }
  /// `hasFields`: the demuxer guesses when a field that has a packet of its own is decoded.
  bool areRight(bool hasFields) const { return !isWrong && (hasFields || !goesBack); }

private:
  bool mayReorder = false, isWrong = false, goesBack = false;
  int64_t decoded = INT64_MIN, latest = INT64_MIN;
  int64_t floor = INT64_MIN; // all later pictures are shown behind it
};

/// The most that frames may take while an index is made.
struct Allowance {
  explicit Allowance(const pst_video_limits &limits) : left(limits.bytes) {}
  static int hold(void *user, uint64_t bytes) {
    auto &self = *static_cast<Allowance *>(user);
    if (bytes > self.left)
      return 1;
    self.left -= bytes;
    return 0;
  }
  uint64_t left;
  FrameMemory memory{hold, this};
};

} // namespace

int64_t placeOf(const AVPacket &packet, const pst_video_bytes &file, std::vector<uint8_t> &around) {
  constexpr int64_t longestHead = 64; // of a block
  const int64_t size = int64_t(file.size);
  if (packet.pos < 0 || packet.pos > size || packet.size > size - packet.pos)
    return -1;
  around.resize(size_t(std::min(size - packet.pos, packet.size + longestHead)));
  readBytes(file, uint64_t(packet.pos), around.size(), around.data());
  const auto found =
      std::search(around.begin(), around.end(), packet.data, packet.data + packet.size);
  return found == around.end() ? -1 : packet.pos + (found - around.begin());
}

bool isPlain(const AVPacket &packet) {
  for (int i = 0; i < packet.side_data_elems; ++i)
    switch (packet.side_data[i].type) {
    case AV_PKT_DATA_NEW_EXTRADATA:
    case AV_PKT_DATA_PALETTE:
    case AV_PKT_DATA_PARAM_CHANGE:
    case AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL:
    case AV_PKT_DATA_ENCRYPTION_INFO:
      return false;
    default:
      break;
    }
  return true;
}

void setExtraData(AVCodecParameters &parameters, std::span<const uint8_t> extra) {
  if (extra.empty())
    return; // none is not the same as an empty one, which Opus' decoder refuses
  parameters.extradata =
      static_cast<uint8_t *>(av_mallocz(extra.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  if (!parameters.extradata)
    throw std::bad_alloc();
  std::memcpy(parameters.extradata, extra.data(), extra.size());
  parameters.extradata_size = int(extra.size());
}

Index Index::make(const pst_video_bytes &file, const pst_video_limits &limits) {
  Index index;
  Input input(file, AVMEDIA_TYPE_VIDEO);
  const AVStream &stream = input.chosen();
  std::memcpy(index.head.magic, magic, sizeof magic);
  index.head.file_size = file.size;
  index.head.library = avcodec_version();
  index.head.orientation =
      orientationOf(av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr));
  index.stream = input.chosenNumber();
  index.parameters = newParameters();
  if (avcodec_parameters_copy(index.parameters.get(), stream.codecpar) < 0)
    throw std::bad_alloc();
  index.readPackets(input, file);
  if (index.packets.empty())
    throw Failure{PST_VIDEO_CORRUPT, "the video stream is empty"};
  index.head.packets = uint32_t(index.packets.size());
  Input again(file, AVMEDIA_TYPE_VIDEO);
  if (index.isSequential())
    index.countFrames(again, limits);
  else
    index.findFrames(again, file, limits);
  checkMemory();
  if (index.head.frames == 0)
    throw Failure{PST_VIDEO_CORRUPT, "no frame of the video can be decoded"};
  return index;
}

void Index::readPackets(Input &input, const pst_video_bytes &file) {
  head.flags = PST_VIDEO_DIRECT;
  std::vector<uint8_t> around;
  PacketPtr packet = newPacket();
  std::vector<int64_t> times;
  const std::unique_ptr<PictureReader> pictures = readerFor(*parameters);
  leavesOut = pictures->skips();
  bool needsAll = false;
  TimesInOrder inOrder(parameters->codec_id);
  PictureOrder order(*parameters);
  bool hasFields = false;
  std::vector<int64_t> needed;   // by packet, the first one with its tables
  int64_t reference = INT64_MAX; // the time of the last picture that is not between others
  while (input.next(*packet)) {
    if (packets.size() == maxPackets)
      throw Failure{PST_VIDEO_LIMIT, "the video has too many packets"};
    Packet one{packet->pts, -1, packet->size, 0};
    if (isDirect())
      one.offset = isPlain(*packet) ? placeOf(*packet, file, around) : -1;
    if (one.offset < 0)
      head.flags &= ~uint32_t(PST_VIDEO_DIRECT);
    const Picture picture = pictures->read({packet->data, size_t(packet->size)});
    leavesOut &= !picture.isOdd;
    one.flags = flagsOf(*packet, picture);
    order.take(*packet, picture.isBehindAll, picture.isSecondField);
    if (picture.isBehindHalf && !packets.empty())
      packets.back().flags |= Packet::Damaged;
    if (one.flags & Packet::SecondField) {
      one.pts = packets.back().pts;
      hasFields = true;
    } else {
      inOrder.take(*packet, picture);
      if (!(one.flags & Packet::Discard))
        times.push_back(one.pts);
    }
    if (one.pts == AV_NOPTS_VALUE || picture.isPacked || (picture.isBetween && one.pts > reference))
      head.flags |= PST_VIDEO_SEQUENTIAL;
    if (!picture.isBetween)
      reference = one.pts;
    needsAll |= picture.needsAll;
    needed.push_back(int64_t(packets.size()) - picture.reach);
    packets.push_back(one);
  }
  // Nothing begins between tables and a picture that needs them.
  int64_t least = INT64_MAX;
  for (int64_t i = int64_t(packets.size()) - 1; i >= 0; --i)
    if ((least = std::min(least, needed[size_t(i)])) < i)
      packets[size_t(i)].flags &= uint16_t(~(Packet::Start | Packet::Recovery));
  std::sort(times.begin(), times.end());
  if (std::adjacent_find(times.begin(), times.end()) != times.end() ||
      !inOrder.areRight(hasFields) || order.contradictsTimes())
    head.flags |= PST_VIDEO_SEQUENTIAL;
  if (needsAll)
    for (Packet &one : packets)
      one.flags &= uint16_t(~Packet::Start);
}

/// Takes the extents of the first frame, and how it is turned: what a stream says of itself
/// (H.264's and H.265's display orientation) goes before what its container says.
void Index::describe(const AVFrame &frame) {
  head.width = uint32_t(frame.width);
  head.height = uint32_t(frame.height);
  if (const auto *matrix = av_frame_get_side_data(&frame, AV_FRAME_DATA_DISPLAYMATRIX))
    head.orientation = orientationOf(matrix->data);
}

/// Frames by time. What is shown before the first key frame may need packets
/// that the file does not have: whether FFmpeg's program gives it is tried, concealed or not.
void Index::findFrames(Input &input, const pst_video_bytes &file, const pst_video_limits &limits) {
  Allowance room(limits);
  CodecPtr codec = openCodec(*parameters, limits.pixels, room.memory, Damaged::Conceal);
  PacketPtr packet = newPacket();
  FramePtr frame = newFrame();
  std::vector<int64_t> seen;     // packets
  std::optional<int64_t> anchor; // the first key frame that comes out
  auto take = [&] {
    while (avcodec_receive_frame(codec.get(), frame.get()) >= 0) {
      if (seen.empty())
        describe(*frame);
      if (frame->pts < 0 || frame->pts >= int64_t(packets.size()))
        continue;
      seen.push_back(frame->pts);
      const Packet &from = packets[size_t(frame->pts)];
      if (!anchor && (frame->key_frame || (from.flags & Packet::Recovery)))
        anchor = from.pts;
    }
  };
  for (int64_t at = 0; !anchor && input.next(*packet); ++at) {
    packet->flags &= ~AV_PKT_FLAG_DISCARD; // a frame that is not shown may be the key frame
    packet->pts = at;
    (void)avcodec_send_packet(codec.get(), packet.get()); // only its frames count
    take();
  }
  (void)avcodec_send_packet(codec.get(), nullptr);
  take();
  room.memory.check();
  if (seen.empty())
    throw Failure{PST_VIDEO_CORRUPT, "no frame of the video can be decoded"};
  std::sort(seen.begin(), seen.end());
  const int64_t begin = anchor.value_or(INT64_MAX);
  std::vector<int64_t> lost;
  for (int64_t i = 0; i < int64_t(packets.size()); ++i) {
    if (packets[size_t(i)].pts < begin && !std::binary_search(seen.begin(), seen.end(), i))
      lost.push_back(i);
  }
  order(lost);
  const int64_t last = int64_t(packets.size()) - 1;
  constexpr int64_t noPicture = 16; // bytes: perhaps a word that the sequence ends
  const bool isDoubtful =
      (packets[size_t(last)].flags & Packet::Damaged) || packets[size_t(last)].size < noPicture;
  if (isDoubtful && frameOf(last) && !comesOut(last, file, limits)) {
    lost.push_back(last);
    order(lost);
  }
}

/// Returns whether FFmpeg's program has a frame of a packet: of the last one of a file it may have
/// none.
bool Index::comesOut(int64_t wanted, const pst_video_bytes &file,
                     const pst_video_limits &limits) const {
  Allowance held(limits);
  CodecPtr codec = openCodec(*parameters, limits.pixels, held.memory, Damaged::Conceal);
  Input input(file, AVMEDIA_TYPE_VIDEO);
  PacketPtr packet = newPacket();
  FramePtr frame = newFrame();
  bool found = false;
  const auto take = [&] {
    while (avcodec_receive_frame(codec.get(), frame.get()) >= 0)
      found |= frame->pts == wanted;
  };
  const int64_t begin = startFor(wanted);
  for (int64_t at = 0; at <= wanted && input.next(*packet); ++at) {
    if (at < begin)
      continue;
    packet->pts = at;
    (void)avcodec_send_packet(codec.get(), packet.get());
    take();
  }
  (void)avcodec_send_packet(codec.get(), nullptr);
  take();
  held.memory.check();
  return found;
}

/// Frames without times are counted by decoding all of them, as FFmpeg's program does: a picture
/// that is concealed there has a number, too.
void Index::countFrames(Input &input, const pst_video_limits &limits) {
  Allowance allowance(limits);
  CodecPtr codec = openCodec(*parameters, limits.pixels, allowance.memory, Damaged::Conceal);
  PacketPtr packet = newPacket();
  FramePtr frame = newFrame();
  auto take = [&](int64_t at) {
    while (avcodec_receive_frame(codec.get(), frame.get()) >= 0) {
      if (shown.empty())
        describe(*frame);
      shown.push_back(std::clamp<int64_t>(frame->pts, 0, at));
    }
  };
  int64_t at = 0;
  for (; input.next(*packet); ++at) {
    packet->pts = at;
    packet->dts = AV_NOPTS_VALUE;
    (void)avcodec_send_packet(codec.get(), packet.get());
    take(at);
  }
  (void)avcodec_send_packet(codec.get(), nullptr);
  take(at - 1);
  allowance.memory.check();
  head.frames = int64_t(shown.size());
}

void Index::order(std::span<const int64_t> lost) {
  shown.clear();
  for (int64_t i = 0; i < int64_t(packets.size()); ++i)
    if (mayShow(packets[size_t(i)]) && !std::binary_search(lost.begin(), lost.end(), i))
      shown.push_back(i);
  std::sort(shown.begin(), shown.end(),
            [&](int64_t a, int64_t b) { return packets[size_t(a)].pts < packets[size_t(b)].pts; });
  head.frames = int64_t(shown.size());
  numbers.assign(packets.size(), -1);
  for (size_t i = 0; i < shown.size(); ++i)
    numbers[size_t(shown[i])] = int32_t(i);
}

std::optional<int64_t> Index::frameOf(int64_t packet) const {
  if (packet < 0 || packet >= int64_t(numbers.size()) || numbers[size_t(packet)] < 0)
    return std::nullopt;
  return numbers[size_t(packet)];
}

std::optional<int64_t> Index::frameOf(int64_t packet, int64_t nth) const {
  const auto first = std::lower_bound(marks.begin(), marks.end(), std::pair(packet, int64_t(0)));
  if (nth >= marks.end() - first || first[nth].first != packet)
    return std::nullopt;
  return first[nth].second;
}

int64_t Index::damageBegin(int64_t recovery) const {
  int64_t at = recovery;
  if (packets[size_t(recovery)].flags & Packet::Refreshed)
    while (at > 0 && !(packets[size_t(at)].flags & Packet::Refresh))
      --at;
  return at;
}

int64_t Index::endOf(int64_t frame) const {
  const size_t next = size_t(packetOf(frame)) + 1;
  const bool hasMore = next < packets.size() && (packets[next].flags & Packet::SecondField);
  return packetOf(frame) + hasMore;
}

int64_t Index::lastBefore(int64_t packet, uint16_t flag) const {
  for (int64_t i = packet; i > 0; --i)
    if ((packets[size_t(i)].flags & flag) && packets[size_t(i)].pts <= packets[size_t(packet)].pts)
      return i;
  return 0;
}

bool Index::dependsOn(int64_t frame, int64_t packet) const {
  if (packet > endOf(frame))
    return false;
  const int64_t from = damageBegin(lastBefore(packetOf(frame), Packet::Recovery));
  // Pictures shown before a recovery point may refer to pictures before it.
  return packet == from ||
         (packet > from && packets[size_t(packet)].pts >= packets[size_t(from)].pts);
}

std::vector<uint8_t> Index::bytes() const {
  Writer writer;
  writer.put(stream);
  writer.put(leavesOut);
  eachNumber(*parameters, [&](auto &field) { writer.put(int64_t(field)); });
  writer.put(parameters->extradata_size);
  writer.out.insert(writer.out.end(), parameters->extradata,
                    parameters->extradata + parameters->extradata_size);
  Packet last;
  for (const Packet &packet : packets) {
    writer.put(packet.flags);
    writer.put(packet.size);
    if (!isSequential())
      writer.put(difference(packet.pts, last.pts));
    if (isDirect())
      writer.put(packet.offset - (last.offset + last.size));
    last = packet;
  }
  // Frames that a decoder does not give, at the beginning.
  std::vector<int64_t> numbers(shown), lost;
  std::sort(numbers.begin(), numbers.end());
  for (int64_t i = 0; i < int64_t(packets.size()); ++i)
    if (!isSequential() && mayShow(packets[size_t(i)]) &&
        !std::binary_search(numbers.begin(), numbers.end(), i))
      lost.push_back(i);
  writer.put(int64_t(lost.size()));
  for (int64_t i : lost)
    writer.put(i);
  for (size_t i = 0; isSequential() && i < shown.size(); ++i)
    writer.put(shown[i] - (i ? shown[i - 1] : 0));

  pst_video_index sized = head;
  sized.size = sizeof head + writer.out.size();
  std::vector<uint8_t> result(sized.size);
  std::memcpy(result.data(), &sized, sizeof sized);
  std::copy(writer.out.begin(), writer.out.end(), result.begin() + sizeof sized);
  return result;
}

uint64_t Index::memory() const {
  return sizeof *this + packets.size() * sizeof(Packet) + shown.size() * sizeof(int64_t) +
         numbers.size() * sizeof(int32_t) + broken.size() * sizeof(int64_t) +
         marks.size() * sizeof marks[0];
}

Index Index::parse(std::span<const uint8_t> bytes) {
  Index index;
  if (bytes.size() < sizeof index.head)
    Reader::fail();
  std::memcpy(&index.head, bytes.data(), sizeof index.head);
  const pst_video_index &head = index.head;
  if (std::memcmp(head.magic, magic, sizeof magic) || head.size != bytes.size() ||
      head.library != avcodec_version() || head.packets > bytes.size() || head.frames <= 0 ||
      head.file_size > INT64_MAX)
    Reader::fail();
  const uint64_t fileSize = head.file_size;
  Reader reader(bytes.subspan(sizeof head));
  index.stream = int(reader.get());
  index.leavesOut = reader.get() != 0;
  index.parameters = newParameters();
  AVCodecParameters &parameters = *index.parameters;
  parameters.codec_type = AVMEDIA_TYPE_VIDEO;
  eachNumber(parameters, [&](auto &field) {
    field = static_cast<std::decay_t<decltype(field)>>(reader.get());
  });
  setExtraData(parameters, reader.take(reader.get()));
  Packet last;
  for (uint32_t i = 0; i < head.packets; ++i) {
    Packet packet;
    packet.flags = uint16_t(reader.get());
    packet.size = reader.get();
    packet.pts = index.isSequential() ? 0 : sum(last.pts, reader.get());
    packet.offset = index.isDirect() ? sum(sum(last.offset, last.size), reader.get()) : -1;
    if (packet.size <= 0 || packet.size > INT32_MAX ||
        (index.isDirect() && (packet.offset < 0 || packet.offset > int64_t(fileSize) ||
                              packet.size > int64_t(fileSize) - packet.offset)))
      Reader::fail();
    if (packet.flags & Packet::Damaged)
      index.broken.push_back(i);
    index.packets.push_back(last = packet);
  }
  std::vector<int64_t> lost;
  for (int64_t count = reader.get(); count > 0; --count)
    lost.push_back(reader.get());
  const int64_t frames = head.frames;
  if (index.isSequential()) {
    if (uint64_t(frames) > bytes.size())
      Reader::fail();
    for (int64_t i = 0, from = 0; i < frames; ++i) {
      from = sum(from, reader.get());
      if (from < 0 || from >= int64_t(index.packets.size()))
        Reader::fail();
      index.shown.push_back(from);
      index.marks.emplace_back(from, i);
    }
    std::sort(index.marks.begin(), index.marks.end());
    return index;
  }
  index.order(lost);
  if (index.head.frames != frames)
    Reader::fail();
  return index;
}

} // namespace penstock::video
