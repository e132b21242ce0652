// Sound of WAV files, as a medium.
#pragma once

#include "runtime/media/Medium.h"

namespace penstock::runtime {

/// Samples as f32 in -1 ..< 1, as soundfile and torchaudio give them: integers over
/// their largest value plus one, floats as they are. `channels` has the axes t and c;
/// `mono` t alone, the mean of the channels, added up in their order.
class Wave final : public Medium {
public:
  explicit Wave(MediumHost &) {}

  static Status probe(const MediumInput &input, const ImageLimits &limits, media::Record &numbers);
  Status decode(const MediumInput &input, const MediumRequest &request, const MediumLayout &layout,
                uint8_t *out) override;
};

} // namespace penstock::runtime
