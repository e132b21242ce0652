// SPDX-License-Identifier: Apache-2.0
//
// Pixels to PNG files, with zlib.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace penstock::runtime {

/// Writes files of one IDAT chunk: 8 bits a channel, filter 0 in every row,
/// zlib's level 6. One object serves one thread and keeps zlib's memory.
class PngEncoder {
public:
  PngEncoder();
  PngEncoder(PngEncoder &&) noexcept;
  PngEncoder &operator=(PngEncoder &&) noexcept;
  ~PngEncoder();

  /// Most bytes that the file of a picture of this size has.
  static uint64_t room(const Picture &picture);

  /// Writes the file to the beginning of `out`, and returns its size.
  ///
  /// Errors: InvalidArgument for a side outside 1 ... 65,500; Limit where `out`
  /// is too small, which room() is not, or the file is one of 2 GiB.
  Result<size_t> encode(const Picture &picture, std::span<uint8_t> out);

private:
  struct Stream;
  std::unique_ptr<Stream> stream;
};

} // namespace penstock::runtime
