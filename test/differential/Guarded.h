// SPDX-License-Identifier: Apache-2.0
//
// Memory that shows who leaves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace penstock::differential {

/// Memory aligned to 64 whose last 64-byte line touches a page that cannot be
/// read or written.
class Guarded {
public:
  /// Makes a buffer of `size` bytes; `tail` more are readable.
  Guarded(size_t size, size_t tail);
  Guarded(Guarded &&other) noexcept
      : memory(std::exchange(other.memory, nullptr)), start(other.start), size(other.size),
        mapped(other.mapped) {}
  ~Guarded();

  uint8_t *data() const { return start; }
  /// Returns whether nothing was written around the buffer.
  bool intact() const;

private:
  uint8_t *memory, *start;
  size_t size, mapped;
};

} // namespace penstock::differential
