// SPDX-License-Identifier: Apache-2.0
//
// A byte buffer for reuse: it grows, keeps its memory, and never clears it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::runtime {

/// Bytes at a 64-byte aligned address. `slack` bytes behind size() may be read
/// (not relied on): decoders that load whole words need no special last word.
///
/// Not thread-safe; movable, not copyable.
class Buffer {
public:
  static constexpr size_t slack = 64;

  Buffer() = default;
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  ~Buffer();

  uint8_t *data() { return bytes; }
  const uint8_t *data() const { return bytes; }
  size_t size() const { return used; }
  size_t capacity() const { return room; }
  std::span<const uint8_t> span() const { return {bytes, used}; }

  /// Makes room for `wanted` bytes and keeps the first size() of them. False,
  /// with nothing changed, when there is no memory.
  [[nodiscard]] bool reserve(size_t wanted);
  /// Sets the size; new bytes have unspecified contents. False as in reserve().
  [[nodiscard]] bool resize(size_t wanted);
  void clear() { used = 0; }
  /// Gives the memory back.
  void release();

private:
  uint8_t *bytes = nullptr;
  size_t used = 0;
  size_t room = 0;
};

} // namespace penstock::runtime
