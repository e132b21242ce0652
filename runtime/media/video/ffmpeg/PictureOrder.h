// SPDX-License-Identifier: Apache-2.0
//
// Whether the times of packets are those of the pictures in them.
#pragma once

#include "runtime/media/video/ffmpeg/Input.h"

#include <utility>
#include <vector>

namespace penstock::video {

/// Reads the numbers by which H.264 and H.265 say in which order pictures are shown (picture order
/// counts). A stream without times that is put into a container gets those of its packets, in the
/// order in which they are decoded.
class PictureOrder {
public:
  explicit PictureOrder(const AVCodecParameters &parameters);

  /// Takes the next packet in decoding order. `isFirst`: numbers begin anew. `isOther`: the second
  /// field of a frame, which has no time of its own.
  void take(const AVPacket &packet, bool isFirst, bool isOther);
  /// Returns whether times order some pictures otherwise than their numbers. To be asked behind the
  /// last packet.
  bool contradictsTimes();

private:
  void finish();

  struct CloseParser {
    void operator()(AVCodecParserContext *parser) const { av_parser_close(parser); }
  };
  CodecPtr codec;
  std::unique_ptr<AVCodecParserContext, CloseParser> parser; ///< null: of no such codec
  std::vector<std::pair<int, int64_t>> pictures;             ///< of the sequence: number and time
  bool contradicts = false;
};

} // namespace penstock::video
