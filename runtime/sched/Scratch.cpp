#include "runtime/sched/Scratch.h"

#include "runtime/core/Memory.h"
#include "runtime/sched/Layout.h"

#include <algorithm>

namespace penstock::runtime {

ImageLimits imageLimits(const ScratchLimits &scratch) {
  ImageLimits limits;
  limits.maxWorkBytes = std::min(limits.maxWorkBytes, uint64_t(scratch.cap));
  return limits;
}

uint8_t *Scratch::allocate(int64_t bytes) {
  if (bytes < 0 || bytes > limits.cap)
    return nullptr;
  const int64_t size = alignStorage(bytes + storageSlack);
  while (current < blocks.size() && used + size > blocks[current].size) {
    ++current;
    used = 0;
  }
  if (current == blocks.size() && !grow(size))
    return nullptr;
  uint8_t *result = blocks[current].bytes + used;
  used += size;
  taken += size;
  return result;
}

void Scratch::waitForRoom(int64_t bytes) {
  if (held + counted + bytes > limits.share && !isLarge) {
    limits.large.lock();
    isLarge = true;
  }
}

bool Scratch::count(int64_t bytes) {
  if (bytes < 0 || bytes > limits.cap || taken + counted + bytes > limits.cap)
    return false;
  waitForRoom(bytes);
  counted += bytes;
  return true;
}

bool Scratch::grow(int64_t bytes) {
  int64_t size = std::max({bytes, held ? held / 2 : initial, int64_t(1) << 16});
  if (held + counted + size > limits.share)
    size = bytes;
  size = alignStorage(size);
  waitForRoom(size);
  if (held + counted + size > limits.cap)
    return false;
  uint8_t *memory = allocateMemory(size_t(size));
  if (!memory)
    return false;
  blocks.push_back({memory, size});
  held += size;
  current = blocks.size() - 1;
  used = 0;
  return true;
}

void Scratch::reset() {
  // One block that fits the largest sample so far serves the next ones best.
  if (isLarge) {
    freeAll();
    isLarge = false;
    limits.large.unlock();
  } else if (blocks.size() > 1) {
    initial = std::min(held, limits.share);
    freeAll();
  }
  current = 0;
  used = 0;
  taken = 0;
  counted = 0;
}

void Scratch::freeAll() {
  for (Block &block : blocks)
    freeMemory(block.bytes, size_t(block.size));
  blocks.clear();
  held = 0;
}

} // namespace penstock::runtime
