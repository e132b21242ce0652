// SPDX-License-Identifier: Apache-2.0
//
// Bits of a header, most significant first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::video {

/// Behind the end all bits are 0, and failed() says so.
class Bits {
public:
  explicit Bits(std::span<const uint8_t> bytes) : bytes(bytes) {}
  uint32_t take(int count) {
    uint32_t value = 0;
    for (; count > 0; --count, ++at) {
      const size_t byte = at / 8;
      isShort |= byte >= bytes.size();
      value = value << 1 | (byte < bytes.size() ? bytes[byte] >> (7 - at % 8) & 1u : 0u);
    }
    return value;
  }
  bool flag() { return take(1) != 0; }
  void skip(size_t count) { at += count; }
  /// Reads an Exp-Golomb code ue(v) of H.264 and H.265; se(v) takes as many bits.
  uint32_t golomb() {
    int zeros = 0;
    while (!flag())
      if (++zeros == 32 || isShort) {
        isShort = true;
        return 0;
      }
    return (uint32_t(1) << zeros) - 1 + take(zeros);
  }
  bool failed() const { return isShort; }

private:
  std::span<const uint8_t> bytes;
  size_t at = 0;
  bool isShort = false;
};

} // namespace penstock::video
