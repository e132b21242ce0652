// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a kept index: its kind, and its checksum.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace penstock::runtime {

/// The header of an index in one block of bytes; numbers of each kind follow it.
struct IndexHeader {
  std::array<char, 8> magic;
  uint64_t checksum; // of all that follows it
  uint64_t size;     // of the block

  /// Writes `header`, which is one of these or derived from it, to the start of
  /// a block that is complete but for that.
  template <class Header> static void seal(std::span<uint8_t> block, Header header) {
    header.size = block.size();
    std::memcpy(block.data(), &header, sizeof header);
    header.checksum = checksumOf(block);
    std::memcpy(block.data(), &header, sizeof header);
  }

  /// False where the block is of another kind, cut off or changed. Contents that
  /// were made on purpose pass: all numbers are still to be checked.
  template <class Header>
  static bool open(std::span<const uint8_t> block, const std::array<char, 8> &magic,
                   Header &header) {
    if (block.size() < sizeof header)
      return false;
    std::memcpy(&header, block.data(), sizeof header);
    return header.magic == magic && header.size == block.size() &&
           header.checksum == checksumOf(block);
  }

private:
  static uint64_t checksumOf(std::span<const uint8_t> block) {
    const auto covered = block.subspan(sizeof(std::array<char, 8>) + sizeof(uint64_t));
    return XXH3_64bits(covered.data(), covered.size());
  }
};

} // namespace penstock::runtime
