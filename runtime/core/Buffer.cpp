// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Buffer.h"

#include "runtime/core/Memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock::runtime {

namespace {

size_t memorySize(size_t room) { return room + Buffer::slack; }

} // namespace

Buffer::Buffer(Buffer &&other) noexcept
    : bytes(std::exchange(other.bytes, nullptr)), used(std::exchange(other.used, 0)),
      room(std::exchange(other.room, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(used, other.used);
  std::swap(room, other.room);
  return *this;
}

Buffer::~Buffer() { release(); }

void Buffer::release() {
  freeMemory(bytes, memorySize(room));
  bytes = nullptr;
  used = room = 0;
}

bool Buffer::reserve(size_t wanted) {
  if (wanted <= room)
    return true;
  if (wanted > SIZE_MAX / 4)
    return false;
  // Half as much again, so that a run of slowly growing files settles soon.
  size_t grown = std::max(wanted, room + room / 2);
  uint8_t *fresh = allocateMemory(memorySize(grown));
  if (!fresh)
    return false;
  if (used)
    std::memcpy(fresh, bytes, used);
  std::memset(fresh + grown, 0, slack);
  freeMemory(bytes, memorySize(room));
  bytes = fresh;
  room = grown;
  return true;
}

bool Buffer::resize(size_t wanted) {
  if (!reserve(wanted))
    return false;
  used = wanted;
  return true;
}

} // namespace penstock::runtime
