// SPDX-License-Identifier: Apache-2.0
//
// All of a file is decoded once. What each packet gave is kept as a checksum: a decoder that begins
// in the middle gives the same, or is begun earlier. So nothing here has to be right about a codec
// but the time that it takes.
#include "runtime/media/video/ffmpeg/Sound.h"

#include "runtime/media/video/ffmpeg/Numbers.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

extern "C" {
#include <libavutil/cpu.h>
}

#include <malloc.h>

namespace penstock::video {

namespace {

constexpr char magic[8] = {'P', 'S', 'T', 'K', 'S', 'N', 'D', '3'};
constexpr uint32_t maxPackets = 1u << 27;
constexpr uint32_t maxChannels = 64;
/// A day of two channels at 48 kHz.
constexpr int64_t maxValues = int64_t(1) << 33;
constexpr int maxDecoded = 1 << 22; // of a packet: 46 s at the most

/// The numbers of the parameters that decoders look at.
template <typename Visit> void eachNumber(AVCodecParameters &p, Visit visit) {
  visit(p.codec_id), visit(p.codec_tag), visit(p.format), visit(p.bit_rate);
  visit(p.bits_per_coded_sample), visit(p.bits_per_raw_sample), visit(p.profile), visit(p.level);
  visit(p.sample_rate), visit(p.block_align), visit(p.frame_size), visit(p.initial_padding);
  visit(p.trailing_padding), visit(p.seek_preroll);
}

int channelsOf(const AVFrame &frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100)
  return frame.ch_layout.nb_channels;
#else
  return frame.channels;
#endif
}

/// Channels, and which they are; 0 where that is not known.
void putLayout(Writer &writer, const AVCodecParameters &p) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100)
  writer.put(p.ch_layout.nb_channels);
  writer.put(p.ch_layout.order == AV_CHANNEL_ORDER_NATIVE ? int64_t(p.ch_layout.u.mask) : 0);
#else
  writer.put(p.channels);
  writer.put(int64_t(p.channel_layout));
#endif
}
void getLayout(Reader &reader, AVCodecParameters &p) {
  const int64_t channels = reader.get(), mask = reader.get();
  if (channels < 0 || channels > INT16_MAX)
    Reader::fail();
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100)
  if (mask == 0 || av_channel_layout_from_mask(&p.ch_layout, uint64_t(mask)) < 0 ||
      p.ch_layout.nb_channels != int(channels)) {
    p.ch_layout = AVChannelLayout{};
    p.ch_layout.nb_channels = int(channels);
  }
#else
  p.channels = int(channels);
  p.channel_layout = uint64_t(mask);
#endif
}

CodecPtr soundCodec(const AVCodecParameters &parameters, Damaged packets) {
  CodecPtr context = newCodec(parameters);
  context->flags2 |=
      AV_CODEC_FLAG2_SKIP_MANUAL; // the index knows the samples that are no part of the sound
  context->max_samples = maxDecoded;
  if (packets == Damaged::Refuse)
    context->err_recognition |= AV_EF_EXPLODE;
  // Encoders of MP3 have written wrong ones; of Layer I FFmpeg finds those of ISO's streams wrong.
  if (packets == Damaged::Refuse && parameters.codec_id != AV_CODEC_ID_MP3 &&
      parameters.codec_id != AV_CODEC_ID_MP1)
    context->err_recognition |= AV_EF_CRCCHECK;
  open(*context);
  return context;
}

/// Returns a checksum of a frame's samples; never 0.
uint32_t checksum(const AVFrame &frame, uint32_t seed) {
  const auto format = AVSampleFormat(frame.format);
  const bool isPlanar = av_sample_fmt_is_planar(format) != 0;
  const int planes = isPlanar ? channelsOf(frame) : 1;
  const size_t bytes = size_t(frame.nb_samples) * size_t(av_get_bytes_per_sample(format)) *
                       size_t(isPlanar ? 1 : channelsOf(frame));
  uint64_t sums[4] = {seed, 1, 2, 3};
  for (int plane = 0; plane < planes; ++plane) {
    const uint8_t *at = frame.extended_data[plane];
    size_t left = bytes;
    for (; left >= 32; left -= 32, at += 32)
      for (int i = 0; i < 4; ++i) {
        uint64_t word;
        std::memcpy(&word, at + 8 * i, 8);
        sums[i] = (sums[i] ^ word) * 0x9E3779B97F4A7C15;
        sums[i] ^= sums[i] >> 29;
      }
    for (; left > 0; --left, ++at)
      sums[0] = (sums[0] ^ *at) * 0x9E3779B97F4A7C15;
  }
  const uint64_t all = (sums[0] ^ sums[1] * 3) * 0xFF51AFD7ED558CCD ^ (sums[2] + sums[3] * 5);
  return uint32_t(all >> 32 ^ all) | 1;
}

/// Samples of a frame as f32, those of one time beside each other, as FFmpeg converts them.
class Floats {
public:
  void add(const AVFrame &frame, int from, int count, std::vector<float> &out) {
    const auto format = AVSampleFormat(frame.format);
    switch (av_get_packed_sample_fmt(format)) {
    case AV_SAMPLE_FMT_U8:
      return add<uint8_t>(frame, from, count, out,
                          [](int v) { return float(v - 128) * (1.0f / 128); });
    case AV_SAMPLE_FMT_S16:
      return add<int16_t>(frame, from, count, out, [](int v) { return float(v) * (1.0f / 32768); });
    case AV_SAMPLE_FMT_S32:
      return add<int32_t>(frame, from, count, out,
                          [](int32_t v) { return float(v) * (1.0f / 2147483648.0f); });
    case AV_SAMPLE_FMT_FLT:
      return add<float>(frame, from, count, out, [](float v) { return v; });
    case AV_SAMPLE_FMT_DBL:
      return add<double>(frame, from, count, out, [](double v) { return float(v); });
    default:
      throw Failure{PST_VIDEO_UNSUPPORTED, std::string("samples of the format ") +
                                               av_get_sample_fmt_name(format) +
                                               " are not read here"};
    }
  }

private:
  template <typename T, typename Convert>
  void add(const AVFrame &frame, int from, int count, std::vector<float> &out, Convert convert) {
    const int channels = channelsOf(frame);
    const bool isPlanar = av_sample_fmt_is_planar(AVSampleFormat(frame.format)) != 0;
    const size_t before = out.size();
    out.resize(before + size_t(count) * size_t(channels));
    for (int c = 0; c < channels; ++c) {
      const auto *values = reinterpret_cast<const T *>(frame.extended_data[isPlanar ? c : 0]);
      const int step = isPlanar ? 1 : channels, begin = isPlanar ? 0 : c;
      for (int i = 0; i < count; ++i)
        out[before + size_t(i) * size_t(channels) + size_t(c)] =
            convert(values[size_t(from + i) * size_t(step) + size_t(begin)]);
    }
  }
};

/// The generator of noise in FFmpeg's decoder of AAC, which runs on from packet to packet and which
/// no interface reaches: it is looked for by the state that it begins with. Where that is not
/// found, or another decoder has it elsewhere, checksums differ, and decoding begins at the file's
/// start.
class NoiseState {
public:
  /// Finds the state in a decoder that was opened just now.
  explicit NoiseState(const AVCodecContext &codec) {
    constexpr uint32_t first = 0x1f2e3d4c;
    if (codec.codec_id != AV_CODEC_ID_AAC || !codec.priv_data)
      return;
    auto *const words = static_cast<uint32_t *>(codec.priv_data);
    uint32_t *const end = words + malloc_usable_size(codec.priv_data) / sizeof *words;
    uint32_t *const found = std::find(words, end, first);
    if (found != end && std::find(found + 1, end, first) == end)
      state = found;
  }
  uint32_t get() const { return state ? *state : 0; }
  void set(uint32_t value) {
    if (state)
      *state = value;
  }

private:
  uint32_t *state = nullptr;
};

/// MP3's bit reservoir: finds how many packets before a packet its data begin.
class Reservoir {
public:
  uint8_t reach(std::span<const uint8_t> packet) {
    uint32_t wanted = 0, size = 0;
    if (packet.size() > 8 && packet[0] == 0xFF && (packet[1] & 0xE0) == 0xE0) {
      const bool isFirst = (packet[1] >> 3 & 3) == 3, hasSum = !(packet[1] & 1);
      const bool isMono = packet[3] >> 6 == 3;
      const uint32_t at = hasSum ? 6 : 4, side = isFirst ? (isMono ? 17 : 32) : (isMono ? 9 : 17);
      wanted = isFirst ? uint32_t(packet[at]) << 1 | packet[at + 1] >> 7 : packet[at];
      size = packet.size() > at + side ? uint32_t(packet.size()) - at - side : 0;
    }
    uint8_t back = 0;
    for (auto one = sizes.rbegin(); wanted > 0 && one != sizes.rend() && back < 255; ++one, ++back)
      wanted -= std::min(wanted, *one);
    sizes.push_back(size);
    if (sizes.size() > 512)
      sizes.erase(sizes.begin(), sizes.begin() + 256);
    return back;
  }

private:
  std::vector<uint32_t> sizes;
};

/// Finds the ranges of a packet's bytes. Those of Ogg may go on behind the head of the next page.
class Places {
public:
  std::vector<pst_video_part> of(const AVPacket &packet, const pst_video_bytes &file) {
    if (!isPlain(packet))
      return {};
    const auto size = uint64_t(packet.size);
    // Right behind the last one, or behind the head of a block or page.
    if (behind <= file.size && size <= file.size - behind) {
      around.resize(size);
      readBytes(file, behind, size, around.data());
      if (std::memcmp(around.data(), packet.data, size) == 0)
        return found({{behind, size}});
    }
    if (const int64_t at = placeOf(packet, file, around); at >= 0)
      return found({{uint64_t(at), size}});
    return inPages(packet, file);
  }

private:
  std::vector<pst_video_part> found(std::vector<pst_video_part> parts) {
    behind = parts.back().offset + parts.back().size;
    return parts;
  }

  /// Looks for its beginning in a page, and goes on from page to page.
  std::vector<pst_video_part> inPages(const AVPacket &packet, const pst_video_bytes &file) {
    constexpr uint64_t head = 27, longest = head + 255, page = longest + 255 * 255;
    const auto size = uint64_t(packet.size);
    // Behind the last packet, in its page or the next one.
    const uint64_t from =
        packet.pos >= 0 ? std::min<uint64_t>(behind, uint64_t(packet.pos)) : behind;
    if (from >= file.size)
      return {};
    around.resize(size_t(std::min(file.size - from, 2 * page)));
    readBytes(file, from, around.size(), around.data());
    const size_t known = std::min<size_t>(size, 16);
    for (auto at = around.begin();; ++at) {
      at = std::search(at, around.end(), packet.data, packet.data + known);
      if (at == around.end())
        return {};
      std::vector<pst_video_part> parts;
      uint64_t done = 0, place = uint64_t(at - around.begin());
      while (done < size && place < around.size()) {
        uint64_t same = 0;
        while (done + same < size && place + same < around.size() &&
               around[place + same] == packet.data[done + same])
          ++same;
        // The bytes of a page's head may be those of the packet, too: it begins at the last "OggS".
        if (done + same < size) {
          const uint64_t stop = pageBefore(place, place + same);
          if (stop == UINT64_MAX)
            break;
          same = stop - place;
        }
        if (same)
          parts.push_back({from + place, same});
        done += same;
        place += same;
        if (done < size) {
          const uint64_t lines = around[place + 26];
          place += head + lines;
        }
      }
      if (done == size && !parts.empty())
        return found(std::move(parts));
    }
  }
  /// Returns the last beginning of a page between `low` and `high` with a whole head.
  uint64_t pageBefore(uint64_t low, uint64_t high) const {
    for (uint64_t at = high + 1; at-- > low;)
      if (at + 27 <= around.size() && std::memcmp(around.data() + at, "OggS", 4) == 0)
        return at;
    return UINT64_MAX;
  }

  std::vector<uint8_t> around;
  uint64_t behind = 0;
};

/// The next packet without what fills no frame of raw samples: the byte that evens out a chunk of
/// AIFF, and the end of a file that is cut. Decoders take the frames, and refuse the rest.
bool nextWhole(Input &input, AVPacket &packet, const AVCodecParameters &of) {
  const bool isRaw = of.codec_id < AV_CODEC_ID_ADPCM_IMA_QT;
  const int frame =
      isRaw ? av_get_exact_bits_per_sample(of.codec_id) / 8 * of.ch_layout.nb_channels : 0;
  while (input.next(packet)) {
    if (frame <= 0)
      return true;
    av_shrink_packet(&packet, packet.size - packet.size % frame);
    packet.flags &= ~AV_PKT_FLAG_CORRUPT; // that it was to be longer
    if (packet.size > 0)
      return true;
  }
  return false;
}

bool isError(int code) { return code < 0 && code != AVERROR(EAGAIN) && code != AVERROR_EOF; }

} // namespace

uint32_t soundLibrary() {
  constexpr uint32_t rules = 4; // of what is damaged; raised where kept indices say otherwise
  return (avcodec_version() + rules) * 31u ^ uint32_t(av_get_cpu_flags());
}

void SoundIndex::addPieces(SoundPacket &packet, std::vector<pst_video_part> &&found) {
  packet.firstPiece = pieces.size();
  packet.pieces = uint32_t(found.size());
  if (found.empty())
    head.flags &= ~uint32_t(PST_VIDEO_DIRECT);
  pieces.insert(pieces.end(), found.begin(), found.end());
}

void SoundIndex::settle() {
  int64_t at = 0;
  for (SoundPacket &packet : packets) {
    packet.first = at;
    at += packet.count;
  }
  head.samples = at;
  head.packets = uint32_t(packets.size());
  if (!isDirect()) {
    pieces.clear();
    for (SoundPacket &packet : packets)
      packet.pieces = 0, packet.firstPiece = 0;
  }
}

SoundIndex SoundIndex::make(const pst_video_bytes &file) {
  SoundIndex index = decodeAll(file, Damaged::Refuse);
  const auto isDamaged = [](const SoundPacket &one) { return one.isDamaged; };
  if (std::any_of(index.packets.begin(), index.packets.end(), isDamaged)) {
    // Samples have the places that they have in FFmpeg's whole decode, which conceals damage.
    SoundIndex concealed = decodeAll(file, Damaged::Conceal);
    if (concealed.packets.size() != index.packets.size())
      throw Failure{PST_VIDEO_CORRUPT, "the file gives other packets when it is read again"};
    for (size_t i = 0; i < index.packets.size(); ++i)
      concealed.packets[i].isDamaged |= index.packets[i].isDamaged;
    return concealed;
  }
  return index;
}

SoundIndex SoundIndex::decodeAll(const pst_video_bytes &file, Damaged damaged) {
  SoundIndex index;
  Input input(file, AVMEDIA_TYPE_AUDIO);
  std::memcpy(index.head.magic, magic, sizeof magic);
  index.head.file_size = file.size;
  index.head.library = soundLibrary();
  index.head.flags = PST_VIDEO_DIRECT;
  index.stream = input.chosenNumber();
  index.parameters = newParameters();
  if (avcodec_parameters_copy(index.parameters.get(), input.chosen().codecpar) < 0)
    throw std::bad_alloc();
  const AVCodecID codecId = index.parameters->codec_id;
  CodecPtr codec = soundCodec(*index.parameters, damaged);
  const NoiseState noise(*codec);
  PacketPtr packet = newPacket();
  FramePtr frame = newFrame();
  Places places;
  Reservoir reservoir;
  int64_t skip = 0, values = 0;
  bool isToSkip = false; // as the packet says
  std::string why;
  // As FFmpeg's decoders do it themselves where they are not told to leave it.
  auto take = [&](SoundPacket &one) {
    for (;;) {
      const int code = avcodec_receive_frame(codec.get(), frame.get());
      if (isError(code)) {
        one.isDamaged = true;
        why = reported();
        continue;
      }
      if (code < 0)
        return;
      const int64_t samples = frame->nb_samples;
      const auto channels = uint32_t(channelsOf(*frame)), rate = uint32_t(frame->sample_rate);
      if (index.head.channels == 0) {
        index.head.channels = channels;
        index.head.rate = rate;
        const bool isExact =
            codec->codec_descriptor && (codec->codec_descriptor->props & AV_CODEC_PROP_LOSSLESS);
        const int stored = codec->bits_per_raw_sample
                               ? codec->bits_per_raw_sample
                               : 8 * av_get_bytes_per_sample(AVSampleFormat(frame->format));
        index.head.bits = isExact ? uint32_t(stored) : 0;
      }
      if (channels == 0 || channels > maxChannels || rate == 0)
        throw Failure{PST_VIDEO_UNSUPPORTED, "sound of " + std::to_string(channels) +
                                                 " channels at " + std::to_string(rate) +
                                                 " Hz is not read"};
      if (channels != index.head.channels || rate != index.head.rate)
        throw Failure{PST_VIDEO_UNSUPPORTED,
                      "its sound begins with " + std::to_string(index.head.channels) +
                          " channels at " + std::to_string(index.head.rate) +
                          " Hz, and goes on with " + std::to_string(channels) + " at " +
                          std::to_string(rate)};
      values += samples * channels;
      if (values > maxValues)
        throw Failure{PST_VIDEO_LIMIT, "its sound has more than " +
                                           std::to_string(maxValues / channels) + " samples"};
      int64_t end = 0;
      if (const AVFrameSideData *side =
              av_frame_get_side_data(frame.get(), AV_FRAME_DATA_SKIP_SAMPLES)) {
        uint32_t numbers[2];
        std::memcpy(numbers, side->data, sizeof numbers);
        if (numbers[0] || isToSkip) // of the decoder itself, or of the container, which may end it
          skip = numbers[0];
        end = numbers[1];
      }
      int64_t begin = 0, count = samples;
      if (frame->flags & AV_FRAME_FLAG_DISCARD) {
        skip = std::max<int64_t>(0, skip - samples);
        count = 0;
      } else {
        begin = std::min(skip, samples);
        skip -= begin;
        count = samples - begin;
        if (end <= count)
          count -= end;
      }
      // The kept samples of several frames are one piece: skipping is at the beginning.
      if (one.count == 0)
        one.skipped = one.decoded + uint32_t(begin);
      one.checksum = checksum(*frame, one.checksum);
      one.decoded += uint32_t(samples);
      one.count += uint32_t(count);
    }
  };
  while (nextWhole(input, *packet, *index.parameters)) {
    if (index.packets.size() == maxPackets)
      throw Failure{PST_VIDEO_LIMIT, "the sound has too many packets"};
    SoundPacket one;
    one.size = uint32_t(packet->size);
    one.isDamaged = packet->flags & AV_PKT_FLAG_CORRUPT;
    one.isKey = packet->flags & AV_PKT_FLAG_KEY;
    one.noise = noise.get();
    if (codecId == AV_CODEC_ID_MP3)
      one.reach = reservoir.reach({packet->data, size_t(packet->size)});
    isToSkip = av_packet_get_side_data(packet.get(), AV_PKT_DATA_SKIP_SAMPLES, nullptr) != nullptr;
    index.addPieces(one,
                    index.isDirect() ? places.of(*packet, file) : std::vector<pst_video_part>());
    if (isError(avcodec_send_packet(codec.get(), packet.get()))) {
      one.isDamaged = true;
      why = reported();
    }
    take(one);
    index.packets.push_back(one);
  }
  SoundPacket last;
  isToSkip = false;
  (void)avcodec_send_packet(codec.get(), nullptr);
  take(last);
  index.packets.push_back(last);
  checkMemory();
  index.settle();
  if (index.head.samples == 0)
    throw Failure{PST_VIDEO_CORRUPT,
                  index.packets.size() <= 1 &&
                          why.empty() // the last one is for what a decoder holds back
                      ? "the file has no samples, or ends before the first"
                      : "no sound of the file can be decoded" + why};
  return index;
}

std::vector<uint8_t> SoundIndex::bytes() const {
  Writer writer;
  writer.put(stream);
  eachNumber(*parameters, [&](auto &field) { writer.put(int64_t(field)); });
  putLayout(writer, *parameters);
  writer.put(parameters->extradata_size);
  writer.out.insert(writer.out.end(), parameters->extradata,
                    parameters->extradata + parameters->extradata_size);
  int64_t behind = 0;
  SoundPacket last;
  for (const SoundPacket &one : packets) {
    const bool isUsual =
        one.decoded == last.decoded && one.skipped == 0 && one.count == one.decoded;
    const bool isNoisy = one.noise != last.noise;
    writer.put((isUsual ? 1 : 0) | (one.isDamaged ? 2 : 0) | (one.isKey ? 4 : 0) |
               (isNoisy ? 8 : 0) | int64_t(one.reach) << 4);
    writer.put(one.size);
    if (!isUsual) {
      writer.put(one.decoded);
      writer.put(one.skipped);
      writer.put(one.count);
    }
    writer.putWord(one.checksum);
    if (isNoisy)
      writer.putWord(one.noise);
    if (isDirect() && one.size) {
      writer.put(one.pieces);
      for (uint32_t i = 0; i < one.pieces; ++i) {
        const pst_video_part &piece = pieces[one.firstPiece + i];
        writer.put(difference(int64_t(piece.offset), behind));
        if (one.pieces > 1)
          writer.put(int64_t(piece.size));
        behind = int64_t(piece.offset + piece.size);
      }
    }
    last = one;
  }
  pst_sound_index sized = head;
  sized.size = sizeof head + writer.out.size();
  std::vector<uint8_t> result(sized.size);
  std::memcpy(result.data(), &sized, sizeof sized);
  std::copy(writer.out.begin(), writer.out.end(), result.begin() + sizeof sized);
  return result;
}

SoundIndex SoundIndex::parse(std::span<const uint8_t> bytes) {
  SoundIndex index;
  if (bytes.size() < sizeof index.head)
    Reader::fail();
  std::memcpy(&index.head, bytes.data(), sizeof index.head);
  const pst_sound_index head = index.head;
  if (std::memcmp(head.magic, magic, sizeof magic) || head.size != bytes.size() ||
      head.library != soundLibrary() || head.packets > bytes.size() || head.samples <= 0 ||
      head.file_size > INT64_MAX || head.channels == 0 || head.channels > maxChannels ||
      head.rate == 0)
    Reader::fail();
  Reader reader(bytes.subspan(sizeof head));
  auto number = [&](int64_t most) {
    const int64_t value = reader.get();
    if (value < 0 || value > most)
      Reader::fail();
    return value;
  };
  index.stream = int(reader.get());
  index.parameters = newParameters();
  index.parameters->codec_type = AVMEDIA_TYPE_AUDIO;
  eachNumber(*index.parameters, [&](auto &field) {
    using Field = std::decay_t<decltype(field)>;
    field = static_cast<Field>(std::is_enum_v<Field> ? number(0x1FFFF) : reader.get());
  });
  if (avcodec_get_type(index.parameters->codec_id) != AVMEDIA_TYPE_AUDIO)
    Reader::fail();
  getLayout(reader, *index.parameters);
  setExtraData(*index.parameters, reader.take(reader.get()));
  int64_t behind = 0;
  SoundPacket last;
  for (uint32_t i = 0; i < head.packets; ++i) {
    SoundPacket one;
    const int64_t flags = number(15 | 255 << 4);
    one.isDamaged = flags & 2;
    one.isKey = flags & 4;
    one.reach = uint8_t(flags >> 4);
    one.size = uint32_t(number(INT32_MAX));
    one.decoded = one.count = last.decoded;
    if (!(flags & 1)) {
      one.decoded = uint32_t(number(maxDecoded));
      one.skipped = uint32_t(number(one.decoded));
      one.count = uint32_t(number(one.decoded - one.skipped));
    }
    one.checksum = reader.getWord();
    one.noise = flags & 8 ? reader.getWord() : last.noise;
    if (index.isDirect() && one.size) {
      std::vector<pst_video_part> found;
      uint64_t all = 0;
      for (int64_t count = number(int64_t(bytes.size())); count > 0; --count) {
        const int64_t offset = sum(behind, reader.get());
        const int64_t size = count == 1 && found.empty() ? one.size : number(one.size);
        if (offset < 0 || offset > int64_t(head.file_size) ||
            size > int64_t(head.file_size) - offset)
          Reader::fail();
        found.push_back({uint64_t(offset), uint64_t(size)});
        behind = offset + size;
        all += uint64_t(size);
      }
      if (all != one.size)
        Reader::fail();
      index.addPieces(one, std::move(found));
    }
    index.packets.push_back(last = one);
  }
  index.settle();
  if (index.head.samples != head.samples || index.head.flags != head.flags)
    Reader::fail();
  return index;
}

uint64_t SoundIndex::memory() const {
  return sizeof *this + packets.capacity() * sizeof(SoundPacket) +
         pieces.capacity() * sizeof(pst_video_part);
}

std::pair<int64_t, int64_t> SoundIndex::packetsOf(int64_t first, int64_t count) const {
  if (first < 0 || count < 0 || first > head.samples || count > head.samples - first)
    throw Failure{PST_VIDEO_RANGE,
                  "samples " + std::to_string(first) + " to " + std::to_string(sum(first, count)) +
                      " are wanted, and the sound has " + std::to_string(head.samples)};
  // The last packet that begins before or at it has it: empty ones stand before their sample.
  auto packetOf = [&](int64_t sample) {
    const auto behind =
        std::upper_bound(packets.begin(), packets.end(), sample,
                         [](int64_t wanted, const SoundPacket &one) { return wanted < one.first; });
    return int64_t(behind - packets.begin()) - 1;
  };
  if (count == 0)
    return {0, 0};
  int64_t last = packetOf(first + count - 1);
  return {packetOf(first), last + 1};
}

int64_t SoundIndex::startFor(int64_t packet) const {
  auto lead = [&]() -> int64_t {
    switch (parameters->codec_id) {
    case AV_CODEC_ID_AAC:
    case AV_CODEC_ID_VORBIS:
      return 1;
    case AV_CODEC_ID_OPUS:
      return 50;
    default: {
      const AVCodecDescriptor *known = avcodec_descriptor_get(parameters->codec_id);
      return known && (known->props & AV_CODEC_PROP_LOSSLESS) ? 0 : 2;
    }
    }
  };
  if (parameters->codec_id != AV_CODEC_ID_MP3)
    return std::max<int64_t>(0, packet - lead());
  // The filters hold state of the packet before; of two, where a packet has one granule.
  int64_t start = packet;
  for (int64_t i = std::max<int64_t>(0, packet - 2); i <= packet; ++i)
    start = std::min(start, std::max<int64_t>(0, i - packets[size_t(i)].reach));
  return start;
}

std::vector<pst_video_part> soundParts(const Sound &sound, int64_t first, int64_t count) {
  const SoundIndex &index = sound.index;
  if (!index.isDirect())
    throw Failure{PST_VIDEO_UNSUPPORTED, "the sound is read as a whole"};
  const auto [begin, end] = index.packetsOf(first, count);
  std::vector<pst_video_part> parts;
  for (int64_t i = begin < end ? sound.startFor(begin) : end; i < end; ++i) {
    const SoundPacket &one = index.packets[size_t(i)];
    parts.insert(parts.end(), index.pieces.begin() + int64_t(one.firstPiece),
                 index.pieces.begin() + int64_t(one.firstPiece + one.pieces));
  }
  std::sort(parts.begin(), parts.end(),
            [](const pst_video_part &a, const pst_video_part &b) { return a.offset < b.offset; });
  return parts;
}

namespace {

class SoundDecoder {
public:
  SoundDecoder(const Sound &sound, const pst_video_bytes &file, const pst_sound_client &client,
               pst_video_costs &costs)
      : sound(sound), index(sound.index), file(file), client(client), costs(costs) {
    if (file.size != index.head.file_size)
      throw Failure{PST_VIDEO_CORRUPT,
                    "the file has " + std::to_string(file.size) + " bytes, and had " +
                        std::to_string(index.head.file_size) + " when it was indexed"};
  }

  void run(int64_t first, int64_t count) {
    const auto [begin, end] = index.packetsOf(first, count);
    if (begin == end)
      return;
    int64_t start = sound.startFor(begin);
    for (int64_t i = std::max<int64_t>(begin - 1, 0); i < end; ++i)
      if (index.packets[size_t(i)].isDamaged)
        refuse(std::min(start, i), i);
    while (!decode(start, begin, end, first, count)) {
      checkMemory();
      if (start == 0 && index.isDirect() && !asDemuxed) {
        asDemuxed = true; // damage may make a decoder look at the bytes behind a packet, too
        continue;
      }
      if (start == 0)
        throw Failure{PST_VIDEO_CORRUPT, "its packets give other samples than when the file was "
                                         "indexed: it has changed since, or is damaged"};
      ++costs.restarts;
      const int64_t lead = 4 * (begin - start) + 4;
      start = std::max<int64_t>(0, begin - lead);
      // Later ones begin there at once: at the start of the file, where no lead is known to do.
      sound.lead = start == 0 ? INT64_MAX : lead;
    }
  }

private:
  /// Says why a packet is damaged.
  [[noreturn]] void refuse(int64_t start, int64_t damaged) {
    codec = soundCodec(*index.parameters, Damaged::Refuse);
    for (int64_t i = start; i <= damaged; ++i) {
      (void)send(i, index.packets[size_t(i)]);
      if (i < damaged)
        (void)reported(); // of others
      while (avcodec_receive_frame(codec.get(), frame.get()) >= 0) {
      }
    }
    throw Failure{PST_VIDEO_CORRUPT, "packet " + std::to_string(damaged) +
                                         " of the sound, behind sample " +
                                         std::to_string(index.packets[size_t(damaged)].first) +
                                         ", is damaged" + reported()};
  }

  /// False where what comes is not what came when all was decoded.
  bool decode(int64_t start, int64_t begin, int64_t end, int64_t first, int64_t count) {
    codec = soundCodec(*index.parameters, Damaged::Conceal); // the index knows what is damaged
    if (start > 0)
      NoiseState(*codec).set(index.packets[size_t(start)].noise);
    for (int64_t i = start; i < end; ++i) {
      const SoundPacket &one = index.packets[size_t(i)];
      const bool isWanted = i >= begin;
      const int sent = send(i, one);
      if (isError(sent) && isWanted)
        return false;
      uint32_t sum = 0, decoded = 0;
      values.clear();
      while (avcodec_receive_frame(codec.get(), frame.get()) >= 0) {
        if (!isWanted)
          continue;
        if (uint32_t(channelsOf(*frame)) != index.head.channels)
          return false;
        sum = checksum(*frame, sum);
        decoded += uint32_t(frame->nb_samples);
        floats.add(*frame, 0, frame->nb_samples, values);
      }
      if (!isWanted)
        continue;
      if (decoded != one.decoded || sum != one.checksum)
        return false;
      const int64_t low = std::max(first, one.first),
                    high = std::min(first + count, one.first + one.count);
      const KeptErrno kept;
      if (low < high &&
          client.take(client.user, low, high - low,
                      values.data() + size_t(low - one.first + one.skipped) * index.head.channels))
        throw Failure{PST_VIDEO_UNSUPPORTED, ""}; // the caller knows why
    }
    return true;
  }

  int send(int64_t at, const SoundPacket &one) {
    if (one.size == 0) // at the end
      return avcodec_send_packet(codec.get(), nullptr);
    load(at, one);
    packet->pts = packet->dts = AV_NOPTS_VALUE;
    ++costs.packets;
    const int code = avcodec_send_packet(codec.get(), packet.get());
    checkMemory(code);
    if (code == AVERROR(ENOMEM))
      throw Failure{PST_VIDEO_LIMIT, "no memory to decode the file"};
    return code;
  }

  void load(int64_t at, const SoundPacket &one) {
    if (index.isDirect() && !asDemuxed) {
      av_packet_unref(packet.get());
      if (av_new_packet(packet.get(), int(one.size)) < 0)
        throw std::bad_alloc();
      uint8_t *to = packet->data;
      for (uint32_t i = 0; i < one.pieces; ++i) {
        const pst_video_part &piece = index.pieces[one.firstPiece + i];
        readBytes(file, piece.offset, piece.size, to);
        to += piece.size;
      }
      packet->flags = one.isKey ? AV_PKT_FLAG_KEY : 0;
      return;
    }
    if (!input || inputAt > at) {
      input = std::make_unique<Input>(file, AVMEDIA_TYPE_AUDIO);
      inputAt = 0;
    }
    for (; inputAt <= at; ++inputAt)
      if (!nextWhole(*input, *packet, *index.parameters) ||
          (inputAt == at && uint32_t(packet->size) != one.size))
        throw Failure{PST_VIDEO_CORRUPT, "the packets are not those of the index"};
  }

  const Sound &sound;
  const SoundIndex &index;
  const pst_video_bytes &file;
  const pst_sound_client &client;
  pst_video_costs &costs;
  CodecPtr codec;
  PacketPtr packet = newPacket();
  FramePtr frame = newFrame();
  Floats floats;
  std::vector<float> values;    // of one packet
  std::unique_ptr<Input> input; // where packets are not direct
  bool asDemuxed = false;       // nor taken to be
  int64_t inputAt = 0;
};

} // namespace

void decodeSound(const Sound &sound, const pst_video_bytes &file, int64_t first, int64_t count,
                 const pst_sound_client &client, pst_video_costs &costs) {
  SoundDecoder(sound, file, client, costs).run(first, count);
}

} // namespace penstock::video
