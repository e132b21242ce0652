// SPDX-License-Identifier: Apache-2.0
//
// Samples of a file's sound: its packets, and the samples that each gave when all were decoded.
#pragma once

#include "runtime/media/video/ffmpeg/Input.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace penstock::video {

/// A packet, and the samples that the decoder gives for it before the next one. The last packet of
/// an index is empty: its samples are those that come at the end.
struct SoundPacket {
  uint32_t pieces = 0;   ///< of its bytes in the file, one behind the other in SoundIndex::pieces
  uint32_t size = 0;     ///< in bytes
  uint32_t decoded = 0;  ///< samples
  uint32_t skipped = 0;  ///< of them, at the beginning, which are no part of the sound
  uint32_t count = 0;    ///< of them, behind those, which are
  uint32_t checksum = 0; ///< of all that is decoded
  uint32_t noise = 0;    ///< the generator's state before it (AAC)
  uint8_t reach = 0;     ///< its data begin so many packets before it (MP3)
  bool isDamaged = false;
  bool isKey = false;
  int64_t first = 0; ///< its first sample in the sound
  uint64_t firstPiece = 0;
};

/// docs/rationale/video.md has the reasons.
class SoundIndex {
public:
  /// Decodes all of the file. Throws Failure.
  static SoundIndex make(const pst_video_bytes &file);
  /// Throws Failure where the bytes are no index.
  static SoundIndex parse(std::span<const uint8_t> bytes);
  std::vector<uint8_t> bytes() const;
  uint64_t memory() const;

  bool isDirect() const { return head.flags & PST_VIDEO_DIRECT; }
  /// The packets that hold samples: the first one, and the one behind the last one.
  std::pair<int64_t, int64_t> packetsOf(int64_t first, int64_t count) const;
  /// Returns the packet from which on the decoder gives the same samples for `packet` as when all
  /// were decoded, as far as is known.
  int64_t startFor(int64_t packet) const;

  pst_sound_index head{};
  int stream = 0;
  Parameters parameters;
  std::vector<SoundPacket> packets;
  std::vector<pst_video_part> pieces; ///< where packets are direct

private:
  static SoundIndex decodeAll(const pst_video_bytes &file, Damaged damaged);
  void addPieces(SoundPacket &packet, std::vector<pst_video_part> &&found);
  void settle();
};

/// A sound track with its lead: packets that decoding needs beforehand beyond its codec's number,
/// found out once and used from then on.
struct Sound {
  explicit Sound(SoundIndex index) : index(std::move(index)) {}
  /// As SoundIndex::startFor(), or before that.
  int64_t startFor(int64_t packet) const {
    return std::max<int64_t>(0, std::min(index.startFor(packet), packet - lead.load()));
  }
  SoundIndex index;
  mutable std::atomic<int64_t> lead{0}; ///< packets
};

/// Returns a number that differs where an index of another FFmpeg, or of a processor for which it
/// has other code, is no good.
uint32_t soundLibrary();

/// Returns the ranges of the packets that samples need, ascending. Throws Failure.
std::vector<pst_video_part> soundParts(const Sound &sound, int64_t first, int64_t count);

/// Decodes samples. Throws Failure.
void decodeSound(const Sound &sound, const pst_video_bytes &file, int64_t first, int64_t count,
                 const pst_sound_client &client, pst_video_costs &costs);

} // namespace penstock::video
