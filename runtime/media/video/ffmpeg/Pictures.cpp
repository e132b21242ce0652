// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/ffmpeg/Pictures.h"

#include "runtime/media/video/ffmpeg/Bits.h"
#include "runtime/media/video/ffmpeg/MotionJpeg.h"
#include "runtime/media/video/ffmpeg/Nal.h"
#include "runtime/media/video/ffmpeg/ScreenVideo.h"

extern "C" {
#include <libavcodec/codec_desc.h>
#include <libavutil/crc.h>
}

#include <algorithm>
#include <vector>

namespace penstock::video {

namespace {

using Bytes = std::span<const uint8_t>;

Picture intra(bool is) {
  Picture picture;
  picture.isStart = picture.isRecovery = is;
  return picture;
}

/// A codec whose pictures say in their first bits whether they refer to others, and whose
/// decoder keeps nothing else.
class FirstBits final : public PictureReader {
public:
  using IsIntra = bool (*)(Bits bits);
  explicit FirstBits(IsIntra isIntra, bool maySkip = false) : isIntra(isIntra), maySkip(maySkip) {}
  Picture read(Bytes packet) override { return intra(isIntra(Bits(packet))); }
  bool skips() const override { return maySkip; }

private:
  IsIntra isIntra;
  bool maySkip;
};

bool always(Bits) { return true; }
bool never(Bits) { return false; }
/// Picture types of FFmpeg's own decoders of MPEG-4's Microsoft kinds: I, P.
bool msmpeg4(Bits bits) { return bits.take(2) == 0; }
bool wmv2(Bits bits) { return !bits.flag(); }
bool theora(Bits bits) { return bits.take(2) == 0; } // data, no header; intra
bool vp8(Bits bits) { return (bits.take(8) & 1) == 0; }

bool flv1(Bits bits) {
  if (bits.take(17) != 1)
    return false;
  bits.skip(5 + 8);
  const uint32_t format = bits.take(3);
  bits.skip(format == 0 ? 16 : format == 1 ? 32 : 0);
  return bits.take(2) == 0;
}

bool vp9(Bits bits) {
  if (bits.take(2) != 2)
    return false;
  const uint32_t low = bits.take(1), high = bits.take(1);
  if (low + 2 * high == 3)
    bits.skip(1);
  return bits.take(2) == 0; // no frame that exists already; a key frame
}

/// FFV1. For a damaged slice FFmpeg's decoder takes that of the picture before, wherever decoding
/// began, and does not say so: decoding may begin at key frames only where slices have checksums.
class Ffv1 final : public PictureReader {
public:
  Picture read(Bytes packet) override {
    const bool isWhole = hasRightSums(packet);
    if (isFirst)
      hasSums = isWhole;
    isFirst = false;
    // The range coder's first bit, of even chance.
    Picture picture = intra(Bits(packet).take(16) >= 0x7F80);
    picture.needsAll = !hasSums;
    picture.isDamaged = hasSums && !isWhole;
    return picture;
  }

private:
  /// Slices end with their size, an error code and a checksum, and are found from the end.
  static bool hasRightSums(Bytes packet) {
    const AVCRC *table = av_crc_get_table(AV_CRC_32_IEEE);
    while (!packet.empty()) {
      if (packet.size() < 8)
        return false;
      const uint8_t *foot = packet.data() + packet.size() - 8;
      const size_t size = (size_t(foot[0]) << 16 | size_t(foot[1]) << 8 | foot[2]) + 8;
      if (size > packet.size() || av_crc(table, 0, packet.data() + packet.size() - size, size))
        return false;
      packet = packet.first(packet.size() - size);
    }
    return true;
  }
  bool isFirst = true, hasSums = false;
};

/// The first frame's header of a temporal unit.
bool isKeyOfAv1(Bytes unit) {
  for (;;) {
    Bits head(unit);
    head.skip(1);
    const uint32_t type = head.take(4);
    const bool hasExtension = head.flag(), hasSize = head.flag();
    size_t at = hasExtension ? 2 : 1;
    if (unit.size() <= at)
      return false;
    uint64_t size = 0;
    if (hasSize) {
      for (int shift = 0;; shift += 7) {
        if (at >= unit.size() || shift > 28)
          return false;
        size |= uint64_t(unit[at] & 127) << shift;
        if (unit[at++] < 128)
          break;
      }
    } else {
      size = unit.size() - at;
    }
    if (size > unit.size() - at)
      return false;
    if (type == 3 || type == 6) { // a frame's header, or a frame
      Bits frame(unit.subspan(at));
      return !frame.flag() && frame.take(2) == 0 && frame.flag() && !frame.failed();
    }
    unit = unit.subspan(at + size_t(size));
    if (unit.empty())
      return false;
  }
}

class Av1 final : public PictureReader {
public:
  Picture read(Bytes packet) override { return intra(isKeyOfAv1(packet)); }
};

/// H.263 and H.263+.
class H263 final : public PictureReader {
public:
  Picture read(Bytes packet) override {
    Bits bits(packet);
    Picture picture;
    if (bits.take(22) != 0x20) // the picture start code
      return picture;
    bits.skip(8 + 5); // temporal reference; marker, 0, split screen, camera, freeze
    const bool isExtended = bits.take(3) == 7;
    uint32_t type = 0;
    if (!isExtended) {
      type = bits.take(1);
      bits.skip(2);
      isOverlapped = bits.flag();
    } else {
      const bool hasModes = bits.take(3) == 1;
      if (hasModes) { // else those of the picture before hold on
        bits.skip(6);
        isOverlapped = bits.flag();
        bits.skip(11);
      }
      type = hasModes ? bits.take(3) : 1;
    }
    picture = intra(type == 0 && !bits.failed());
    // For overlapped motion FFmpeg's decoder looks at vectors of pictures long gone.
    picture.needsAll = isOverlapped;
    return picture;
  }

private:
  bool isOverlapped = false;
};

/// Returns the place of the next start code 00 00 01 of a kind, from `at` on; the end if there is
/// none.
template <typename IsWanted> size_t findCode(Bytes packet, size_t at, IsWanted isWanted) {
  for (; at + 3 < packet.size(); ++at)
    if (packet[at] == 0 && packet[at + 1] == 0 && packet[at + 2] == 1 && isWanted(packet[at + 3]))
      return at;
  return packet.size();
}

/// MPEG-1 and MPEG-2. Matrices of a sequence's header hold until the next one.
class Mpeg12 final : public PictureReader {
public:
  Picture read(Bytes packet) override {
    bool hasSequence = false, isIntra = false;
    int pictures = 0, type = 0;
    for (size_t at = 0;; at += 4) {
      at = findCode(packet, at, [](uint8_t code) { return code == 0xB3 || code == 0; });
      if (at + 6 > packet.size())
        break;
      if (packet[at + 3] == 0xB3) {
        hasSequence = true;
        continue;
      }
      type = packet[at + 5] >> 3 & 7;
      isIntra = (pictures++ == 0 || isIntra) && type == 1; // of each field
    }
    Picture picture = intra(isIntra);
    picture.isBetween = type == 3;
    picture.isReferenced = !picture.isBetween;
    picture.isBehindAll = !picture.isBetween;
    picture.isStart &= hasSequence;
    return picture;
  }
  bool skips() const override { return true; }
};

/// MPEG-4 part 2. What its object layer says holds until the next one.
class Mpeg4 final : public PictureReader {
public:
  explicit Mpeg4(Bytes extra) : extra(extra.begin(), extra.end()) {
    const size_t head = headerOf(extra);
    knows = head < extra.size();
    hasFields = knows && isInterlaced(extra.subspan(head + 4));
  }
  Picture read(Bytes packet) override {
    const size_t head = headerOf(packet);
    const size_t vop = findCode(packet, 0, [](uint8_t code) { return code == 0xB6; });
    const bool hasHeader = head < vop;
    if (hasHeader && vop < packet.size()) {
      const auto said = packet.subspan(head, vop - head);
      // FFmpeg knows the header that `extra` has from the beginning, and no other.
      if (std::search(extra.begin(), extra.end(), said.begin(), said.end()) == extra.end())
        knows = false;
      hasFields |= isInterlaced(said.subspan(std::min<size_t>(4, said.size())));
    }
    const int type = vop + 4 < packet.size() ? packet[vop + 4] >> 6 : 1;
    Picture picture = intra(type == 0);
    picture.isBetween = type == 2;
    picture.isReferenced = !picture.isBetween;
    picture.isBehindAll = !picture.isBetween;
    // FFmpeg's vectors of fields are in units of the first such picture's distance, which no
    // flush forgets.
    picture.needsAll = picture.isBetween && hasFields;
    picture.isStart &= hasHeader || knows;
    picture.isPacked =
        findCode(packet, vop + 4, [](uint8_t code) { return code == 0xB6; }) < packet.size();
    return picture;
  }
  bool skips() const override { return true; }

private:
  static size_t headerOf(Bytes bytes) {
    return findCode(bytes, 0, [](uint8_t code) { return code >= 0x20 && code <= 0x2F; });
  }
  /// ISO/IEC 14496-2, 6.2.3: of a rectangular object layer, behind its start code.
  static bool isInterlaced(Bytes layer) {
    Bits bits(layer);
    bits.skip(1 + 8);
    if (bits.flag()) // says its version
      bits.skip(4 + 3);
    if (bits.take(4) == 15) // another aspect
      bits.skip(8 + 8);
    if (bits.flag()) { // parameters of control
      bits.skip(2 + 1);
      if (bits.flag())
        bits.skip(79); // of a buffer
    }
    const bool isRectangle = bits.take(2) == 0;
    bits.skip(1);
    const uint32_t resolution = bits.take(16);
    bits.skip(1);
    if (bits.flag()) { // a fixed rate, in as many bits as the resolution's largest time
      uint32_t size = 1;
      while (size < 16 && (resolution - 1) >> size)
        ++size;
      bits.skip(size);
    }
    bits.skip(1 + 13 + 1 + 13 + 1);
    return isRectangle && bits.flag() && !bits.failed();
  }
  std::vector<uint8_t> extra;
  bool knows, hasFields;
};

} // namespace

PictureReader::~PictureReader() = default;

std::unique_ptr<PictureReader> readerFor(const AVCodecParameters &parameters) {
  const Bytes extra(parameters.extradata, size_t(parameters.extradata_size));
  switch (parameters.codec_id) {
  case AV_CODEC_ID_H264:
    return h264Reader(extra);
  case AV_CODEC_ID_HEVC:
    return h265Reader(extra);
  case AV_CODEC_ID_MPEG1VIDEO:
  case AV_CODEC_ID_MPEG2VIDEO:
    return std::make_unique<Mpeg12>();
  case AV_CODEC_ID_MPEG4:
    return std::make_unique<Mpeg4>(extra);
  case AV_CODEC_ID_H263:
  case AV_CODEC_ID_H263P:
    return std::make_unique<H263>();
  case AV_CODEC_ID_FLV1:
    return std::make_unique<FirstBits>(flv1);
  case AV_CODEC_ID_MSMPEG4V2:
  case AV_CODEC_ID_MSMPEG4V3:
  case AV_CODEC_ID_WMV1:
    return std::make_unique<FirstBits>(msmpeg4);
  case AV_CODEC_ID_WMV2:
    return std::make_unique<FirstBits>(wmv2);
  case AV_CODEC_ID_THEORA:
    return std::make_unique<FirstBits>(theora);
  case AV_CODEC_ID_VP8:
    return std::make_unique<FirstBits>(vp8, true);
  case AV_CODEC_ID_VP9:
    return std::make_unique<FirstBits>(vp9);
  case AV_CODEC_ID_AV1:
    return std::make_unique<Av1>();
  case AV_CODEC_ID_FFV1:
    return std::make_unique<Ffv1>();
  case AV_CODEC_ID_MJPEG:
  case AV_CODEC_ID_MJPEGB:
  case AV_CODEC_ID_LJPEG:
  case AV_CODEC_ID_JPEGLS:
  case AV_CODEC_ID_AVRN:
    return motionJpegReader(parameters.codec_id);
  case AV_CODEC_ID_FLASHSV:
  case AV_CODEC_ID_FLASHSV2:
    return screenVideoReader(parameters.codec_id);
  default: {
    const AVCodecDescriptor *known = avcodec_descriptor_get(parameters.codec_id);
    const bool isIntra = known && (known->props & AV_CODEC_PROP_INTRA_ONLY);
    return std::make_unique<FirstBits>(isIntra ? always : never);
  }
  }
}

} // namespace penstock::video
