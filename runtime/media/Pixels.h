// SPDX-License-Identifier: Apache-2.0
//
// From the pixels of a file to those that are delivered.
#pragma once

#include "runtime/media/Image.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::runtime {

template <typename Channel> struct Colour {
  Channel red, green, blue;
};
using Rgb = Colour<uint8_t>;

/// As Pillow's convert("L"). Of a gray (v, v, v) it is v.
template <typename Channel> Channel grayOf(Colour<Channel> pixel) {
  return Channel((19595u * pixel.red + 38470u * pixel.green + 7471u * pixel.blue + 32768u) >> 16);
}

/// Up to 256 colours. Indices without a colour give (i, i, i), as in Pillow.
struct Palette {
  std::array<Rgb, 256> colours{}; ///< black where a file has none

  /// Returns the palette that leaves numbers as they are.
  static Palette ofNumbers() {
    Palette palette;
    for (size_t i = 0; i < palette.colours.size(); ++i)
      palette.colours[i] = {uint8_t(i), uint8_t(i), uint8_t(i)};
    return palette;
  }
};

/// Element x of a row of `bits` (1, 2, 4 or 8) bits each, the first on top.
inline uint8_t packedAt(const uint8_t *row, size_t x, unsigned bits) {
  const size_t at = x * bits;
  return uint8_t(row[at / 8] >> (8 - bits - at % 8)) & uint8_t((1u << bits) - 1);
}

/// Writes pixels `begin` ... `begin + count - 1` of a row; `load(x)` gives the
/// colour of column x, whose channels are those of the format.
template <typename Load>
void writeRow(uint32_t begin, uint32_t count, PixelFormat format, uint8_t *bytes,
              const Load &load) {
  auto *out = reinterpret_cast<decltype(load(0).red) *>(bytes);
  if (!isColour(format)) {
    for (uint32_t x = begin; x < begin + count; ++x)
      *out++ = grayOf(load(x));
    return;
  }
  for (uint32_t x = begin; x < begin + count; ++x, out += 3) {
    const auto pixel = load(x);
    out[0] = pixel.red;
    out[1] = pixel.green;
    out[2] = pixel.blue;
  }
}

} // namespace penstock::runtime
