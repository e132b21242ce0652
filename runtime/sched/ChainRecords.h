// SPDX-License-Identifier: Apache-2.0
//
// Records of a joined launch of chains, one for each sample and chain: kernel.h.
#pragma once

#include "runtime/abi/kernel.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace penstock::runtime {

/// Collects what samples take of their chains, and fills the records. A block has room for one
/// picture, as a register: a step finds there what it reads, and leaves there what it makes. It is
/// copied there from memory where it is not there, and to memory before another one takes the
/// place, or a step reads it there, if memory does not have it yet and a later step wants it.
class ChainRecords {
public:
  /// Returns the bytes of a chain's record with room for so many steps.
  static constexpr size_t bytes(size_t room) {
    return sizeof(pst_joined_sample) + room * sizeof(pst_joined_step);
  }

  /// Buffers by number; -1: none.
  struct Step {
    const void *record = nullptr; ///< on the device
    uint32_t body = 0;
    int reads = -1, writes = -1; ///< pictures in the block's place; no result leaves the chain
    std::vector<int> inMemory;   ///< that it reads where they lie in the device's memory
  };
  using Entry = std::pair<int64_t, int>; ///< slot and chain
  struct Picture {
    const void *data = nullptr; ///< on the device
    uint32_t words = 0;         ///< of 16 bytes
  };

  void add(Entry entry, Step step) { entries[entry].push_back(std::move(step)); }
  /// Fills a record of `bytes(room)` for each entry that has steps, by their order, at `to`.
  /// Returns how many there are. No chain takes more steps than `room` has with its copies.
  size_t fill(size_t room, const std::function<Picture(int64_t slot, int buffer)> &pictureOf,
              uint8_t *to) const;

private:
  std::map<Entry, std::vector<Step>> entries;
};

} // namespace penstock::runtime
