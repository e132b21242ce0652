// SPDX-License-Identifier: Apache-2.0
//
// Bytes as numbers of any type: the smallest medium.
#pragma once

#include "runtime/media/Medium.h"

#include <vector>

namespace penstock::runtime {

/// Elements stand one behind the other, the last axis fastest, behind as many bytes
/// as the first argument says; `format` is their byte order.
class Numbers final : public Medium {
public:
  explicit Numbers(MediumHost &) {}

  static Status probe(const MediumInput &input, const ImageLimits &limits, media::Record &numbers);
  static Status parts(const MediumInput &input, const MediumRequest &request,
                      std::vector<ByteRange> &parts);
  Status decode(const MediumInput &input, const MediumRequest &request, const MediumLayout &layout,
                uint8_t *out) override;

private:
  std::vector<uint8_t> room;
};

} // namespace penstock::runtime
