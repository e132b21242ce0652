// SPDX-License-Identifier: Apache-2.0
//
// FFmpeg's decoder keeps tables from one picture to the next ("abbreviated" streams have them in
// the first one only), and a few things that other segments say. Segments are found as it finds
// them.
#include "runtime/media/video/ffmpeg/MotionJpeg.h"

#include "runtime/media/video/ffmpeg/Bits.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <string_view>

namespace penstock::video {

namespace {

using Bytes = std::span<const uint8_t>;

/// What is kept: tables by their numbers, and one of each other kind.
enum Kept : size_t {
  Quantization = 0,
  Huffman = 4, // 8 of them, by class and number
  Parameters = 12,
  Pegasus,
  Colour,
  Transform,
  Comment,
  keptKinds
};

Bytes from(Bytes bytes, size_t at) { return bytes.subspan(std::min(at, bytes.size())); }
uint32_t word(Bytes bytes, size_t at, int bits) { return Bits(from(bytes, at)).take(bits); }
bool begins(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::equal(text.begin(), text.end(), bytes.begin());
}

class MotionJpeg final : public PictureReader {
public:
  explicit MotionJpeg(bool isB) : isB(isB) { given.fill(-1); }

  Picture read(Bytes packet) override {
    own.reset(), first.reset();
    hasEnded = lacks = isLs = isLossless = false;
    frame = {};
    least = at;
    if (isB)
      readB(packet);
    else
      readA(packet);
    // Whether FFmpeg reads on behind a picture's end is up to its fields.
    for (size_t kind = 0; kind < keptKinds; ++kind)
      if (first[kind] || (own[kind] && given[kind] < 0))
        given[kind] = at;
    Picture picture;
    picture.isStart = picture.isRecovery = true;
    picture.isDamaged = lacks;
    picture.reach = at - least;
    ++at;
    return picture;
  }

private:
  void readA(Bytes packet) {
    for (size_t i = 0; i + 1 < packet.size(); ++i)
      if (packet[i] == 0xFF && packet[i + 1] >= 0xC0 && packet[i + 1] != 0xFF)
        i = std::min(i + 1 + readSegment(packet[i + 1], from(packet, i + 2)), packet.size());
  }

  /// MJPEG-B has no markers, but a header of offsets for each field.
  void readB(Bytes packet) {
    for (Bytes field = packet; field.size() > 40 && word(field, 4, 32) == 0x6D6A7067;) { // "mjpg"
      constexpr std::pair<size_t, uint8_t> segments[] = {
          {20, 0xDB}, {24, 0xC4}, {28, 0xC0}, {32, 0xDA}};
      for (const auto &[place, marker] : segments)
        if (const uint32_t offset = word(field, place, 32); offset && offset < field.size())
          (void)readSegment(marker, field.subspan(offset));
      const uint32_t second = word(field, 16, 32);
      field = second && field.data() == packet.data() ? from(packet, second) : Bytes();
      hasEnded = true;
    }
  }

  /// Reads what is behind a marker, and returns how much of it is no place for further ones.
  size_t readSegment(uint8_t marker, Bytes bytes) {
    const size_t size = word(bytes, 0, 16);
    const Bytes body = from(bytes.first(std::min(size, bytes.size())), 2);
    const bool isWhole = size <= bytes.size();
    const size_t skipped = isWhole ? size : 2;
    switch (marker) {
    case 0xDB:
      return isWhole ? 2 + readQuantization(body) : 0;
    case 0xC4:
      return isWhole ? 2 + readHuffman(body) : 0;
    case 0xC0:
    case 0xC1:
    case 0xC2:
    case 0xC3:
    case 0xF7: // JPEG-LS
      isLs = marker == 0xF7;
      isLossless = isLs || marker == 0xC3;
      frame = body;
      return skipped;
    case 0xDA:
      readScan(body);
      return skipped;
    case 0xD9:
      hasEnded = true;
      return 0;
    case 0xF8: // of JPEG-LS
      define(Parameters);
      return skipped;
    case 0xFE:
      for (const std::string_view text :
           {"AVID", "CS=ITU601", "Intel(R) JPEG Library", "Metasoft MJPEG", "MULTISCOPE II"})
        if (begins(body, text))
          define(Comment);
      return skipped;
    default:
      if (marker < 0xE0 || marker > 0xEF)
        return 0;
      if (begins(body, "LJIF"))
        define(Pegasus);
      if (begins(body, "rloc"))
        define(Colour);
      if (begins(body, "mrfx"))
        define(Transform);
      return skipped;
    }
  }

  size_t readQuantization(Bytes body) {
    size_t i = 0;
    while (body.size() - i >= 65) {
      const size_t number = body[i] & 15, size = 1 + 64 * size_t(1 + (body[i] >> 4));
      if (number < 4)
        define(Quantization + number);
      i = std::min(i + size, body.size());
    }
    return i;
  }

  size_t readHuffman(Bytes body) {
    size_t i = 0;
    while (body.size() - i >= 17) {
      const size_t number = body[i] & 15, kind = body[i] >> 4;
      if (number < 4 && kind < 2)
        define(Huffman + 4 * kind + number);
      size_t codes = 0;
      for (size_t length = 1; length <= 16; ++length)
        codes += body[i + length];
      i = std::min(i + 17 + codes, body.size());
    }
    return i;
  }

  void readScan(Bytes scan) {
    const size_t components = scan.empty() ? 0 : scan[0];
    for (size_t i = 0; i < components && 2 * i + 2 < scan.size(); ++i) {
      const uint8_t id = scan[1 + 2 * i], tables = scan[2 + 2 * i];
      for (size_t j = 6; j + 2 < frame.size() && !isLossless; j += 3)
        if (frame[j] == id && frame[j + 2] < 4)
          need(Quantization + frame[j + 2]);
      if (!isLs && tables >> 4 < 4 && (tables & 15) < 4)
        need(Huffman + (tables >> 4)), need(Huffman + 4 + (tables & 15));
    }
    if (isLs)
      need(Parameters);
    for (const Kept kind : {Pegasus, Colour, Transform, Comment})
      need(kind);
  }

  void define(size_t kind) {
    own.set(kind);
    if (!hasEnded)
      first.set(kind);
  }

  /// All but tables for quantization have a value from the beginning.
  void need(size_t kind) {
    if (own[kind])
      return;
    if (given[kind] >= 0)
      least = std::min(least, given[kind]);
    else
      lacks |= kind < Huffman;
  }

  bool isB;
  int64_t at = 0;                       ///< the packet
  std::array<int64_t, keptKinds> given; ///< the last packets that have them, or -1
  std::bitset<keptKinds> own, first;    ///< this packet has them, and before a picture's end
  int64_t least = 0;                    ///< the first packet with what this one needs
  Bytes frame;                          ///< its header
  bool hasEnded = false, lacks = false, isLs = false, isLossless = false;
};

} // namespace

std::unique_ptr<PictureReader> motionJpegReader(AVCodecID codec) {
  return std::make_unique<MotionJpeg>(codec == AV_CODEC_ID_MJPEGB);
}

} // namespace penstock::video
