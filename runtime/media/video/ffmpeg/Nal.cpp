#include "runtime/media/video/ffmpeg/Nal.h"

namespace penstock::video {

namespace {

using Bytes = std::span<const uint8_t>;

/// Calls `visit` with each unit until it returns true; units are told apart by
/// lengths of `lengthBytes`, or where that is 0, by start codes.
template <typename Visit> bool anyUnit(Bytes packet, size_t lengthBytes, Visit visit) {
  if (lengthBytes) {
    while (packet.size() > lengthBytes) {
      uint64_t length = 0;
      for (size_t i = 0; i < lengthBytes; ++i)
        length = length << 8 | packet[i];
      packet = packet.subspan(lengthBytes);
      if (length > packet.size())
        return false;
      if (length && visit(packet.first(size_t(length))))
        return true;
      packet = packet.subspan(size_t(length));
    }
    return false;
  }
  for (size_t i = 0; i + 3 < packet.size(); ++i)
    if (packet[i] == 0 && packet[i + 1] == 0 && packet[i + 2] == 1 && visit(packet.subspan(i + 3)))
      return true;
  return false;
}

/// A message that decoding may begin here and is exact at once: recovery point,
/// recovery_frame_cnt = 0 (the bit 1), exact_match_flag = 1.
bool isExactRecoveryPoint(Bytes sei) {
  size_t at = 1;
  while (at + 2 < sei.size()) {
    size_t type = 0, size = 0;
    while (at < sei.size() && sei[at] == 255)
      type += sei[at++];
    if (at < sei.size())
      type += sei[at++];
    while (at < sei.size() && sei[at] == 255)
      size += sei[at++];
    if (at < sei.size())
      size += sei[at++];
    if (at >= sei.size())
      return false;
    if (type == 6)
      return size > 0 && (sei[at] & 0xC0) == 0xC0;
    at += size;
  }
  return false;
}

} // namespace

bool isStart(const AVCodecParameters &parameters, Bytes packet) {
  const Bytes extra(parameters.extradata, size_t(parameters.extradata_size));
  const bool hasLengths = !extra.empty() && extra[0] == 1;
  if (parameters.codec_id == AV_CODEC_ID_H264) {
    const size_t lengthBytes = hasLengths && extra.size() > 4 ? (extra[4] & 3u) + 1 : 0;
    return anyUnit(packet, lengthBytes, [](Bytes unit) {
      const int type = unit[0] & 31;
      return type == 5 || (type == 6 && isExactRecoveryPoint(unit));
    });
  }
  if (parameters.codec_id == AV_CODEC_ID_HEVC) {
    const size_t lengthBytes = hasLengths && extra.size() > 21 ? (extra[21] & 3u) + 1 : 0;
    return anyUnit(packet, lengthBytes, [](Bytes unit) {
      const int type = unit[0] >> 1 & 63;
      return type >= 16 && type <= 21;
    });
  }
  return true;
}

} // namespace penstock::video
