// SPDX-License-Identifier: Apache-2.0
//
// Volumes as NIfTI files hold them, packed by gzip or not.
#pragma once

#include "runtime/media/Medium.h"

#include <vector>

namespace penstock::runtime {

/// The result's axes, from the last one on, are x, y, z, t, ... of the file, or with `orient` those
/// that go right, forward and up, and t, ... (nibabel's closest canonical orientation). Floats are
/// what the header makes of the voxels; integers are the voxels, where their type holds them.
class Nifti final : public Medium {
public:
  explicit Nifti(MediumHost &) {}

  static Status probe(const MediumInput &input, const ImageLimits &limits, media::Record &numbers);
  static Status parts(const MediumInput &input, const MediumRequest &request,
                      std::vector<ByteRange> &parts);
  Status decode(const MediumInput &input, const MediumRequest &request, const MediumLayout &layout,
                uint8_t *out) override;
  Status accepts(const MediumInput &input, const MediumRequest &request) override;
  /// Of a packed file, whether all of it can be unpacked; others say in their header how long they
  /// are.
  Status checkEnd(const MediumInput &input) override;

private:
  std::vector<uint8_t> room;
};

} // namespace penstock::runtime
