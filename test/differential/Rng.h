// SPDX-License-Identifier: Apache-2.0
//
// Choices that follow from a seed.
#pragma once

#include "runtime/abi/random.h"
#include <vector>

namespace penstock::differential {

class Rng {
public:
  explicit Rng(uint64_t seed) : seed(seed) {}
  uint64_t next() { return random::mix(seed, counter++); }
  /// In 0 ..< n, for n > 0.
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  /// In low ..= high.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }
  template <typename T> T pick(const std::vector<T> &from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
  }

private:
  uint64_t seed, counter = 0;
};

} // namespace penstock::differential
