// SPDX-License-Identifier: Apache-2.0
//
// Clips of videos, as a medium.
#pragma once

#include "runtime/media/Medium.h"
#include "runtime/media/video/VideoDecoder.h"

namespace penstock::runtime {

class VideoMedium final : public Medium {
public:
  explicit VideoMedium(MediumHost &host) : host(host) {}

  /// Reads the numbers from the index, which must be there.
  static Status probe(const MediumInput &input, const ImageLimits &limits, media::Record &numbers);
  static Status parts(const MediumInput &input, const MediumRequest &request,
                      std::vector<ByteRange> &parts);
  std::optional<MediumLayout> layout(const MediumRequest &request) const override;
  /// All of the frames: the box says which rows and columns.
  Status decode(const MediumInput &input, const MediumRequest &request, const MediumLayout &layout,
                uint8_t *out) override;

private:
  MediumHost &host;
  VideoDecoder decoder;
};

} // namespace penstock::runtime
