// SPDX-License-Identifier: Apache-2.0
//
// Bytes that LZF has packed, read from the beginning to the end.
#pragma once

#include "runtime/media/MediaBytes.h"

namespace penstock::runtime {

/// Literal runs, and repeats of what stands up to 8 KiB before. Keeps some windows of either side,
/// whatever the sizes are.
class LzfBytes final : public MediaBytes {
public:
  /// The most that a packed byte can become.
  static constexpr uint64_t mostOfByte = 88;

  /// \param from, packed  where they lie, inside of the file
  /// \param whole         how many bytes they become
  LzfBytes(MediaBytes &file, uint64_t from, uint64_t packed, uint64_t whole)
      : file(file), next(from), end(from + packed), whole(whole) {}
  LzfBytes(const LzfBytes &) = delete;
  LzfBytes &operator=(const LzfBytes &) = delete;

  uint64_t size() const override { return whole; }
  /// Bytes behind those that were read before. Corrupt where they are damaged.
  Status read(uint64_t offset, std::span<uint8_t> out) override;
  /// Unpacks what is left. Corrupt where it becomes more or fewer bytes than size().
  Status finish();

private:
  /// Unpacks a window more behind what is held; nothing at the end, or behind what is wrong.
  Status unpack();
  Status unpackWindow();
  /// Has a packed byte ready, for take(); Corrupt at their end.
  Status feed();
  uint8_t take();
  Status literals(size_t count);
  Status repeat(size_t distance, size_t count);
  Status room(size_t count) const;

  MediaBytes &file;
  uint64_t next, end; ///< of the packed bytes in the file, of which `in` has those before `next`
  const uint64_t whole;
  std::vector<uint8_t> window;
  const uint8_t *in = nullptr;
  size_t left = 0; ///< of `in`
  std::vector<uint8_t> held;
  uint64_t begin = 0; ///< of what is held
  Status found;
};

} // namespace penstock::runtime
