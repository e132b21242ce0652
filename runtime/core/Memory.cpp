// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Memory.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace penstock::runtime {

namespace {

// Smallest size that is mapped instead of allocated. The C library may keep what is freed: once a
// large piece was, it holds up to 64 MiB for reuse in an arena for each thread, so that the memory
// of a run would depend on which thread met which file.
constexpr size_t mapFrom = size_t(1) << 18;

constexpr size_t most = size_t(1) << 47; // more than there are addresses

#if defined(__SANITIZE_ADDRESS__)
constexpr bool mapLarge = false; // mapped memory has no guards
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool mapLarge = false;
#else
constexpr bool mapLarge = true;
#endif
#else
constexpr bool mapLarge = true;
#endif

// The C library asks for a mebibyte at least, for each of its arenas.
constexpr size_t reserveBytes = size_t(4) << 20;
std::atomic<void *> reserve = nullptr;

/// Null where there is no memory.
void *mapped(size_t size) {
  void *bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bytes == MAP_FAILED ? nullptr : bytes;
}

bool isMapped(size_t size) { return mapLarge && size >= mapFrom; }

} // namespace

uint8_t *allocateMemory(size_t size) {
  if (size > most)
    return nullptr;
  if (isMapped(size))
    return static_cast<uint8_t *>(mapped(size));
  return static_cast<uint8_t *>(std::aligned_alloc(64, (size + 63) / 64 * 64));
}

void freeMemory(uint8_t *bytes, size_t size) {
  if (bytes && isMapped(size))
    munmap(bytes, size);
  else
    std::free(bytes);
}

void keepReserve() {
  void *none = nullptr, *bytes = mapped(reserveBytes);
  if (bytes && !reserve.compare_exchange_strong(none, bytes))
    munmap(bytes, reserveBytes);
}

Error noMemory(std::string_view purpose) {
  if (void *bytes = reserve.exchange(nullptr))
    munmap(bytes, reserveBytes);
  try {
    return {Code::Exhausted, "no memory " + std::string(purpose) +
                                 ": `ulimit -v`, a cgroup or the machine gives no more"};
  } catch (const std::bad_alloc &) { // the reserve is gone; a short text needs no memory
    return {Code::Exhausted, "no memory"};
  }
}

} // namespace penstock::runtime
