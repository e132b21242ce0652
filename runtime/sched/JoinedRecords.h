// SPDX-License-Identifier: Apache-2.0
//
// Records of a joined launch, one per sample: pst_joined_sample in runtime/abi/kernel.h.
#pragma once

#include "runtime/abi/kernel.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace penstock::runtime {

/// Bytes from `begin` to before `end`; the two may be equal.
struct MemoryRange {
  const uint8_t *begin, *end;
};

/// Memory that a step reads and writes.
struct TouchedMemory {
  std::vector<MemoryRange> read, written;

  /// Returns whether the order of the two matters.
  bool conflictsWith(const TouchedMemory &other) const;
  void add(const TouchedMemory &other);
};

/// Fills the records of one launch. There is a barrier of a sample's blocks before a step that must
/// see what they have written since the last one, or that writes what they have touched since.
class JoinedRecords {
public:
  /// Returns the bytes of a sample's record, where `steps` are joined.
  static constexpr size_t bytes(size_t steps) {
    return sizeof(pst_joined_sample) + steps * sizeof(pst_joined_step);
  }

  /// `to`: memory for each of `slots`, in their order. A slot's entry of the states is one behind
  /// its number.
  JoinedRecords(const std::vector<int64_t> &slots, size_t steps, uint8_t *to);
  /// Adds a step to the sample of `slot`, whose record lies at `record` on the device.
  void add(int64_t slot, const void *record, uint32_t body, const TouchedMemory &touched);

private:
  struct Sample {
    pst_joined_sample *record;
    TouchedMemory touched; ///< since its blocks last met
  };
  std::unordered_map<int64_t, Sample> samples;
};

} // namespace penstock::runtime
