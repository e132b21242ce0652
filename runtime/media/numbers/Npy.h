// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files: a header, then an array.
#pragma once

#include "runtime/core/DType.h"
#include "runtime/media/numbers/ArrayMedium.h"

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::runtime {

struct NpyHeader {
  plan::DType type = plan::DType::none;
  std::vector<int64_t> shape; ///< at least one axis
  uint64_t data = 0;          ///< where the elements begin
  bool isBigEndian = false;
  bool isFirstFastest = false; ///< Fortran's order, of several axes

  /// Returns the type as text: "f32[10, 3, 4]".
  std::string typeText() const;
};

/// Versions 1 to 3. What it accepts is whole: behind the header are at least the bytes of all
/// elements.
///
/// Errors: Unsupported, by name, for objects, records, texts and other types that pipelines lack;
/// Truncated; Corrupt.
Result<NpyHeader> readNpyHeader(MediaBytes &file);

/// Arrays of up to as many axes as tensors have, as a medium; the result has their type.
class NpyFile final : public ArrayFile {
public:
  using ArrayFile::ArrayFile;
  Status open();
  Status say(media::Record &numbers) const;
  Result<StoredArray> array(const MediumRequest &request) const;

private:
  NpyHeader header;
};

using Npy = ArrayMedium<NpyFile>;

} // namespace penstock::runtime
