// SPDX-License-Identifier: Apache-2.0
#include "test/fakes/cuda/Handed.h"
#include "runtime/abi/kernel.h"

#include <algorithm>
#include <cstdlib>

namespace penstock::runtime::cuda {

namespace {

/// Returns the bytes of a kernel's record: the text's struct has a field of 8 bytes on each line.
size_t recordBytes(const std::string &text, const std::string &kernel) {
  const std::string head = "struct " + kernel + "_sample {\n";
  const size_t at = text.find(head);
  if (at == std::string::npos)
    return 0;
  const auto begin = text.begin() + ptrdiff_t(at + head.size()),
             end = text.begin() + ptrdiff_t(text.find("\n};", at) + 1);
  return size_t(std::count(begin, end, '\n')) * sizeof(int64_t);
}

/// Returns for how many steps a joined sample has room; 0 of other kernels.
size_t joinedSteps(const std::string &text, const std::string &kernel) {
  const std::string head = " " + kernel + "(pst_joined_sample<";
  const size_t at = text.find(head);
  return at == std::string::npos ? 0 : std::strtoul(text.c_str() + at + head.size(), nullptr, 10);
}

/// The records of all samples, as they lie one behind the other.
struct Records {
  uint8_t *begin, *end;
  int64_t lastEntry; ///< of the states

  Records(const FakeLaunch &launch, size_t each)
      : begin(static_cast<uint8_t *>(const_cast<void *>(launch.records))),
        end(begin + launch.count * each), lastEntry(0) {
    for (uint8_t *record = begin; record != end; record += each) // its first field, of every kind
      lastEntry = std::max(lastEntry, *reinterpret_cast<const int64_t *>(record));
  }
};

/// Returns where the first of all steps' records lies.
uint8_t *firstOfSteps(const Records &joined, size_t each) {
  uint8_t *first = joined.begin;
  for (uint8_t *record = joined.begin; record != joined.end; record += each) {
    const auto *sample = reinterpret_cast<const pst_joined_sample *>(record);
    const auto *steps = reinterpret_cast<const pst_joined_step *>(sample + 1);
    for (uint32_t i = 0; i < sample->steps; ++i)
      if (steps[i].body < PST_JOINED_LOAD) // those hand a picture over
        first = std::min(first, static_cast<uint8_t *>(const_cast<void *>(steps[i].record)));
  }
  return first;
}

} // namespace

std::vector<HandedMemory> handedBy(const std::string &text, const FakeLaunch &launch) {
  const size_t steps = joinedSteps(text, launch.kernel);
  const size_t each = steps ? sizeof(pst_joined_sample) + steps * sizeof(pst_joined_step)
                            : recordBytes(text, launch.kernel);
  if (each == 0)
    return {};
  Records records(launch, each);
  // A batch's joined samples lie behind the records of all its steps, and nothing but records lies
  // in between (DeviceStage::placeSteps()).
  if (steps)
    records.begin = firstOfSteps(records, each);
  auto *states = reinterpret_cast<uint8_t *>(launch.status);
  std::vector<HandedMemory> handed{
      {"the records", records.begin, records.end},
      {"the states", states, states + size_t(records.lastEntry + 1) * sizeof(pst_sample_status)}};
  if (states < records.begin)
    std::swap(handed[0], handed[1]);
  return handed;
}

} // namespace penstock::runtime::cuda
