// Sound, as a medium: WAV and FLAC files.
#pragma once

#include "runtime/media/Medium.h"
#include "runtime/media/flac/FlacDecoder.h"

#include <vector>

namespace penstock::runtime {

/// Samples as f32 in -1 ..< 1, as soundfile and torchaudio give them: integers over
/// their largest value plus one, floats as they are. `channels` has the axes t and c;
/// `mono` t alone, the mean of the channels, added up in their order. The first bytes
/// tell of what kind a file is.
class Wave final : public Medium {
public:
  explicit Wave(MediumHost &) {}

  static Status probe(const MediumInput &input, const ImageLimits &limits, media::Record &numbers);
  static Status parts(const MediumInput &input, const MediumRequest &request,
                      std::vector<ByteRange> &parts);
  Status decode(const MediumInput &input, const MediumRequest &request, const MediumLayout &layout,
                uint8_t *out) override;
  Status checkEnd(const MediumInput &input) override;

private:
  Status decodeWav(MediaBytes &file, const MediumRequest &request, const MediumLayout &layout,
                   uint8_t *out);
  Status decodeFlac(MediaBytes &file, const MediumRequest &request, const MediumLayout &layout,
                    uint8_t *out);

  FlacDecoder flac;
  std::vector<uint8_t> room;
};

} // namespace penstock::runtime
