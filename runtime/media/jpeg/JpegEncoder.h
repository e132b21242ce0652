// SPDX-License-Identifier: Apache-2.0
//
// Pixels to JPEG files, with libjpeg-turbo.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace penstock::runtime {

/// Writes baseline files: accurate integer DCT, 4:2:0 where there is colour,
/// the standard tables scaled by the quality, the standard Huffman tables, no
/// restart markers, a JFIF header. Pillow's save(quality = q) writes the same
/// bytes. One object serves one thread.
class JpegEncoder {
public:
  JpegEncoder();
  JpegEncoder(JpegEncoder &&) noexcept;
  JpegEncoder &operator=(JpegEncoder &&) noexcept;
  ~JpegEncoder();

  /// Most bytes that the file of a picture of this size has.
  static uint64_t room(const Picture &picture);

  /// Writes the file to the beginning of `out`, and returns its size.
  ///
  /// Errors: InvalidArgument for a quality outside 1 ... 100, or a side outside
  /// 1 ... 65,500; Limit where `out` is too small, which room() is not.
  Result<size_t> encode(const Picture &picture, int64_t quality, std::span<uint8_t> out);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace penstock::runtime
