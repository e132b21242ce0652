// SPDX-License-Identifier: Apache-2.0
//
// Properties of pictures read from their own headers: key frame marks of containers are not
// trusted.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
}

#include <cstdint>
#include <memory>
#include <span>

namespace penstock::video {

struct Picture {
  /// A decoder that begins here gives the same pictures from here on as one does that
  /// began at the first packet.
  bool isStart = false;
  /// No picture that is shown from here on refers to one before.
  bool isRecovery = false;
  /// With isRecovery: by an intra refresh, which took several pictures.
  bool isRefreshed = false;
  /// An intra refresh begins: pictures behind its end refer to none before this one.
  bool beginsRefresh = false;
  /// The other half of the frame that the packet before has begun.
  bool isSecondField = false;
  /// The packet before is one field of a frame, and this one is not the other.
  bool isBehindHalf = false;
  /// The picture is not whole, or pictures between the one before and this one are missing.
  bool isDamaged = false;
  /// The stream is invalid: others refer to a picture marked as unreferenced. Decoders must not
  /// skip pictures by that mark.
  bool isOdd = false;
  /// Others refer to it, as its header says: decoders must not skip it, and would not say that it
  /// is damaged then.
  bool isReferenced = false;
  /// More than one picture that is shown.
  bool isPacked = false;
  /// Shown before the last one that is not: times that say something else are wrong.
  bool isBetween = false;
  /// Shown behind all that came before.
  bool isBehindAll = false;
  /// FFmpeg's result depends on where decoding began: it must begin at the first packet.
  bool needsAll = false;
  /// It needs tables that stand so many packets before it.
  int64_t reach = 0;
};

/// Reads a stream's packets in decoding order. Any bytes are safe.
class PictureReader {
public:
  virtual ~PictureReader();
  virtual Picture read(std::span<const uint8_t> packet) = 0;
  /// Returns whether FFmpeg's decoder can leave out unreferenced pictures without changing others.
  virtual bool skips() const { return false; }
};

/// Returns the reader of a codec. For codecs without one, no packet but the first is a start.
std::unique_ptr<PictureReader> readerFor(const AVCodecParameters &parameters);

} // namespace penstock::video
