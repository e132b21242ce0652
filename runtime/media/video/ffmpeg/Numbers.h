// SPDX-License-Identifier: Apache-2.0
//
// Numbers of an index as bytes.
#pragma once

#include "runtime/media/video/ffmpeg/Input.h"

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::video {

/// Whole numbers, small ones in few bytes.
class Writer {
public:
  void put(int64_t value) {
    uint64_t rest = uint64_t(value) << 1 ^ uint64_t(value >> 63);
    for (; rest >= 128; rest >>= 7)
      out.push_back(uint8_t(rest | 128));
    out.push_back(uint8_t(rest));
  }
  void putWord(uint32_t value) {
    for (int i = 0; i < 4; ++i)
      out.push_back(uint8_t(value >> (8 * i)));
  }
  std::vector<uint8_t> out;
};

/// Throws Failure where there are no more.
class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes(bytes) {}
  int64_t get() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes.empty())
        fail();
      const uint8_t byte = bytes[0];
      bytes = bytes.subspan(1);
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128)
        return int64_t(value >> 1 ^ (0 - (value & 1)));
    }
    fail();
  }
  uint32_t getWord() {
    uint32_t value = 0;
    for (int i = 0; const uint8_t byte : take(4))
      value |= uint32_t(byte) << (8 * i++);
    return value;
  }
  std::span<const uint8_t> take(int64_t count) {
    if (count < 0 || uint64_t(count) > bytes.size())
      fail();
    auto part = bytes.first(size_t(count));
    bytes = bytes.subspan(size_t(count));
    return part;
  }
  [[noreturn]] static void fail() { throw Failure{PST_VIDEO_CORRUPT, "the index is damaged"}; }

private:
  std::span<const uint8_t> bytes;
};

inline int64_t sum(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
inline int64_t difference(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }

/// Copies a decoder's parameters beside its numbers; throws std::bad_alloc.
void setExtraData(AVCodecParameters &parameters, std::span<const uint8_t> extra);

/// Returns the offset of the packet's bytes in the file; -1 if they are nowhere near its place.
/// `around` is room for them.
int64_t placeOf(const AVPacket &packet, const pst_video_bytes &file, std::vector<uint8_t> &around);

/// Returns whether nothing else that a packet brings matters to a decoder.
bool isPlain(const AVPacket &packet);

} // namespace penstock::video
