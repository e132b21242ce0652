// SPDX-License-Identifier: Apache-2.0
//
// What is in a gzip file, as bytes that are read from the beginning to the end.
#pragma once

#include "runtime/media/MediaBytes.h"

#include <memory>

struct z_stream_s;

namespace penstock::runtime {

/// RFC 1952: members one behind the other; what is no member behind the last one is left alone, as
/// gzip(1) leaves it. Keeps no more than a window of either side.
class GzipBytes final : public MediaBytes {
public:
  static Result<bool> is(MediaBytes &file);
  explicit GzipBytes(MediaBytes &file);
  ~GzipBytes() override;
  GzipBytes(const GzipBytes &) = delete;
  GzipBytes &operator=(const GzipBytes &) = delete;

  /// The most that a file of this size can become.
  uint64_t size() const override;
  /// Bytes behind those that were read before; Truncated where there are too few.
  Status read(uint64_t offset, std::span<uint8_t> out) override;
  /// Reads to the end and compares the checksums; returns the number of bytes.
  Result<uint64_t> finish();

private:
  /// Writes up to `count` bytes, fewer at the end alone.
  Result<uint64_t> inflate(uint8_t *out, uint64_t count);
  Status feed();

  MediaBytes &file;
  std::unique_ptr<z_stream_s> stream;
  std::vector<uint8_t> in, skipped;
  uint64_t taken = 0, at = 0; ///< bytes of the file given to zlib, and of what is in it
  bool isOpen = false, isAtEnd = false;
};

} // namespace penstock::runtime
