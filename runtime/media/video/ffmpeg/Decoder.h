// SPDX-License-Identifier: Apache-2.0
//
// Frames of a video by number.
#pragma once

#include "runtime/media/video/ffmpeg/Index.h"

namespace penstock::video {

/// A range of frames, checked.
class Frames {
public:
  /// Throws Failure where the video does not have them all.
  Frames(const Index &index, const pst_video_range &range);
  bool has(int64_t frame) const { return placeOf(frame) >= 0; }
  /// Returns the number of a frame among the wanted ones, or -1.
  int64_t placeOf(int64_t frame) const;
  int64_t number(int64_t place) const { return range.first + place * range.step; }
  int64_t count() const { return range.count; }

private:
  pst_video_range range;
};

/// Packets `begin` to `end`, to be decoded in one go for the wanted frames `first`
/// to before `last`, by place: all those for which decoding begins there.
struct Piece {
  int64_t begin, end, first, last;
};
/// Returns the pieces to decode for the frames. The index must not be sequential.
std::vector<Piece> piecesFor(const Index &index, const Frames &frames);

/// Decodes from the last start before a frame, and gives FFmpeg's decoder only
/// the packets that the wanted frames need. Keeps nothing from file to file.
class Decoder {
public:
  /// Throws Failure; all must outlive it.
  Decoder(const pst_video_bytes &file, const Index &index, const pst_video_range &range,
          const pst_video_client &client, pst_video_costs &costs);
  /// Throws Failure.
  void run();

private:
  struct Damage {
    int64_t packet;
    std::string why;
  };
  /// A picture that may be unwritten in part.
  struct Suspect {
    int64_t packet, place; ///< of those that came
    uint64_t sum;
  };
  /// Decodes the packets `begin` to `piece.end`, and takes their wanted frames. False where
  /// a frame did not come and nothing says why, or where decoding cannot begin there. Throws
  /// Failure for damage.
  bool decode(const Piece &piece, int64_t begin);
  void decodeAll();
  /// Makes a decoder that begins at a packet.
  void start(int64_t begin);
  void skipUnless(int64_t at);
  /// Decodes once more, in other memory, where pictures are suspected, and notes damage.
  void decodeOtherwise(int64_t begin, int64_t end);
  /// Sends packet `at`.
  void send(int64_t at);
  /// Receives the next frame, where the last packet that was sent is `at`; notes damage.
  bool next(int64_t at);
  void receive(int64_t at);
  /// Whether the picture that was sent, at which decoding began, leaves things as the pictures
  /// before it had them.
  bool leavesWhatWas(int64_t at) const;
  /// Whether a packet is damaged of which a decoder that began before might say that it is not.
  bool isInDoubt() const;
  void forgetDamage();
  /// Notes damage of a packet, which the decoder has reported.
  void noteDamage(int64_t packet) { damaged.push_back({packet, reported()}); }
  /// Throws Failure if the frame, decoded from packet `begin` on, depends on a damaged packet.
  void checkDamage(int64_t number, const Piece &piece, int64_t begin) const;
  /// Loads the next packet in decoding order, from `at`.
  void load(int64_t at);
  void give(const AVFrame &frame, int64_t number);

  const pst_video_bytes &file;
  const Index &index;
  const Frames wanted;
  const pst_video_client &client;
  pst_video_costs &costs;
  FrameMemory memory{client.hold, client.user};
  CodecPtr codec;
  PacketPtr packet = newPacket();
  FramePtr frame = newFrame();
  std::unique_ptr<Input> input; ///< where packets are not direct
  int64_t inputAt = 0;
  std::vector<bool> given;              ///< by place
  std::vector<Damage> damaged;          ///< since the decoder was empty
  std::vector<Suspect> suspected;       ///< likewise
  int64_t begun = 0, came = 0;          ///< its first packet, and the frames since
  std::pair<int64_t, int64_t> doubtful; ///< packets that are, to before the second
};

} // namespace penstock::video
