// SPDX-License-Identifier: Apache-2.0
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
  notGiven = 0;
  if (bytes < 0 || bytes > limits.cap)
    return nullptr;
  const int64_t size = alignStorage(bytes + storageSlack);
  if (size > limits.cap - taken - counted)
    return nullptr;
  while (current < blocks.size() && size > blocks[current].size - blocks[current].used)
    ++current;
  if (current == blocks.size() && !grow(size))
    return nullptr;
  uint8_t *result = blocks[current].bytes + blocks[current].used;
  blocks[current].used += size;
  taken += size;
  return result;
}

Error Scratch::refusal(std::string_view what, int64_t bytes) const {
  std::string text(what);
  if (notGiven)
    return noMemory("for the " + std::to_string(notGiven) + " bytes that " + text + " needs");
  return {Code::Limit,
          text + " needs " + std::to_string(bytes) + " bytes, more than a sample may take"};
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
  if (held + counted + size > limits.share) {
    size = bytes;
    for (Block &block : blocks) // too small for this sample
      if (block.used == 0)
        free(block);
  }
  size = alignStorage(size);
  waitForRoom(size);
  uint8_t *memory = allocateMemory(size_t(size));
  if (!memory) {
    notGiven = size;
    return false;
  }
  blocks.push_back({memory, size, 0});
  held += size;
  current = blocks.size() - 1;
  return true;
}

void Scratch::rewind(Mark to) {
  for (size_t i = to.block; i < blocks.size(); ++i)
    blocks[i].used = i == to.block ? to.used : 0;
  current = to.block, taken = to.taken, counted = to.counted;
  // A block beyond the share is as long as its first piece.
  while (held > limits.share && blocks.size() > current + 1) {
    free(blocks.back());
    blocks.pop_back();
  }
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
  for (Block &block : blocks)
    block.used = 0;
  current = 0;
  taken = 0;
  counted = 0;
}

void Scratch::free(Block &block) {
  freeMemory(block.bytes, size_t(block.size));
  held -= block.size;
  block = {nullptr, 0, 0};
}

void Scratch::freeAll() {
  for (Block &block : blocks)
    free(block);
  blocks.clear();
}

} // namespace penstock::runtime
