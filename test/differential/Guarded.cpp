// SPDX-License-Identifier: Apache-2.0
//
// Memory that shows who leaves it.
#include "test/differential/Guarded.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace penstock::differential {

static constexpr uint8_t poison = 0xCD;

static size_t pageSize() {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

Guarded::Guarded(size_t size, size_t tail) : size(size) {
  const size_t used = (size + tail + 63) / 64 * 64, page = pageSize();
  mapped = (used + page - 1) / page * page + page;
  memory = static_cast<uint8_t *>(
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory + mapped - page, page, PROT_NONE);
  start = memory + mapped - page - used;
  std::memset(memory, poison, mapped - page);
}

Guarded::~Guarded() {
  if (memory)
    munmap(memory, mapped);
}

bool Guarded::intact() const {
  for (const uint8_t *at = memory; at != start; ++at)
    if (*at != poison)
      return false;
  for (const uint8_t *at = start + size; at != memory + mapped - pageSize(); ++at)
    if (*at != poison)
      return false;
  return true;
}

} // namespace penstock::differential
