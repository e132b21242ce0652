// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/JoinedRecords.h"

#include <algorithm>

namespace penstock::runtime {

static bool overlap(const std::vector<MemoryRange> &a, const std::vector<MemoryRange> &b) {
  return std::any_of(a.begin(), a.end(), [&](const MemoryRange &one) {
    return std::any_of(b.begin(), b.end(), [&](const MemoryRange &other) {
      return one.begin < other.end && other.begin < one.end && one.begin < one.end &&
             other.begin < other.end;
    });
  });
}

bool TouchedMemory::conflictsWith(const TouchedMemory &other) const {
  return overlap(written, other.written) || overlap(written, other.read) ||
         overlap(read, other.written);
}

void TouchedMemory::add(const TouchedMemory &other) {
  read.insert(read.end(), other.read.begin(), other.read.end());
  written.insert(written.end(), other.written.begin(), other.written.end());
}

JoinedRecords::JoinedRecords(const std::vector<int64_t> &slots, size_t steps, uint8_t *to) {
  for (int64_t slot : slots) {
    auto *record = reinterpret_cast<pst_joined_sample *>(to);
    *record = {slot + 1, 0, 0};
    samples.emplace(slot, Sample{record, {}});
    to += bytes(steps);
  }
}

void JoinedRecords::add(int64_t slot, const void *record, uint32_t body,
                        const TouchedMemory &touched) {
  Sample &sample = samples.at(slot);
  const bool barrier = touched.conflictsWith(sample.touched);
  if (barrier)
    sample.touched = {};
  sample.touched.add(touched);
  auto *steps = reinterpret_cast<pst_joined_step *>(sample.record + 1);
  steps[sample.record->steps++] = {record, body, barrier};
}

} // namespace penstock::runtime
