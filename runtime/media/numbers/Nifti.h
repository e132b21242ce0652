// SPDX-License-Identifier: Apache-2.0
//
// Volumes as NIfTI files hold them, packed by gzip or not.
#pragma once

#include "runtime/media/numbers/ArrayMedium.h"
#include "runtime/media/numbers/Gzip.h"
#include "runtime/media/numbers/NiftiFile.h"

#include <optional>

namespace penstock::runtime {

/// The result's axes, from the last one on, are x, y, z, t, ... of the file, or with `orient` those
/// that go right, forward and up, and t, ... (nibabel's closest canonical orientation). Floats are
/// what the header makes of the voxels; integers are the voxels, where their type holds them.
class NiftiVolume final : public ArrayFile {
public:
  using ArrayFile::ArrayFile;
  Status open();
  Status say(media::Record &numbers) const;
  Result<StoredArray> array(const MediumRequest &request) const;
  MediaBytes &bytes() { return packed ? static_cast<MediaBytes &>(*packed) : *file; }
  bool isPacked() const { return packed.has_value(); }
  /// Whether a packed file is good does not depend on what is read of it; others say in their
  /// header how long they are.
  Status checkEnd();

private:
  std::optional<GzipBytes> packed;
  NiftiHeader header;
};

using Nifti = ArrayMedium<NiftiVolume>;

} // namespace penstock::runtime
