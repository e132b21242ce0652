// SPDX-License-Identifier: Apache-2.0
//
// Writes the video packets of a file into another container, with marks and data as
// told, for tests of what must not be believed.
//
//   remux-video IN OUT [keys=all|none|SEED] [drop=SEED] [flip=SEED] [cut=SEED]
//     [pad=BYTES] [junk=BYTES] [fields=1] [times=packets]
//
// `keys` marks all packets, none, or some as key frames; `drop` leaves out one packet
// in sixteen, not the first; `flip` turns a bit in one packet in sixteen; `cut` takes the end of
// every other key picture, and `pad` puts zeros behind each, but for the first; `junk` puts
// bytes behind all pictures. With `fields`
// packets are decoded one per unit of time, for files that do not say when. With `times` pictures
// are shown when they are decoded, as where a stream without times was put into a container.
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
}

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>

namespace {

struct Change {
  std::string keys;
  std::optional<std::mt19937> mark, drop, flip, cut;
  int pad = 0, junk = 0;
  bool hasFields = false, hasTimesOfPackets = false;
  int64_t count = 0;
};

Change changeOf(int count, char **words) {
  Change change;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const std::string name = word.substr(0, word.find('=')), value = word.substr(name.size() + 1);
    const std::mt19937 random(unsigned(std::atoi(value.c_str())));
    if (name == "keys") {
      change.keys = value;
      change.mark = random;
    } else if (name == "fields") {
      change.hasFields = true;
    } else if (name == "times") {
      change.hasTimesOfPackets = true;
    } else if (name == "pad") {
      change.pad = std::atoi(value.c_str());
    } else if (name == "junk") {
      change.junk = std::atoi(value.c_str());
    } else {
      (name == "drop" ? change.drop : name == "cut" ? change.cut : change.flip) = random;
    }
  }
  return change;
}

int fail(const char *what, int code) {
  char text[AV_ERROR_MAX_STRING_SIZE] = {};
  av_strerror(code, text, sizeof text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  return 1;
}

/// False where the packet is left out.
bool apply(Change &change, AVPacket &packet, bool isFirst) {
  if (change.hasFields)
    packet.dts = change.count++ - 8;
  if (!change.keys.empty()) {
    const bool key = change.keys == "all" || (change.keys != "none" && (*change.mark)() % 3 == 0);
    packet.flags = (packet.flags & ~AV_PKT_FLAG_KEY) | (key ? AV_PKT_FLAG_KEY : 0);
  }
  if (change.flip && (*change.flip)() % 16 == 0 && packet.size > 0 &&
      av_packet_make_writable(&packet) >= 0)
    packet.data[(*change.flip)() % unsigned(packet.size)] ^= uint8_t(1u << (*change.flip)() % 8);
  const auto append = [&](int count, int byte) {
    const int size = packet.size;
    if (count && av_grow_packet(&packet, count) >= 0)
      std::memset(packet.data + size, byte, size_t(count));
  };
  append(change.junk, 0x55);
  if (!isFirst && (packet.flags & AV_PKT_FLAG_KEY)) {
    if (change.cut && packet.size > 1 && (*change.cut)() % 2 == 0)
      av_shrink_packet(&packet, 1 + int((*change.cut)() % unsigned(packet.size - 1)));
    append(change.pad, 0);
  }
  return isFirst || !change.drop || (*change.drop)() % 16 != 0;
}

} // namespace

int main(int count, char **words) {
  if (count < 3)
    return 2;
  Change change = changeOf(count - 3, words + 3);
  av_log_set_level(AV_LOG_QUIET);
  AVFormatContext *in = nullptr, *out = nullptr;
  int code = avformat_open_input(&in, words[1], nullptr, nullptr);
  if (code < 0 || (code = avformat_find_stream_info(in, nullptr)) < 0)
    return fail(words[1], code);
  const int video = av_find_best_stream(in, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (video < 0 || (code = avformat_alloc_output_context2(&out, nullptr, nullptr, words[2])) < 0)
    return fail(words[2], code);
  AVStream *from = in->streams[video], *to = avformat_new_stream(out, nullptr);
  avcodec_parameters_copy(to->codecpar, from->codecpar);
  to->codecpar->codec_tag = 0;
  to->time_base = from->time_base;
  to->avg_frame_rate = from->avg_frame_rate;
  out->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  if ((code = avio_open(&out->pb, words[2], AVIO_FLAG_WRITE)) < 0 ||
      (code = avformat_write_header(out, nullptr)) < 0)
    return fail(words[2], code);
  AVPacket *packet = av_packet_alloc();
  for (bool isFirst = true; av_read_frame(in, packet) >= 0;) {
    if (packet->stream_index == video && change.hasTimesOfPackets)
      packet->pts = packet->dts =
          av_rescale_q(change.count++, av_inv_q(from->avg_frame_rate), from->time_base);
    if (packet->stream_index == video && apply(change, *packet, isFirst)) {
      av_packet_rescale_ts(packet, from->time_base, to->time_base);
      packet->stream_index = 0;
      packet->pos = -1;
      isFirst = false;
      if ((code = av_interleaved_write_frame(out, packet)) < 0)
        return fail(words[2], code);
    }
    av_packet_unref(packet);
  }
  if ((code = av_write_trailer(out)) < 0)
    return fail(words[2], code);
  avio_closep(&out->pb);
  av_packet_free(&packet);
  avformat_close_input(&in);
  avformat_free_context(out);
  return 0;
}
