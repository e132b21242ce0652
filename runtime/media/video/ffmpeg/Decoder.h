// Frames of a video by number.
#pragma once

#include "runtime/media/video/ffmpeg/Index.h"

namespace penstock::video {

/// Decodes from the last start before a frame, and gives FFmpeg's decoder only
/// what the wanted frames need. Keeps nothing from file to file.
class Decoder {
public:
  Decoder(std::span<const uint8_t> file, const Index &index, const pst_video_range &range,
          pst_video_take take, void *user, pst_video_costs &costs);
  /// Throws Failure.
  void run();

private:
  struct Wanted {
    int64_t frame, packet;
  };
  /// Decodes the packets `begin` to `end` and takes what is wanted of it. False
  /// where a wanted frame among `part` did not come, or came damaged.
  bool decode(std::span<const Wanted> part, int64_t begin, int64_t end, bool last);
  void decodeAll();
  void receive(bool last);
  /// The next packet in decoding order, from `at`.
  void load(int64_t at);
  void give(const AVFrame &frame, int64_t number);
  bool isWanted(int64_t frame) const;

  std::span<const uint8_t> file;
  const Index &index;
  const pst_video_range &range;
  pst_video_take take;
  void *user;
  pst_video_costs &costs;
  CodecPtr codec;
  PacketPtr packet = newPacket();
  FramePtr frame = newFrame();
  std::unique_ptr<Input> input; ///< where packets are not direct
  int64_t inputAt = 0;
  std::vector<bool> given;
};

} // namespace penstock::video
