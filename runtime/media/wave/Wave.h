// SPDX-License-Identifier: Apache-2.0
//
// Sound, as a medium: WAV and FLAC files, and those that FFmpeg reads.
#pragma once

#include "runtime/media/Medium.h"
#include "runtime/media/flac/FlacDecoder.h"
#include "runtime/media/wave/WaveFile.h"

#include <vector>

namespace penstock::runtime {

/// Samples as f32 in -1 ..< 1, as soundfile and torchaudio give them: integers over
/// their largest value plus one, floats as they are. `channels` has the axes t and c;
/// `mono` t alone, the mean of the channels, added up in their order. The first bytes
/// tell of what kind a file is.
class Wave final : public Medium {
public:
  explicit Wave(MediumHost &host) : host(host) {}

  /// Returns whether a file is FFmpeg's to read: probe(), parts() and decode() want an index then.
  static Result<bool> hasPackets(MediaBytes &file);
  static Status probe(const MediumInput &input, const ImageLimits &limits, media::Record &numbers);
  static Status parts(const MediumInput &input, const MediumRequest &request,
                      std::vector<ByteRange> &parts);
  Status decode(const MediumInput &input, const MediumRequest &request, const MediumLayout &layout,
                uint8_t *out) override;
  Status checkEnd(const MediumInput &input) override;

private:
  Status decodePackets(const SoundTrack &sound, MediaBytes &file, const MediumRequest &request,
                       const MediumLayout &layout, uint8_t *out);
  Status decodeWav(MediaBytes &file, const WaveInfo &info, const MediumRequest &request,
                   const MediumLayout &layout, uint8_t *out);
  Status decodeFlac(MediaBytes &file, const MediumRequest &request, const MediumLayout &layout,
                    uint8_t *out);

  MediumHost &host;
  FlacDecoder flac;
  std::vector<uint8_t> room;
};

} // namespace penstock::runtime
