// What is known of a video without decoding it: its packets, and which of them
// is which frame.
#pragma once

#include "runtime/media/video/ffmpeg/Input.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace penstock::video {

struct Packet {
  enum : uint8_t {
    Key = 1,     ///< marked as a place to start
    Discard = 2, ///< outside the edit list: decoded, not shown
    Start = 4,   ///< what is shown from here on needs nothing before
  };
  int64_t pts = 0;
  int64_t offset = 0; ///< of its bytes in the file; Index::isDirect only
  int64_t size = 0;
  uint8_t flags = 0;
};

/// docs/rationale/video.md has the reasons.
class Index {
public:
  /// Reads all packets. Throws Failure.
  static Index make(const pst_video_bytes &file, const pst_video_limits &limits);
  /// Throws Failure where the bytes are no index.
  static Index parse(std::span<const uint8_t> bytes);
  std::vector<uint8_t> bytes() const;
  /// About what this takes.
  uint64_t memory() const;

  bool isDirect() const { return head.flags & PST_VIDEO_DIRECT; }
  bool isSequential() const { return head.flags & PST_VIDEO_SEQUENTIAL; }
  int64_t frames() const { return head.frames; }
  /// The number of the packet that holds a frame. Not for sequential ones.
  int64_t packetOf(int64_t frame) const { return shown[size_t(frame)]; }
  /// The frame that is shown at a time.
  std::optional<int64_t> frameAt(int64_t pts) const;
  /// Where decoding may begin to get the frame of a packet.
  int64_t startFor(int64_t packet) const;

  pst_video_index head{};
  int stream = 0;
  Parameters parameters;
  std::vector<Packet> packets; ///< in decoding order

private:
  void readPackets(Input &input, const pst_video_bytes &file);
  void findFrames(Input &input, const pst_video_limits &limits);
  void countFrames(Input &input, const pst_video_limits &limits);
  void order(std::span<const int64_t> lost);

  std::vector<int64_t> shown; ///< packets in the order in which they are shown
};

} // namespace penstock::video
