// SPDX-License-Identifier: Apache-2.0
//
// What the C chains of bench/unseen have in common.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#define CHAIN(name)                                                                                \
  extern "C" void name(const void *const *__restrict in, void *const *__restrict out)
using u8 = uint8_t;

namespace {
constexpr int side = 224;
template <typename T> const T *input(const void *const *in, int number = 0) {
  return static_cast<const T *>(in[number]);
}
template <typename T> T *output(void *const *out, int number = 0) {
  return static_cast<T *>(out[number]);
}
inline int inside(int i, int n) { return std::clamp(i, 0, n - 1); }

/// A copy with `by` more elements on each side, the outermost repeated.
template <int by, typename T = u8> struct Padded {
  static constexpr int width = side + 2 * by;
  T rows[width][width];
  explicit Padded(const T *x) {
    for (int i = 0; i < width; ++i) {
      const T *from = x + inside(i - by, side) * side;
      std::fill_n(rows[i], by, from[0]);
      std::memcpy(rows[i] + by, from, side * sizeof(T));
      std::fill_n(rows[i] + by + side, by, from[side - 1]);
    }
  }
};
} // namespace
