// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files: a header, then an array.
#pragma once

#include "runtime/core/DType.h"
#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock::runtime {

struct NpyHeader {
  plan::DType type = plan::DType::none;
  std::vector<int64_t> shape; ///< rows first; at least one axis
  size_t data = 0;            ///< where the elements begin

  /// Returns the type as text: "f32[10, 3, 4]".
  std::string typeText() const;
};

/// Versions 1 to 3. Never reads outside `bytes`; what it accepts is whole:
/// behind the header are at least the bytes of all elements.
///
/// Errors: Unsupported, by name, for big-endian and Fortran order, for objects,
/// records, texts and other types that pipelines lack; Truncated; Corrupt.
Result<NpyHeader> readNpyHeader(std::span<const uint8_t> bytes);

} // namespace penstock::runtime
