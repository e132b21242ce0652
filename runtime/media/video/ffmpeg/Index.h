// SPDX-License-Identifier: Apache-2.0
//
// The index of a video, made without decoding it: its packets, and the frame that each holds.
#pragma once

#include "runtime/media/video/ffmpeg/Input.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace penstock::video {

struct Packet {
  enum : uint16_t {
    Key = 1,          ///< marked as one by the container: decoders are told
    Discard = 2,      ///< outside the edit list: decoded, not shown
    Start = 4,        ///< decoders may begin here: Picture::isStart
    Recovery = 8,     ///< no frame shown from here on refers to one before
    Damaged = 16,     ///< not whole, or packets before it are lost
    SecondField = 32, ///< belongs to the frame of the packet before
    Refreshed = 64,   ///< with Recovery: by an intra refresh, ...
    Refresh = 128,    ///< ... which begins here: what is damaged since then may be seen behind it
    Referenced = 256, ///< others refer to it, as its header says
  };
  int64_t pts = 0;
  int64_t offset = 0; ///< of its bytes in the file; Index::isDirect only
  int64_t size = 0;
  uint16_t flags = 0;
};

/// docs/rationale/video.md has the reasons.
class Index {
public:
  /// Reads all packets. Throws Failure.
  static Index make(const pst_video_bytes &file, const pst_video_limits &limits);
  /// Throws Failure where the bytes are no index.
  static Index parse(std::span<const uint8_t> bytes);
  std::vector<uint8_t> bytes() const;
  /// Returns about the bytes that it takes.
  uint64_t memory() const;

  bool isDirect() const { return head.flags & PST_VIDEO_DIRECT; }
  bool isSequential() const { return head.flags & PST_VIDEO_SEQUENTIAL; }
  int64_t frames() const { return head.frames; }
  /// Returns the number of the packet that holds a frame.
  int64_t packetOf(int64_t frame) const { return shown[size_t(frame)]; }
  /// Returns the packet that completes the frame.
  int64_t endOf(int64_t frame) const;
  /// Returns the frame that a packet holds. The index must not be sequential.
  std::optional<int64_t> frameOf(int64_t packet) const;
  /// Returns the frame of a sequential index that comes out of a decoder as the `nth` with the mark
  /// of that packet; packets may have several.
  std::optional<int64_t> frameOf(int64_t packet, int64_t nth) const;
  /// Returns the packet from which damage may still be seen in frames behind a packet that is
  /// Recovery.
  int64_t damageBegin(int64_t recovery) const;
  /// Returns the packet at which decoding begins for a packet's frame: always the same, so that
  /// frames do not depend on the other wanted ones.
  int64_t startFor(int64_t packet) const { return lastBefore(packet, Packet::Start); }
  /// Returns whether damage in a packet may be seen in a frame.
  bool dependsOn(int64_t frame, int64_t packet) const;
  /// Packets known to be damaged without decoding them.
  std::span<const int64_t> damaged() const { return broken; }
  /// Returns whether its decoder may leave out pictures to which no other refers.
  bool mayLeaveOut() const { return leavesOut; }

  pst_video_index head{};
  int stream = 0;
  Parameters parameters;
  std::vector<Packet> packets; ///< in decoding order

private:
  void readPackets(Input &input, const pst_video_bytes &file);
  void findFrames(Input &input, const pst_video_bytes &file, const pst_video_limits &limits);
  bool comesOut(int64_t wanted, const pst_video_bytes &file, const pst_video_limits &limits) const;
  void describe(const AVFrame &frame);
  void countFrames(Input &input, const pst_video_limits &limits);
  void order(std::span<const int64_t> lost);
  int64_t lastBefore(int64_t packet, uint16_t flag) const;

  std::vector<int64_t> shown; ///< packets in the order in which they, or their frames, are shown
  std::vector<std::pair<int64_t, int64_t>> marks; ///< of a sequential index: packet, frame
  std::vector<int32_t> numbers;                   ///< of frames, by packet; -1: shows none
  std::vector<int64_t> broken;
  bool leavesOut = false;
};

} // namespace penstock::video
